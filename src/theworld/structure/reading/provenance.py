"""Does a value come from a text, and is all of the text in the value? Compared word by word."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from theworld.structure.errors import shorten
from theworld.structure.reading.foreign import CLEANED, INVISIBLE, without_comments
from theworld.structure.report import Path, Repair

WORD = re.compile(r"[^\W_]+", re.UNICODE)
CJK = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
NUMBER = re.compile(r"\d[\d,_ ]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+")
NUMERAL = re.compile(r"(?<![\w.])-?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
SYMBOL = re.compile(r"[^\w\s\"'`{}\[\](),:;.…+“”‘’：，；、｛｝［］\\/=#*-]")
"""What is neither of a word nor a mark of JSON, Python or prose."""
ESCAPES = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
SYNTAX = frozenset({"null", "none", "true", "false", "undefined", "json"})
KINDS = (
    ("comment", "comment"),
    ("stray '...'", "ellipsis"),
    ("value we found a stray", "missing-value"),
    ("invalidate the string", "dropped"),
    ("literal instead of a quote", "unquoted"),
    ("None literal", "literal"),
    ("missed a :", "missing-colon"),
    ("belongs to the string", "inner-quote"),
    ("different meaning here", "inner-quote"),
    ("quoted span", "inner-quote"),
    ("escape", "escape"),
    ("quote", "quote"),
    ("clos", "closer"),
    ("brace", "closer"),
)
"""Words in a message of the library, and the kind of repair it tells of; the first that occurs counts."""


def words_of(text: str) -> Counter[str]:
    """Count the words of a text, case-folded; each CJK character counts as a word."""
    spaced = CJK.sub(lambda match: f" {match[0]} ", text)
    return Counter(word.casefold() for word in WORD.findall(spaced))


def _unescaped(text: str) -> str:
    """Resolve JSON escapes, so that `\\n` is not read as the letter n."""
    text = INVISIBLE.sub("", text)
    return ESCAPES.sub(lambda m: chr(int(m[1], 16)) if m[1] else (" " if m[2] in "ntrbf" else m[2]), text)


def leaves(value: Any, *, keys: bool = False) -> Iterator[tuple[Path, Any]]:
    """Yield every scalar of plain data with its path, and where wanted every key of an object."""
    pending: list[tuple[Path, Any]] = [((), value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, (dict, list, tuple)):
            if keys and isinstance(item, dict):
                yield from ((path, str(key)) for key in item)
            members = item.items() if isinstance(item, dict) else enumerate(item)
            pending.extend(((*path, key), member) for key, member in members)
        else:
            yield path, item


def texts_of(value: Any, *, numbers: bool = True) -> str:
    """Return all keys and scalars of plain data as one text, with or without its numbers."""
    return " ".join(str(item) for _, item in leaves(value, keys=True) if numbers or type(item) not in (int, float))


def lost_words(text: str, value: Any) -> list[str]:
    """Return the words and numbers of a text that are not in the value, JSON's own words aside.

    A number may be written otherwise (`5.00`, `1e5`).
    """
    left = Counter(_number(str(item)) for _, item in leaves(value) if type(item) in (int, float))

    def less_known(match: re.Match[str]) -> str:
        number = float(match[0].replace("_", ""))
        left[number] -= 1
        return " " if left[number] >= 0 else match[0]

    rest = NUMERAL.sub(less_known, text) if left else text
    missing = words_of(_unescaped(rest)) - words_of(texts_of(value, numbers=False))
    return sorted(word for word in missing if word not in SYNTAX)


def invented(value: Any, text: str) -> list[tuple[Path, Any]]:
    """Return the scalars of plain data that the text does not contain, with their paths.

    A text is contained when all its words are; a number when the text has that number; true, false and null always.
    """
    known = _unpadded(_unescaped(text)) | _unpadded(text)
    numbers = set(map(_number, NUMBER.findall(INVISIBLE.sub("", text))))
    found = []
    for path, item in leaves(value):
        if isinstance(item, bool) or item is None:
            continue
        if isinstance(item, (int, float)):
            size = abs(_number(str(item)))
            inside = size in numbers or not known.isdisjoint((str(item).casefold(), f"{size:g}"))
        else:
            inside = _unpadded(str(item)) <= known
        if not inside:
            found.append((path, item))
    return found


def _unpadded(text: str) -> set[str]:
    """Return the words of a text, numbers without leading zeros, so that 01 in a date is the 1 it was written as."""
    return {word.lstrip("0") or "0" if word.isdecimal() else word for word in words_of(text)}


def _number(text: str) -> float:
    """Return a number as it is written, infinity for one that is too large."""
    try:
        return float(re.sub(r"[,_ ]", "", text))
    except ValueError:
        return float("nan")


def surplus(raw: str, value: Any, first: str, second: str) -> int:
    """Return how many more of one mark than of another a text has outside the strings of its value."""
    inside = texts_of(value)
    return raw.count(first) - raw.count(second) - inside.count(first) + inside.count(second)


def cleanings(raw: str) -> Iterator[Repair]:
    """Yield what was cleaned away in a text that is valid JSON without it."""
    marks = list(CLEANED.finditer(raw))
    comments = [mark[0] for mark in marks if mark["comment"]]
    yield from (Repair("comment", "comment", (), shorten(comment, 200)) for comment in comments)
    comma, control = any(mark["comma"] for mark in marks), bool(INVISIBLE.search(raw))
    if comma:
        yield Repair("trailing-comma", "comma before a closing bracket")
    if control:
        yield Repair("control", "control characters removed")
    if not (comments or comma or control):
        try:
            json.loads(raw)
        except (ValueError, RecursionError):
            yield Repair("line-break", "line break inside a string")


def changes(raw: str, value: Any, messages: Iterable[str]) -> Iterator[Repair]:
    """Yield a repair for each kind of message of the library, what is only in a text and what only in its value."""
    kinds: dict[str, str] = {}
    for message in messages:
        kind = next((kind for words, kind in KINDS if words in message), "syntax")
        kinds.setdefault(kind, message.split(", ignoring")[0])
    yield from (Repair(kind, shorten(message, 200)) for kind, message in kinds.items())
    text = without_comments(raw)
    lost = lost_words(text, value)
    lost += Counter(SYMBOL.findall(text)) - Counter(SYMBOL.findall(texts_of(value)))
    if lost:
        yield Repair("dropped", "text that is not in the value", (), shorten(" ".join(lost), 200))
    for path, new in invented(value, text):
        yield Repair("changed", "not written so in the text", path, None, new)
    if INVISIBLE.search(raw):
        yield Repair("control", "control characters removed")
    unpaired = any(surplus(text, value, *pair) for pair in ("{}", "[]", "“”"))
    if unpaired or surplus(text, value, '"', "\0") % 2:
        yield Repair("guess", "marks or brackets do not pair: where a text or value ends is a guess")
