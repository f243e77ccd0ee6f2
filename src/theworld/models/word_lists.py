"""The word lists of `data/mentions.yaml`, and the approximations before a number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml


@lru_cache(maxsize=1)
def word_lists() -> dict[str, Any]:
    """Return the lists by name."""
    text = files("theworld.models").joinpath("data/mentions.yaml").read_text(encoding="utf-8")
    lists: dict[str, Any] = yaml.safe_load(text)
    return lists


def either(words: Iterable[str]) -> str:
    """Return a pattern that matches any of the words, longer ones first."""
    return "|".join(re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))


def number_start(text: str, start: int, end: int) -> int:
    """Return where the number begins in an expression such as `about 12 km` or `超過4年`."""
    match = _approximations().match(text, start, end)
    return match.end() if match and match.end() < end else start


@lru_cache(maxsize=1)
def _approximations() -> re.Pattern[str]:
    words = word_lists()["approximations"]
    return re.compile(rf"(?:(?:{either(words['en'])})\s+|(?:{either(words['zh'])})\s*)+", re.IGNORECASE)
