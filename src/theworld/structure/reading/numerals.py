"""Numbers, truth values and dates as people and models write them, converted only where nothing is lost."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from theworld.text.dates import read_date
from theworld.text.quantities import read_quantity

TRUE_WORDS = frozenset("true yes y on 1 是 是的 真 对 對 有 ✓ ✔ ✅ √".split())
FALSE_WORDS = frozenset("false no n off 0 否 不 不是 假 错 錯 没有 無 无 ✗ ✘ ❌ ×".split())
CLOCK = re.compile(r"(?:[T\s,]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)$")
DECORATION = "\"'`*“”‘’ \t\r\n"


def read_number(text: str, field_words: frozenset[str] = frozenset()) -> tuple[int | float, str] | None:
    """Return the number a text is, and its unit; None when it is more than a number and a unit.

    `field_words` are words of the field's own name and description, which may be units too.
    """
    plain = unicodedata.normalize("NFKC", text).strip(DECORATION).rstrip(".。,，;；")
    found = read_quantity(plain, field_words)
    return (found.value, found.unit) if found else None


def read_truth(text: str) -> bool | None:
    """Return the truth value of one word, None for anything else."""
    word = text.strip(DECORATION).rstrip(".。!！").casefold()
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def date_in_iso(text: str) -> str | None:
    """Return a date (and time) in ISO form; None where day and month could be mistaken for each other."""
    plain = unicodedata.normalize("NFKC", text).strip(DECORATION)
    clock = CLOCK.search(plain)
    date = read_date(plain[: clock.start()] if clock else plain)
    if date is None:
        return None
    iso = f"{date.year}-{date.month:02}-{date.day:02}"
    return f"{iso}T{'0' * (clock[1][1] == ':')}{clock[1]}{clock[2] or ''}" if clock else iso


def share_of(value: Any) -> float | None:
    """Return what a model means by a share such as its confidence, in [0, 1]: 0.9, "0.9", "90%", also in full width.

    What lies outside is cut to the nearest end; None for what is no number, NaN, or true and false.
    """
    if isinstance(value, bool):
        return None
    text = unicodedata.normalize("NFKC", value).strip() if isinstance(value, str) else value
    percent = isinstance(text, str) and text.endswith("%")
    try:
        number = float(text.rstrip("%") if isinstance(text, str) else text)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else min(max(number / 100 if percent else number, 0.0), 1.0)
