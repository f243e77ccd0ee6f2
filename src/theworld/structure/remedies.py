"""One remedy for each kind of mismatch between a value and its type: numbers, dates and labels as models write them.

Each returns the new value and why it may stand for the old one, or None where something would be lost or invented.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from theworld.structure.reading.fragments import read_any
from theworld.text.dates import read_date
from theworld.text.quantities import read_quantity

Remedied = tuple[Any, str] | None
FLOAT_IN_TEXT = re.compile(r"(?<![\w.])[-+]?(?:\d[\d_]*)?\.\d+(?:[eE][-+]?\d+)?(?![\w.])")
TRUE_WORDS = frozenset("true yes y on 1 是 是的 真 对 對 有 ✓ ✔ ✅ √".split())
FALSE_WORDS = frozenset("false no n off 0 否 不 不是 假 错 錯 没有 無 无 ✗ ✘ ❌ ×".split())
CLOCK = re.compile(r"(?:[T\s,]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)$")
DECORATION = "\"'`*“”‘’ \t\r\n"
NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|without|isn't|isnt|non)\b|n't\b|[不非没無无]")
LONGEST_LABEL = 300
_LONE = "a list of one value"


def number(item: Any, field_words: frozenset[str]) -> tuple[Any, str, str] | None:
    """Return a number, its unit and why, for a text that is one number with separators or one unit.

    `field_words` are words of the field's own name and description, which may be units too.
    """
    if isinstance(item, list) and len(item) == 1:
        return item[0], "", _LONE
    if not isinstance(item, str):
        return None
    found = read_quantity(unicodedata.normalize("NFKC", item).strip(DECORATION).rstrip(".。,，;；"), field_words)
    if found is None:
        return None
    why = f"a number with the unit {found.unit!r}" if found.unit else "a number written with separators"
    return found.value, found.unit, why


def truth(item: Any) -> Remedied:
    """Return a truth value for one word."""
    word = item.strip(DECORATION).rstrip(".。!！").casefold() if isinstance(item, str) else ""
    return (word in TRUE_WORDS, "a word for true or false") if word in TRUE_WORDS | FALSE_WORDS else None


def date(item: Any) -> Remedied:
    """Return a date (and time) in ISO form; None where day and month could be mistaken for each other."""
    plain = unicodedata.normalize("NFKC", item).strip(DECORATION) if isinstance(item, str) else ""
    clock = CLOCK.search(plain)
    day = read_date(plain[: clock.start()] if clock else plain)
    if day is None:
        return None
    iso = f"{day.year}-{day.month:02}-{day.day:02}"
    if clock:
        iso += f"T{'0' * (clock[1][1] == ':')}{clock[1]}{clock[2] or ''}"
    return iso, "a date in another notation"


def share_of(value: Any) -> float | None:
    """Return what a model means by a share such as its confidence, in [0, 1]: 0.9, "0.9", "90%", also in full width.

    What lies outside is cut to the nearest end; None for what is no number, NaN, or true and false.
    """
    if isinstance(value, bool):
        return None
    text = unicodedata.normalize("NFKC", value).strip() if isinstance(value, str) else value
    percent = isinstance(text, str) and text.endswith("%")
    try:
        share = float(text.rstrip("%") if isinstance(text, str) else text)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(share) else min(max(share / 100 if percent else share, 0.0), 1.0)


def as_text(item: Any, written: dict[float, str], *, in_union: bool) -> Remedied:
    """Return a scalar as text, decimals as they are `written`; an object as JSON where nothing else is allowed."""
    if isinstance(item, bool):
        return ("true" if item else "false"), "a truth value where text is wanted"
    if isinstance(item, (int, float)):
        return (str(item) if isinstance(item, int) else written.get(item, repr(item))), "a number where text is wanted"
    if in_union or not item:
        return None
    if isinstance(item, list) and len(item) == 1:
        return item[0], _LONE
    return json.dumps(item, ensure_ascii=False), "structured data where text is wanted: kept as JSON"


def as_list(item: Any) -> Remedied:
    """Return a list for a lone item, for a text that holds a JSON array, or for an object that wraps one list."""
    if isinstance(item, str) and item.lstrip()[:1] == "[":
        found = _read(item)
        if isinstance(found, list):
            return found, "a list written inside a string"
    if isinstance(item, dict) and len(item) == 1:
        ((key, inner),) = item.items()
        if isinstance(inner, list):
            return inner, f"the list is wrapped in an object under {key!r}"
    if isinstance(item, dict) and item and list(item) == [str(i) for i in range(len(item))]:
        return list(item.values()), "a list written as an object with numbers for keys"
    return [item], "a single value where a list is wanted"


def as_object(item: Any) -> Remedied:
    """Return an object for a text that holds one, for a list of one, or for a list of objects with different keys."""
    if isinstance(item, str) and ("{" in item or ":" in item):
        found = _read(item)
        if isinstance(found, dict):
            return found, "an object written inside a string"
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], dict):
        return item[0], "a list of one object"
    if isinstance(item, list) and item and all(isinstance(part, dict) for part in item):
        pairs = [pair for part in item for pair in part.items()]
        if len(dict(pairs)) == len(pairs):
            return dict(pairs), "the fields stand in separate objects"
    return None


def _read(text: str) -> Any:
    try:
        return read_any(text)[0]
    except (ValueError, RecursionError):
        return None


def fold(text: str) -> str:
    """Return a name without case, width, spaces and punctuation, for comparison."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def labels_of(annotations: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return (label, plain value) of every member of the enums and Literals among the annotations."""
    found: list[tuple[str, Any]] = []
    for annotation in annotations:
        if get_origin(annotation) is Literal:
            plain = (choice.value if isinstance(choice, Enum) else choice for choice in get_args(annotation))
            found += [(str(value), value) for value in plain]
        elif isinstance(annotation, type) and issubclass(annotation, Enum):
            for name, member in annotation.__members__.items():
                found += [(str(member.value), member.value), (name, member.value)]
    return found


def label(item: Any, labels: list[tuple[str, Any]]) -> Remedied:
    """Return the value of the one label that the item names.

    Compared in turn: folded as a whole; the parts of `LABEL: why`, `LABEL (why)`, `1. LABEL`, `category: LABEL`; as the
    only member named in a short text without a negation.
    """
    if isinstance(item, list) and len(item) == 1:
        return item[0], _LONE
    text = "" if isinstance(item, (dict, list)) else str(item).strip()
    if not text or len(text) > LONGEST_LABEL:
        return None
    head = re.split(r"\s*[:：(（\n]\s*|\s+[-–—]+\s+|[,，。;；]\s*", text, maxsplit=1)[0]
    numbered = re.sub(r"^\s*(?:\d+|[A-Za-z])[.)、]\s*", "", text)
    tail = re.split(r"[:：]\s*", text)[-1] if len(text) < 80 else ""
    parts = [part for part in (head, numbered, tail) if len(fold(part)) > 1 and part != text]
    named = [[value for name, value in labels if fold(name) == fold(part) and fold(part)] for part in (text, *parts)]
    if not NEGATION.search(text.casefold()):
        named.append(_mentioned(text, labels))
    for values in named:
        if values and all(value == values[0] for value in values):
            return values[0], "a member named by its label"
    return None


def _mentioned(text: str, labels: list[tuple[str, Any]]) -> list[Any]:
    """Return the members whose label stands in the text as whole words; longer labels hide shorter ones."""
    rest = text
    found: list[Any] = []
    for name, value in sorted(labels, key=lambda pair: -len(pair[0])):
        if len(fold(name)) < 2:
            continue
        body = r"[\s_-]*".join(re.escape(word) for word in re.split(r"[\s_-]+", name) if word)
        without = re.sub(rf"(?<![A-Za-z0-9]){body}(?![A-Za-z0-9])", " ", rest, flags=re.IGNORECASE)
        if without != rest:
            rest = without
            found.append(value)
    return found
