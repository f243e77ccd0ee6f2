"""Find keywords in a text: every occurrence, whole words for Latin script, false friends left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any, Literal, NamedTuple

import yaml

from theworld.state import ReferenceScope, ReferenceType
from theworld.text.calendar_units import Interval
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES

LanguageCode = Literal["cn", "en"]
"""The specification's names of the two languages; `zh` is an alias of `cn`."""

LANGUAGES: tuple[LanguageCode, LanguageCode] = ("cn", "en")


@cache
def load_table(name: str) -> dict[str, Any]:
    """Return the parsed content of `data/NAME.yaml`; every scalar is text, so that `yes` and `on` are words."""
    text = files(__package__).joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but text
    return table


def default_mappings(language: LanguageCode) -> dict[str, dict[str, str]]:
    """Return a fresh copy of the keyword table of a language: keyword -> {scope, type}."""
    stated = {keyword: dict(mapping) for keyword, mapping in load_table("keywords")[language].items()}
    return stated | added_mappings(language)


def added_mappings(language: LanguageCode) -> dict[str, dict[str, str]]:
    """Return a fresh copy of the keywords of a language that the specification does not have."""
    groups = load_table("keywords")["more"]
    return {word: {"scope": group["scope"], "type": group["type"]} for group in groups for word in group[language]}


@cache
def false_friends() -> tuple[str, ...]:
    """Return all phrases in which a keyword does not refer, placeholders filled in."""
    table, found = load_table("false_friends"), []
    for line in (line for code in LANGUAGES for line in table[code]):
        name = line.partition("{")[2].partition("}")[0]
        found += [line.replace(f"{{{name}}}", word) for word in table[name]] if name else [line]
    return tuple(found)


_HAS_CJK = re.compile(f"[{CJK_RANGES}]")
_LETTER = rf"[^\W{CJK_RANGES}]"
MOST_OCCURRENCES = 32
"""Occurrences of one phrase that are looked at: what repeats it more often is no question."""


def has_ideographs(text: str) -> bool:
    """Return whether a text holds any Chinese character."""
    return _HAS_CJK.search(text) is not None


class Span(NamedTuple):
    """An occurrence of a phrase: text[start:end]."""

    start: int
    end: int
    phrase: str

    @property
    def length(self) -> int:
        """Number of characters."""
        return self.end - self.start


Kind = Literal["correction", "keyword", "time", "history", "continuation", "pronoun"]
"""What was recognised; earlier ones are preferred as the primary reference."""


class Detected(NamedTuple):
    """A referring expression."""

    span: Span
    kind: Kind
    reference_type: ReferenceType
    scope: ReferenceScope
    interval: Interval | None = None
    added: bool = False
    """True for a default keyword that the specification does not have."""


@lru_cache(maxsize=4096)
def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a folded phrase: any white space between words, no letter beside a Latin edge."""
    folded = fold_in_place(phrase).strip()
    body = r"\s+".join(re.escape(part) for part in folded.split())
    before, after = (edge.isalnum() and not has_ideographs(edge) for edge in (folded[0], folded[-1]))
    return re.compile(f"(?<!{_LETTER})" * before + body + f"(?!{_LETTER})" * after)


class PhraseTable:
    """Phrases to look for. Matching never raises and treats every character literally."""

    def __init__(self, phrases: Iterable[str]) -> None:
        kept = [phrase for phrase in dict.fromkeys(phrases) if phrase.strip()]
        self._entries = [(phrase, fold_in_place(phrase).split()[0], phrase_pattern(phrase)) for phrase in kept]

    def find(self, folded: str) -> list[Span]:
        """Return the first MOST_OCCURRENCES of every phrase in a folded text, in no particular order."""
        found: list[Span] = []
        for phrase, head, pattern in self._entries:
            if head in folded:
                matches = islice(pattern.finditer(folded), MOST_OCCURRENCES)
                found.extend(Span(*match.span(), phrase) for match in matches)
        return found


@cache
def _false_friends() -> PhraseTable:
    return PhraseTable(false_friends())


def keep_genuine(spans: Sequence[Span], folded: str) -> list[Span]:
    """Drop the spans that lie within a false friend."""
    friends = _false_friends().find(folded) if spans else []
    return [s for s in spans if not any(f.start <= s.start and s.end <= f.end and f.length > s.length for f in friends)]


def longest_apart(spans: Iterable[Span], beside: Sequence[Span] = ()) -> list[Span]:
    """Return spans that overlap neither each other nor those of `beside`, the longest first, then the leftmost."""
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda s: (-s.length, s.start, s.phrase)):
        if all(span.end <= other.start or other.end <= span.start for other in (*beside, *chosen)):
            chosen.append(span)
    return chosen
