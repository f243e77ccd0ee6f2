"""Numbers, truth values and dates as people and models write them, converted only where nothing is lost."""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Any

GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,3}(?:,\d{2})+,\d{3}|\d{1,3}(?:_\d{3})+|\d{1,3}(?:[ '’]\d{3})+")
CORE = r"(?:\d[\d,_ '’]*(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\.\d+)"
WRITTEN = re.compile(
    rf"(?P<sign>[-+−–]?)\s*(?P<before>[^\d\s.,+−–-]{{0,4}})\s*(?P<sign2>[-−]?)(?P<number>{CORE})(?P<exp>[eE][-+]?\d{{1,3}})?\s*"
    r"(?P<scale>万亿|万|萬|亿|億|千|百万|thousand|million|billion|trillion|k|K)?(?![A-Za-z])\s*(?P<after>[^\d]{0,16})"
)
SCALES = {
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "百万": 10**6,
    "亿": 10**8,
    "億": 10**8,
    "万亿": 10**12,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "k": 10**3,
    "K": 10**3,
}
TRUE_WORDS = frozenset("true yes y on 1 是 是的 真 对 對 有 ✓ ✔ ✅ √".split())
FALSE_WORDS = frozenset("false no n off 0 否 不 不是 假 错 錯 没有 無 无 ✗ ✘ ❌ ×".split())
MONTHS = {name: index + 1 for index, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())}
YEAR_FIRST = re.compile(
    r"(\d{4})\s*[-./年]\s*(\d{1,2})\s*[-./月]\s*(\d{1,2})\s*[日号號]?(?:[T\s,]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)?"
)
DAY_NAMED = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})")
MONTH_NAMED = re.compile(r"([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")
DECORATION = "\"'`*“”‘’ \t\r\n"


@lru_cache(maxsize=1)
def known_units() -> frozenset[str]:
    """Return the words and signs that may stand beside a number."""
    text = files("theworld.structure").joinpath("data/units.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return frozenset(word for line in lines for word in line.split())


def read_number(text: str, field_words: frozenset[str] = frozenset()) -> tuple[int | float, str] | None:
    """Return the number a text is, and its unit; None when it is more than a number and a unit.

    "1,234" is 1234, "$5" is 5 with unit "$", "1.2万" is 12000; "about 5", "5-10" and "1,5" are refused.
    `field_words` are words of the field's own name and description, which may be units too.
    """
    if len(text) > 100:
        return None
    plain = unicodedata.normalize("NFKC", text).strip(DECORATION).rstrip(".。,，;；")
    match = WRITTEN.fullmatch(plain)
    if match is None:
        return None
    before, after = match["before"].strip(), match["after"].strip().rstrip(".")
    if not all(_is_unit(word, field_words) for word in (before, after) if word):
        return None
    digits = _digits(match["number"].strip())
    if digits is None:
        return None
    if any(sign in ("-", "−", "–") for sign in (match["sign"], match["sign2"])):
        digits = f"-{digits}"
    return _scaled(digits + (match["exp"] or ""), match["scale"] or ""), f"{before}{after}"


def _is_unit(word: str, field_words: frozenset[str]) -> bool:
    units = known_units()
    parts = word.split()
    candidates = (
        word,
        word.casefold(),
        *([] if len(parts) < 2 else parts[:1] if parts[1:] in (["old"], ["ago"]) else []),
    )
    return any(part in units or part.casefold() in field_words for part in candidates)


def _digits(number: str) -> str | None:
    """Return plain digits with a point; None where separators can be read in two ways."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", number):
        return number.replace(".", "").replace(",", ".")
    whole, point, fraction = number.partition(".")
    if whole and not whole.isdigit():
        if not GROUPED.fullmatch(whole):
            return None
        whole = re.sub(r"\D", "", whole)
    return f"{whole}{point}{fraction}"


def _scaled(digits: str, scale: str) -> int | float:
    if not scale:
        return int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits)
    from decimal import Decimal

    exact = Decimal(digits) * SCALES[scale]
    return int(exact) if exact == exact.to_integral_value() else float(exact)


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
