"""The word lists of `data/`, and what both languages need to read with them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml

LanguageCode = Literal["cn", "en"]
"""The specification's names of the two languages; `zh` is an alias of `cn`."""
LANGUAGES: tuple[LanguageCode, LanguageCode] = ("cn", "en")
Mappings = dict[str, dict[str, str]]
"""keyword -> {"scope": ReferenceScope value, "type": ReferenceType value}."""


@cache
def load_table(name: str) -> dict[str, Any]:
    """Return the parsed content of `data/NAME.yaml`; every scalar is text, so that `yes` and `on` are words."""
    text = files(__package__).joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but text
    return table


@cache
def added_mappings(language: LanguageCode) -> Mappings:
    """Return the keywords of a language that the specification does not have."""
    groups = load_table("keywords")["more"]
    return {word: {"scope": group["scope"], "type": group["type"]} for group in groups for word in group[language]}


def default_mappings(language: LanguageCode) -> Mappings:
    """Return a fresh copy of the keyword table of a language."""
    table = load_table("keywords")[language] | added_mappings(language)
    return {keyword: dict(mapping) for keyword, mapping in table.items()}
