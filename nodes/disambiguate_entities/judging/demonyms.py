"""Words for a country's people and for what belongs to it: German, Germans, Scots."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import yaml

from theworld.text import entity_key


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    file = resources.files("theworld.nodes.disambiguate_entities").joinpath("data/demonyms.yaml")
    loaded: dict[str, dict[str, str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    plurals = {f"{word}s": country for word, country in loaded["adjectives"].items() if word.endswith("an")}
    return {**loaded, "peoples": {**plurals, **loaded["peoples"]}}


@cache
def demonyms() -> Mapping[str, str]:
    """Return adjective, people or other name -> key of the country."""
    return {word: country for words in _table().values() for word, country in words.items()}


def is_adjective(name: str) -> bool:
    """Tell whether a name is the adjective of a country, as German is."""
    return entity_key(name) in _table()["adjectives"]


def is_people(name: str) -> bool:
    """Tell whether a name is the plural that means a country's people, as Germans is."""
    return entity_key(name) in _table()["peoples"]
