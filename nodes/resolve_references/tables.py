"""The data files: keywords, false friends, labels, markers. Each is read once per process."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal

import yaml

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
    return {**_mappings(load_table("keywords")[language]), **added_mappings(language)}


def added_mappings(language: LanguageCode) -> dict[str, dict[str, str]]:
    """Return a fresh copy of the keywords of a language that the specification does not have."""
    return _mappings(load_table("keywords")["more"][language])


def _mappings(table: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {str(keyword): dict(mapping) for keyword, mapping in table.items()}


@cache
def false_friends() -> tuple[str, ...]:
    """Return all phrases in which a keyword does not refer, placeholders filled in."""
    table = load_table("false_friends")
    return tuple(phrase for code in LANGUAGES for line in table[code] for phrase in _expand(line, table))


def _expand(line: str, table: dict[str, Any]) -> list[str]:
    names = [name for name in table if f"{{{name}}}" in line]
    filled = product(*(table[name] for name in names))
    return [line.format(**dict(zip(names, words, strict=True))) if names else line for words in filled]
