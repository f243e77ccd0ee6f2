"""Where a text names an entity."""

from __future__ import annotations

_CJK = 0x2E80


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
    """Tell whether two neighbouring characters belong to one Latin word or number."""
    return bool(left) and bool(right) and left.isalnum() and right.isalnum() and ord(left) < _CJK and ord(right) < _CJK
