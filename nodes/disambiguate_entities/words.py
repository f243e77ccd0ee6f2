"""The word tables of this folder: topics, types of entries, pages that are no entity."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

import yaml

from theworld.text import tokens

LONGEST_TOPIC_WORD = 2
"""Tokens of the longest word of a topic that is found."""


def _load(name: str) -> dict[str, list[str]]:
    file = resources.files("theworld.nodes.disambiguate_entities").joinpath(f"data/{name}.yaml")
    loaded: dict[str, list[str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return loaded


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
            found.update(table.get(tuple(words[start : start + length]), ()))
    return found


@cache
def _types() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, _any_word(words)) for name, words in _load("types").items())


@cache
def _pages() -> re.Pattern[str]:
    return _any_word([word for words in _load("pages").values() for word in words])


def _any_word(words: Sequence[str]) -> re.Pattern[str]:
    latin = "|".join(re.escape(word) for word in words if word.isascii())
    chinese = "|".join(re.escape(word) for word in words if not word.isascii())
    return re.compile(rf"\b(?:{latin})s?\b|{chinese}", re.IGNORECASE)


def type_said(text: str) -> str | None:
    """Return the type whose word stands first in a description, None when no type's does."""
    said = [(match.start(), name) for name, words in _types() if (match := words.search(text))]
    return min(said)[1] if said else None


def known_types() -> frozenset[str]:
    """Return the types of mentions that descriptions can say."""
    return frozenset(name for name, _ in _types())


def says_person(text: str) -> bool:
    """Tell whether a text has a word for a person: an occupation or an office."""
    return any(name == "person" and words.search(text) for name, words in _types())


def is_page(description: str) -> bool:
    """Tell whether a description is of a disambiguation page, a name or a list: nothing a text is about."""
    return bool(_pages().search(description))
