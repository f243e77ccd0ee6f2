"""Numbers, truth values and dates as people and models write them, converted only where nothing is lost."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from theworld.text.quantities import read_quantity

TRUE_WORDS = frozenset("true yes y on 1 是 是的 真 对 對 有 ✓ ✔ ✅ √".split())
FALSE_WORDS = frozenset("false no n off 0 否 不 不是 假 错 錯 没有 無 无 ✗ ✘ ❌ ×".split())
MONTHS = {name: index + 1 for index, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())}
YEAR_FIRST = re.compile(
    r"(\d{4})\s*[-./年]\s*(\d{1,2})\s*[-./月]\s*(\d{1,2})\s*[日号號]?(?:[T\s,]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)?"
)
DAY_NAMED = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})")
MONTH_NAMED = re.compile(r"([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")
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


def read_date(text: str) -> str | None:
    """Return a date (and time) in ISO form; None where day and month could be mistaken for each other."""
    plain = unicodedata.normalize("NFKC", text).strip(DECORATION)
    match = YEAR_FIRST.fullmatch(plain)
    if match:
        date = f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}"
        time = match[4].zfill(5) if match[4] and match[4].index(":") == 2 else f"0{match[4]}" if match[4] else ""
        return f"{date}T{time}{match[5] or ''}" if time else date
    for pattern, day, month in ((DAY_NAMED, 1, 2), (MONTH_NAMED, 2, 1)):
        match = pattern.fullmatch(plain)
        number = MONTHS.get(match[month][:3].casefold()) if match else None
        if match and number:
            return f"{match[3]}-{number:02}-{int(match[day]):02}"
    return None


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
