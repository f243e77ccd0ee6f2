"""What of a question its answer's sentences should say: its content tokens, weighed by how rare they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from theworld.nodes.answer_with_entity.clauses.verbs import past_bases
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import entity_key, fold, tokens
from theworld.text.language import CJK_RANGES

_CJK_RUN = re.compile(f"[{CJK_RANGES}]+")
_ASKS_ZH = re.compile("什么|怎么|怎样|如何|为何|为什么|多少|哪[里些个儿]?|谁|几个?")
_FUNCTION_ZH = re.compile("[的了着过在是有个些和与及或把被对从由为这那其之吗呢吧最都也里]")
SHORTEST_NAME = 2
"""Characters of a name at whose ends a Chinese question is cut."""


def spoken_tokens(text: str) -> list[str]:
    """Return the index tokens of a text, irregular past forms of English verbs as their base forms: "left", "leave"."""
    return [past_bases().get(token, token) for token in tokens(text)]


def said_tokens(text: str) -> list[str]:
    """Return the index tokens of a text in order, in Chinese its single characters too."""
    found = []
    for token in spoken_tokens(text):
        found.append(token)
        if _CJK_RUN.match(token) and len(token) > 1:
            found.extend(token)
    return found


def question_weights(question: str, notes: Sequence[Candidate]) -> dict[str, float]:
    """Return idf weights of the question's content tokens over the notes; they sum to 1."""
    texts = [fold(f"{note.title} {note.text}") for note in notes]
    names = {entity_key(name) for note in notes for name in (note.title, *(m.surface for m in note.mentions))}
    wanted = content_tokens(question, texts, names)
    count = len(texts)
    # A Chinese token stands where its characters do; others are stems, for which the notes' tokens are needed.
    stems = [] if all(map(_CJK_RUN.match, wanted)) else [set(spoken_tokens(text)) for text in texts]
    weights = {}
    for token in wanted:
        found = sum(token in text for text in (texts if _CJK_RUN.match(token) else stems))
        weights[token] = math.log(1 + (count - found + 0.5) / (found + 0.5)) + 0.1
    total = math.fsum(weights.values())
    return {token: weight / total for token, weight in weights.items()} if total else {}


def content_tokens(question: str, texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the distinct tokens of a question that are no function words.

    Chinese has no spaces, so that most pairs of characters in a question lie across two words: 了什 and 么书 of
    "写了什么书". A pair that no note knows counts only within a word, as far as names and function words tell where one
    ends; characters that are then in no pair count by themselves: 写 and 书. `texts` are those of the notes, `names`
    those of the notes and of what they mention, all folded.
    """
    folded = fold(question)
    ends = {place for name in names for place in _ends(name, folded)}
    asks = {place for match in _ASKS_ZH.finditer(folded) for place in range(*match.span())}
    function = {match.start() for match in _FUNCTION_ZH.finditer(folded)}
    left_out = word_set("function")
    chinese: list[str] = []
    for run in _CJK_RUN.finditer(folded):
        pairs = {place: folded[place : place + 2] for place in range(run.start(), run.end() - 1)}
        kept = {
            place: pair
            for place, pair in pairs.items()
            if pair not in left_out
            and not {place, place + 1} & asks
            and (any(pair in text for text in texts) or not (place + 1 in ends or {place, place + 1} & function))
        }
        alone = set(range(*run.span())) - {each for place in kept for each in (place, place + 1)} - asks - function
        kept |= {place: folded[place] for place in alone if folded[place] not in left_out}
        chinese += [kept[place] for place in sorted(kept)]
    others = [token for token in spoken_tokens(question) if not _CJK_RUN.match(token) and token not in left_out]
    return list(dict.fromkeys([*others, *chinese]))


def _ends(name: str, text: str) -> set[int]:
    """Return where a name begins or ends in a text."""
    ends: set[int] = set()
    at = text.find(name) if len(name) >= SHORTEST_NAME and _CJK_RUN.search(name) else -1
    while at >= 0:
        ends |= {at, at + len(name)}
        at = text.find(name, at + 1)
    return ends
