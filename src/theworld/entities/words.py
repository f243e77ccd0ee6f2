"""The word tables of this folder: topics, types of entries, pages that are no entity."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from theworld.packages import load_table
from theworld.text import tokens
from theworld.text.tokens import simplified

LONGEST_TOPIC_WORD = 2
"""Tokens of the longest word of a topic that is found."""

_PHRASE_ENDS = re.compile(
    r"\b(?:of|in|for|from|that|which|who|between|by|on|at|to|with|within|into|over|about|as|during|until|under|located|based|"
    r"held|used|serving|representing|established|directed|published|spoken|native)\b|[,;:(–—，；：。（]",
    re.IGNORECASE,
)


def _load(name: str) -> dict[str, list[str]]:
    return load_table("theworld.entities", f"data/{name}.yaml")


@lru_cache(maxsize=20_000)
def entry_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of an entry's text; they are remembered, as entries come back with other texts."""
    return tuple(tokens(text))


@cache
def _topics() -> Mapping[tuple[str, ...], tuple[str, ...]]:
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for topic, words in _load("topics").items():
        for word in words:
            key = tuple(tokens(word))
            found[key] = (*found.get(key, ()), topic)
    return found


def topics_of(words: Sequence[str]) -> Counter[str]:
    """Return topic -> how many of its words stand in a text, given as tokens."""
    table, found = _topics(), Counter[str]()
    for length in range(1, LONGEST_TOPIC_WORD + 1):
        for start in range(len(words) - length + 1):
            for topic in table.get(tuple(words[start : start + length]), ()):
                found[topic] += 1
    return found


@cache
def _contests() -> frozenset[str]:
    return frozenset(token for word in _load("contests")["words"] for token in tokens(word))


def sport_words(text: str) -> int:
    """Return how many words of a text speak of sport or of who won."""
    words = tokens(text)
    return topics_of(words)["sport"] + sum(word in _contests() for word in words)


@cache
def _patterns(table: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the names of a table and what finds their words; heads of a type are the type's own words too."""
    found, types = [], _load("types") if table == "heads" else {}
    for name, own in _load(table).items():
        words = [*types.get(name, ()), *own]
        latin = "|".join(re.escape(word) for word in words if word.isascii())
        chinese = "|".join(re.escape(word) for word in words if not word.isascii())
        kinds = [rf"\b(?:{latin})s?\b" if latin else "", chinese]
        found.append((name, re.compile("|".join(filter(None, kinds)), re.IGNORECASE)))
    return tuple(found)


def type_said(text: str) -> str | None:
    """Return the type whose word stands first in a description, None when no type's does."""
    folded = simplified(text)
    said = [(match.start(), name) for name, words in _patterns("types") if (match := words.search(folded))]
    return min(said)[1] if said else None


@lru_cache(maxsize=20_000)
def type_of_head(description: str) -> str | None:
    """Return the type of what a description begins with, by its head noun: organization for "football club in Madrid",
    person for "British Army general" and 美国电影演员. Where nothing begins it, the type whose word stands first."""
    phrase = _PHRASE_ENDS.split(simplified(description), maxsplit=1)[0]
    if not phrase.strip():
        return type_said(description)
    said = [(match.end(), name) for name, words in _patterns("heads") for match in words.finditer(phrase)]
    return max(said)[1] if said else None


def fits_type(hint: str, said: str) -> bool:
    """Return whether a mention tagged `hint` may be what is said to be `said`: American names a country, its people and
    a language."""
    return said == hint or (hint == "group" and said in {"place", "language"})


@lru_cache(maxsize=1_000)
def type_named(hint: str) -> str | None:
    """Return the type of mentions that a hint names: by its name, by what taggers call it, or by its head noun
    ("football club"); None when no type is told."""
    folded = simplified(hint).casefold().strip()
    named = (name for name, labels in _load("labels").items() if folded in (name, *labels))
    return next(named, None) or type_of_head(folded)


def is_page(description: str) -> bool:
    """Return whether a description is of a disambiguation page, a name or a list: nothing a text is about."""
    return any(words.search(simplified(description)) for _, words in _patterns("pages"))
