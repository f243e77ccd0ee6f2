"""One remedy for each kind of mismatch between a value and its type. Each returns (new value, why), or REFUSED."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter

from theworld.structure.fitting.annotations import options_of
from theworld.structure.fitting.labels import labels_of, match_label
from theworld.structure.reading.fragments import read_any
from theworld.structure.reading.numerals import date_in_iso, read_number, read_truth

REFUSED = object()
NO: tuple[Any, str] = (REFUSED, "")
FLOAT_IN_TEXT = re.compile(r"(?<![\w.])[-+]?(?:\d[\d_]*)?\.\d+(?:[eE][-+]?\d+)?(?![\w.])")


def number(item: Any, field_words: frozenset[str]) -> tuple[Any, str, str]:
    """Return a number, its unit and why, for a text that is one number with separators or one unit."""
    if isinstance(item, list) and len(item) == 1:
        return item[0], "", "a list of one value"
    found = read_number(item, field_words) if isinstance(item, str) else None
    if found is None:
        return REFUSED, "", ""
    value, unit = found
    return value, unit, f"a number with the unit {unit!r}" if unit else "a number written with separators"


def truth(item: Any) -> tuple[Any, str]:
    """Return a truth value for one word."""
    value = read_truth(item) if isinstance(item, str) else None
    return NO if value is None else (value, "a word for true or false")


def label(item: Any, annotations: Iterable[Any]) -> tuple[Any, str]:
    """Return the member of an enum or Literal that the item names."""
    if isinstance(item, list) and len(item) == 1:
        return item[0], "a list of one value"
    if isinstance(item, (dict, list)):
        return NO
    return label_among(item, labels_of(annotations))


def label_among(item: Any, labels: list[tuple[str, Any]]) -> tuple[Any, str]:
    """Return the value of the one label that the item names."""
    matched, value = match_label(item, labels)
    return (value, "a member named by its label") if matched else NO


def floats_in(source: str) -> dict[float, str]:
    """Return how each decimal number is written in a text; those written in two ways as Python writes them."""
    written: dict[float, str] = {}
    for found in FLOAT_IN_TEXT.findall(source):
        value = float(found.replace("_", ""))
        written[value] = found if written.get(value, found) == found else repr(value)
    return written


def as_text(item: Any, written: Callable[[float], str], in_union: bool) -> tuple[Any, str]:
    """Return a scalar as text, decimals as `written` gives them; an object as JSON where nothing else is allowed."""
    if isinstance(item, bool):
        return ("true" if item else "false"), "a truth value where text is wanted"
    if isinstance(item, (int, float)):
        return (str(item) if isinstance(item, int) else written(item)), "a number where text is wanted"
    if in_union or not item:
        return NO
    if isinstance(item, list) and len(item) == 1:
        return item[0], "a list of one value"
    return json.dumps(item, ensure_ascii=False), "structured data where text is wanted: kept as JSON"


def date(item: Any) -> tuple[Any, str]:
    """Return a date in ISO form."""
    iso = date_in_iso(item) if isinstance(item, str) else None
    return NO if iso is None else (iso, "a date in another notation")


def as_list(item: Any) -> tuple[Any, str]:
    """Return a list for a lone item, for a text that holds a JSON array, or for an object that wraps one list."""
    if isinstance(item, str) and item.lstrip()[:1] == "[":
        found = _read(item)
        if isinstance(found, list):
            return found, "a list written inside a string"
    if isinstance(item, dict) and len(item) == 1:
        (inner,) = item.values()
        if isinstance(inner, list):
            return inner, f"the list is wrapped in an object under {next(iter(item))!r}"
    if isinstance(item, dict) and item and list(item) == [str(i) for i in range(len(item))]:
        return list(item.values()), "a list written as an object with numbers for keys"
    return [item], "a single value where a list is wanted"


def as_object(item: Any) -> tuple[Any, str]:
    """Return an object for a text that holds one, for a list of one, or for a list of objects with different keys."""
    if isinstance(item, str) and ("{" in item or ":" in item):
        found = _read(item)
        if isinstance(found, dict):
            return found, "an object written inside a string"
    if isinstance(item, list) and len(item) == 1 and isinstance(item[0], dict):
        return item[0], "a list of one object"
    if isinstance(item, list) and item and all(isinstance(part, dict) for part in item):
        keys = [key for part in item for key in part]
        if len(keys) == len(set(keys)):
            return {key: value for part in item for key, value in part.items()}, "the fields stand in separate objects"
    return NO


def _read(text: str) -> Any:
    try:
        return read_any(text)[0]
    except (ValueError, RecursionError):
        return None


def only_list_field(annotation: Any) -> str:
    """Return the name of a model's only required field when that is a list, else an empty text."""
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return ""
    fields = annotation.model_fields
    required = [name for name, info in fields.items() if info.is_required()] or list(fields)
    if len(required) != 1:
        return ""
    info = fields[required[0]]
    is_list = any((get_origin(option) or option) is list for option in options_of(info.annotation))
    return (info.alias or required[0]) if is_list else ""


def tags_of(model: Any, tag: str) -> list[Any]:
    """Return the values a model's tag field may have."""
    info = getattr(model, "model_fields", {}).get(tag)
    options = options_of(info.annotation) if info else []
    return [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]


def accepts(annotation: Any, value: Any) -> bool:
    """Return True when the annotation validates the value."""
    try:
        TypeAdapter(annotation).validate_json(json.dumps(value))
    except ValueError:
        return False
    return True
