"""What the ending of a Chinese name says it names: a temple, a bridge, a university; `data/name_endings.yaml`."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from theworld.state import MentionType

_SHORTEST = 3
"""Characters of a name whose last one says its type; of two, 金山 and 小楼, it may be anything."""
_LONGEST_PERSON = 3
"""Characters of a Chinese person's name with a surname of one character."""


def type_by_ending(name: str, said: MentionType) -> MentionType:
    """Return the type that a name's ending states, else the one it was `said` to have.

    An ending that people's names have as well says nothing of a name that may be one: 谢铁桥 stays a person.
    """
    if len(name) < _SHORTEST:
        return said
    endings = _endings()
    if name.endswith(endings["organization"]):
        return "organization"
    if said not in {"person", "work", "other"}:
        return said
    if name.endswith(endings["place"]):
        return "place"
    may_be_person = said == "person" and len(name) <= _LONGEST_PERSON and name[0] in endings["surnames"]
    return "place" if name.endswith(endings["place_or_given_name"]) and not may_be_person else said


def joins(word: str) -> bool:
    """Tell whether a word behind a name belongs to it: 局 of 建设局."""
    return word in _endings()["joined"]


@lru_cache(maxsize=1)
def _endings() -> dict[str, Any]:
    text = files("theworld.models").joinpath("data/name_endings.yaml").read_text(encoding="utf-8")
    return {name: tuple(words.split()) for name, words in yaml.safe_load(text).items()}
