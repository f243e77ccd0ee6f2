"""One remedy for each kind of mismatch between a value and its type.

Each returns the new value and why it may stand for the old one, or None where something would be lost or invented.
"""

from __future__ import annotations

import json
import re
from typing import Any

from theworld.structure.fitting.labels import match_label
from theworld.structure.reading.fragments import read_any
from theworld.structure.reading.numerals import date_in_iso, read_number, read_truth

Remedied = tuple[Any, str] | None
FLOAT_IN_TEXT = re.compile(r"(?<![\w.])[-+]?(?:\d[\d_]*)?\.\d+(?:[eE][-+]?\d+)?(?![\w.])")
_LONE = "a list of one value"


def number(item: Any, field_words: frozenset[str]) -> tuple[Any, str, str] | None:
    """Return a number, its unit and why, for a text that is one number with separators or one unit."""
    if isinstance(item, list) and len(item) == 1:
        return item[0], "", _LONE
    found = read_number(item, field_words) if isinstance(item, str) else None
    if found is None:
        return None
    value, unit = found
    return value, unit, f"a number with the unit {unit!r}" if unit else "a number written with separators"


def truth(item: Any) -> Remedied:
    """Return a truth value for one word."""
    value = read_truth(item) if isinstance(item, str) else None
    return None if value is None else (value, "a word for true or false")


def label(item: Any, labels: list[tuple[str, Any]]) -> Remedied:
    """Return the value of the one label that the item names."""
    if isinstance(item, list) and len(item) == 1:
        return item[0], _LONE
    if isinstance(item, (dict, list)):
        return None
    matched, value = match_label(item, labels)
    return (value, "a member named by its label") if matched else None


def floats_in(source: str) -> dict[float, str]:
    """Return how each decimal number is written in a text; those written in two ways as Python writes them."""
    written: dict[float, str] = {}
    for found in FLOAT_IN_TEXT.findall(source):
        value = float(found.replace("_", ""))
        written[value] = found if written.get(value, found) == found else repr(value)
    return written


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


def date(item: Any) -> Remedied:
    """Return a date in ISO form."""
    iso = date_in_iso(item) if isinstance(item, str) else None
    return None if iso is None else (iso, "a date in another notation")


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
