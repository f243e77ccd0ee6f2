"""Where a text names an entity."""

from __future__ import annotations

import re
from collections.abc import Callable

from theworld.text.quantities import CHINESE_NUMERAL
from theworld.text.tokens import fold

_CJK = 0x2E80
_SPACES = re.compile(r"[\s_·•‧・]+")
_NUMERALS = frozenset(CHINESE_NUMERAL)


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
    """Return a test whether a text names an entity key: whole words and numbers, anywhere in Chinese."""
    folded = _SPACES.sub(" ", fold(text))

    def named(key: str) -> bool:
        numeral = _numeral(key)
        return bool(numeral.search(folded)) if numeral else place_of(key, folded) >= 0

    return named


def _numeral(key: str) -> re.Pattern[str] | None:
    """Return what finds a key that begins or ends with a Chinese numeral, not inside a longer one: 三 in 二十三."""
    first, last = key[:1] in _NUMERALS, key[-1:] in _NUMERALS
    if not key or not (first or last):
        return None
    apart = f"[{''.join(sorted(_NUMERALS))}]"
    return re.compile(f"{f'(?<!{apart})' * first}{re.escape(key)}{f'(?!{apart})' * last}")
