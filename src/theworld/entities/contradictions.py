"""What in the text speaks against a candidate: a place is meant and it is none, its years are not the text's, or what
it has beyond its namesakes the text says without naming it in full."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from theworld.entities.mention import MentionInText
from theworld.entities.names import FUNCTION_WORDS, name_words
from theworld.entities.words import type_said
from theworld.text import tokens
from theworld.text.folding import simplified

_WITHIN = re.compile(
    r"\b(?:in|near|across|throughout|into|outside|within|downtown|(?:north|south)?(?:east|west)ern|northern|southern|"
    r"central|(?:north|south)[ -]?(?:east|west))(?: the)? $|(?:位于|坐落于|出生于|抵达|前往)$",
    re.IGNORECASE,
)
_AT = re.compile(r"\b(?:at|to|from|around|towards?)(?: the)? $|[在到去]$|来自$", re.IGNORECASE)
_NEVER_AT = frozenset({"work", "event"})
_YEAR = re.compile(r"(?<![\d,.])(1\d{3}|20\d{2})(?![\d,]|\.\d)")
_YEARS = re.compile(r"(?<!\d)(\d{3,4})年?(?:/\d+)?\s*(?:[-–—−至到]|to|until)\s*(\d{2,4})(?!\d)")
_NO_YEARS = 0.5


def located(mention: MentionInText, description: str) -> float:
    """Return 1 when the mention is a place by the words before it, and the description says something else: a band or a
    person for Europe in "all across Europe". One may be at or come from an organisation or a person too."""
    before = simplified(mention.context[: max(mention.start, 0)])
    said = type_said(description)
    if said is None or said == "place":
        return 0.0
    return float(bool(_WITHIN.search(before) or (said in _NEVER_AT and _AT.search(before))))


def dated(mention: MentionInText, description: str) -> float:
    """Return 1 when the description has a span of years and the text years outside of it only, and 0.5 when the text
    has none: the state of 1801-1927 for a mention in a text about 2004."""
    spans = [_span(match.group(1), match.group(2)) for match in _YEARS.finditer(description)]
    if not spans:
        return 0.0
    years = [int(year) for year in _YEAR.findall(mention.context)]
    if not years:
        return _NO_YEARS
    return float(not any(first - 1 <= year <= last + 1 for year in years for first, last in spans))


def _span(first: str, last: str) -> tuple[int, int]:
    """Return the years of "1912-77" or "1801-1927"."""
    return int(first), int(first[: max(0, len(first) - len(last))] + last)


def own_words_said(mention: MentionInText, descriptions: Sequence[str]) -> list[float]:
    """Return per description the words that it has and the text near the mention too, rarer among the descriptions
    counting more, over the root of their number."""
    left_out = set(tokens(mention.label)) | mention.own_words | FUNCTION_WORDS
    described = [_description_words(text) - left_out for text in descriptions]
    having = Counter(word for words in described for word in words)
    near = mention.near_words | name_words(mention.near)
    return [
        math.fsum(math.log((len(described) + 1) / having[word]) for word in sorted(words & near))
        / math.sqrt(max(1, len(words)))
        for words in described
    ]


@lru_cache(maxsize=20_000)
def _description_words(text: str) -> frozenset[str]:
    return frozenset(tokens(text)) | name_words(text)
