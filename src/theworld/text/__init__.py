"""Text as both languages need it: language, tokens, sentences, and the identity of entities."""

from theworld.text.identity import entity_key, place_of, without_qualifier
from theworld.text.phrases import last_break
from theworld.text.sentences import Sentence, split_sentences
from theworld.text.tokens import Language, begun_pair, cjk_share, detect_language, fold, stem, tokens, well_formed

__all__ = [
    "Language",
    "Sentence",
    "begun_pair",
    "cjk_share",
    "detect_language",
    "entity_key",
    "fold",
    "place_of",
    "last_break",
    "split_sentences",
    "stem",
    "tokens",
    "well_formed",
    "without_qualifier",
]
