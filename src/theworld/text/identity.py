"""The one identity of an entity: every sum, exclusion, seed and link uses this key, never the raw string; where a text
names it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from theworld.text.numerals import CHINESE_NUMERAL
from theworld.text.tokens import CJK_RANGES, fold

_BETWEEN_CJK = re.compile(rf"(?<=[{CJK_RANGES}])\s+|(?<!\s)\s+(?=[{CJK_RANGES}])")
_DOTS = re.compile(r"[·•‧・]")
_POSSESSIVE = re.compile(r"['’]s$")
_SPACE = re.compile(r"[\s_]+")
_CJK = 0x2E80
_SPACES_AND_DOTS = re.compile(r"[\s_·•‧・]+")
_NUMERALS = frozenset(CHINESE_NUMERAL)
_NUMERAL = f"[{CHINESE_NUMERAL}]"
_EDGE = "\"'“”‘’《》〈〉「」『』()（）[]【】,，.。;；:：!！?？、-–—"
_QUALIFIER = re.compile(r"[（(][^()（）]*[)）]$")
_REMEMBERED_CHARACTERS = 200
"""Longer names are keyed anew each time: they hardly recur, and would fill the memory."""


def entity_key(name: str) -> str:
    """Return the identity key of a name: NFKC, case, width, accents, spacing, edge punctuation and articles folded.

    Two names with the same key are the same entity. The empty string means that nothing identifying is left.
    """
    return _remembered_key(name) if len(name) <= _REMEMBERED_CHARACTERS else key_of(name)


def key_of(name: str) -> str:
    """Return the identity key of a name that will hardly be asked again, remembering nothing."""
    text = _DOTS.sub(" ", unicodedata.normalize("NFKC", name))
    text = "".join(" " if unicodedata.category(c) in {"Cc", "Cf"} else c for c in text)
    text = fold(text).strip().strip(_EDGE).strip()
    text = _POSSESSIVE.sub("", text)
    text = _SPACE.sub(" ", _BETWEEN_CJK.sub("", text)).strip()
    return text.removeprefix("the ") if len(text) > len("the ") else text


_remembered_key = lru_cache(maxsize=20_000)(key_of)  # what some batches name: more would only fill a service's memory


def without_qualifier(title: str) -> str:
    """Return a title without its trailing bracketed qualifier: `Up (film)` -> `Up`."""
    return _QUALIFIER.sub("", title.rstrip()).strip() or title


def place_of(key: str, folded: str, start: int = 0) -> int:
    """Return where a folded text first names an identity key from `start` on, -1 when nowhere.

    Latin names count as whole words only ("Art" is not named in "party"), Chinese ones anywhere.
    """
    at = folded.find(key, start) if key else -1
    while at >= 0:
        before, after = folded[at - 1 : at] if at else "", folded[at + len(key) : at + len(key) + 1]
        if not (_joins(before, key[0]) or _joins(key[-1], after)):
            return at
        at = folded.find(key, at + 1)
    return -1


def _joins(left: str, right: str) -> bool:
    """Return whether two neighbouring characters belong to one Latin word or number."""
    return bool(left) and bool(right) and left.isalnum() and right.isalnum() and ord(left) < _CJK and ord(right) < _CJK


def names_in(text: str) -> Callable[[str], bool]:
    """Return a test whether a text names an entity key: whole words and numbers, anywhere in Chinese.

    A key that begins or ends with a Chinese numeral is not inside a longer one: 三 is not in 二十三.
    """
    folded = _SPACES_AND_DOTS.sub(" ", fold(text))

    def named(key: str) -> bool:
        first, last = key[:1] in _NUMERALS, key[-1:] in _NUMERALS
        if not (first or last):
            return place_of(key, folded) >= 0
        apart = f"{f'(?<!{_NUMERAL})' * first}{re.escape(key)}{f'(?!{_NUMERAL})' * last}"
        return re.search(apart, folded) is not None

    return named
