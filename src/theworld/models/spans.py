"""From spans found by a model or a rule to clean mentions that do not overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from theworld.models.word_lists import number_start
from theworld.state import Mention, MentionType
from theworld.text import entity_key

TITLE, NAME, FACT, GUESS = range(4)
"""Who wins where spans overlap: marked titles, names found by a model, dates and numbers, guesses by shape."""

_EDGE = " \t\r\n\u3000\"'“”‘’«»《》〈〉「」『』,，.。;；:：!！?？、-–—·*_/\\|~…"
_PAIRS = {")": "(", "]": "[", "）": "（", "】": "【", "}": "{"}
_OPENING = {opening: closing for closing, opening in _PAIRS.items()}
_ARTICLE = re.compile(r"(?:the|an?)\s+")
_ANY_ARTICLE = re.compile(r"(?:[Tt]he|THE|[Aa]n?)\s+")
_POSSESSIVE = re.compile(r"['’][sS]?\Z")
_DOTTED = re.compile(r"(?:\b\w\.)+$|\b(?:Inc|Ltd|Jr|Sr|Co|Corp|Bros|St)\.$")


class Span(NamedTuple):
    """A stretch of text with a type, before cleaning."""

    start: int
    end: int
    type: MentionType
    rank: int = NAME


def mentions_of(text: str, spans: Iterable[Span]) -> list[Mention]:
    """Return the mentions in order, cleaned; of overlapping ones the better rank stays, then the longer."""
    cleaned = [span for span in (clean(text, span) for span in spans) if span is not None]
    chosen: list[Span] = []
    taken = bytearray(len(text))
    for span in sorted(cleaned, key=lambda s: (s.rank, s.start - s.end, s.start)):
        if not any(taken[span.start : span.end]):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
            chosen.append(span)
    found = (_mention(text, span) for span in sorted(chosen))
    return [mention for mention in found if mention.key]


def clean(text: str, span: Span) -> Span | None:
    """Shrink a span: edge punctuation, articles, possessives and unpaired brackets go, and `about` before a number.

    None when nothing is left.
    A capitalised article stays in a title (`The Godfather`), where it may be part of the name.
    """
    start, end = span.start, span.end
    while True:
        before = (start, end)
        start, end = _trim_edges(text, start, end)
        start = _bare_start(text, start, end, span.type)
        possessive = _POSSESSIVE.search(text, start, end)
        end = possessive.start() if possessive else end
        if (start, end) == before:
            return span._replace(start=start, end=end) if start < end else None


def _bare_start(text: str, start: int, end: int, kind: MentionType) -> int:
    if kind in {"quantity", "number"}:
        start = number_start(text, start, end)
    article = (_ARTICLE if kind == "work" else _ANY_ARTICLE).match(text, start, end)
    return article.end() if article else start


def _trim_edges(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start] in _EDGE or text[start] in _PAIRS or _unpaired(text, start, end, start)):
        start += 1
    while start < end and _loose_end(text, start, end):
        end -= 1
    if start < end and text.find(_OPENING.get(text[start], "\0"), start, end) == end - 1:
        return start + 1, end - 1
    return start, end


def _loose_end(text: str, start: int, end: int) -> bool:
    last = text[end - 1]
    if last == "." and _DOTTED.search(text, start, end):
        return False
    return last in _EDGE or last in _OPENING or _unpaired(text, start, end, end - 1)


def _unpaired(text: str, start: int, end: int, at: int) -> bool:
    bracket = text[at]
    partner = _OPENING.get(bracket) or _PAIRS.get(bracket)
    return partner is not None and partner not in text[start:end]


def _mention(text: str, span: Span) -> Mention:
    surface = text[span.start : span.end]
    return Mention(surface=surface, type=span.type, start=span.start, end=span.end, key=entity_key(surface))
