"""Does a value come from a text, and is all of the text in the value? Compared word by word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

WORD = re.compile(r"[^\W_]+", re.UNICODE)
NUMBER = re.compile(r"\d[\d,_ ]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+")
CJK = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
ESCAPES = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
SYNTAX = frozenset({"null", "none", "true", "false", "undefined", "json"})


def words_of(text: str) -> Counter[str]:
    """Count the words of a text, case-folded; each CJK character counts as a word."""
    spaced = CJK.sub(lambda match: f" {match[0]} ", text)
    return Counter(word.casefold() for word in WORD.findall(spaced))


def _plain(text: str) -> str:
    """Resolve JSON escapes, so that `\\n` is not read as the letter n."""
    text = INVISIBLE.sub("", text)
    return ESCAPES.sub(lambda m: chr(int(m[1], 16)) if m[1] else (" " if m[2] in "ntrbf" else m[2]), text)


def leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every scalar of plain data with its path."""
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict):
            pending.extend(((*path, key), member) for key, member in item.items())
        elif isinstance(item, (list, tuple)):
            pending.extend(((*path, index), member) for index, member in enumerate(item))
        else:
            yield path, item


def texts_of(value: Any) -> str:
    """Return all keys and scalars of plain data as one text."""
    parts: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            parts.extend(map(str, item))
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
        else:
            parts.append(str(item))
    return " ".join(parts)


def lost_words(text: str, value: Any) -> list[str]:
    """Return the words of a text that are not in the value, JSON's own words aside."""
    missing = words_of(_plain(text)) - words_of(texts_of(value))
    return sorted(word for word in missing if word not in SYNTAX)


def invented(value: Any, text: str) -> list[tuple[tuple[str | int, ...], Any]]:
    """Return the scalars of plain data that the text does not contain, with their paths.

    A text is contained when all its words are; a number when the text has that number; true, false and null always.
    """
    known = {_unpadded(word) for word in words_of(_plain(text)) | words_of(text)}
    numbers = set(map(_number, NUMBER.findall(INVISIBLE.sub("", text))))
    found = []
    for path, item in leaves(value):
        if isinstance(item, bool) or item is None:
            continue
        if isinstance(item, (int, float)):
            inside = abs(float(item)) in numbers or not known.isdisjoint((str(item).casefold(), f"{item:g}"))
        else:
            inside = {_unpadded(word) for word in words_of(str(item))} <= known
        if not inside:
            found.append((path, item))
    return found


def _unpadded(word: str) -> str:
    """Return a number without leading zeros, so that 01 in a date is the 1 it was written as."""
    return word.lstrip("0") or "0" if word.isdecimal() else word


def _number(text: str) -> float:
    try:
        return float(re.sub(r"[,_ ]", "", text))
    except ValueError:
        return float("nan")
