"""Text as both languages need it: language, tokens, sentences, and the identity of entities."""

from theworld.text.folding import begun_pair, well_formed
from theworld.text.identity import entity_key, place_of, without_qualifier
from theworld.text.language import Language, cjk_share, detect_language
from theworld.text.sentences import Sentence, last_break, split_sentences
from theworld.text.tokens import fold, stem, tokens

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
