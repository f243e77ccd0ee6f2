"""Wikidata's points in time as words: eras, and no more precision than was stated.

A value looks like `+1912-06-23T00:00:00Z` with a precision: 11 day, 10 month, 9 year, 8 decade, 7 century,
6 millennium, less: thousands of years and more. `-0044` is 44 BC; there is no year 0.
"""

from __future__ import annotations

import re

_TIME = re.compile(r"([+-])(\d{1,16})-(\d{2})-(\d{2})T")
DAY, MONTH, YEAR, DECADE, CENTURY, MILLENNIUM = 11, 10, 9, 8, 7, 6


def date_in_words(time: str, precision: int, language: str) -> str | None:
    """Return the point in time in `language` ("zh", else English), None when it is not one."""
    match = _TIME.match(time)
    if match is None or not int(match.group(2)):
        return None
    year, month, day = int(match.group(2)), int(match.group(3)), int(match.group(4))
    words = _chinese if language == "zh" else _english
    return words(year, month, day, precision, match.group(1) == "-")


def _english(year: int, month: int, day: int, precision: int, before_christ: bool) -> str:
    era = " BC" if before_christ else ""
    if precision >= YEAR:
        return _digits(f"{year}" if before_christ else f"{year:04d}", month, day, precision) + era
    if precision == DECADE:
        return f"{year // 10 * 10}s{era}"
    if precision == CENTURY:
        return f"{_ordinal((year - 1) // 100 + 1)} century{era}"
    if precision == MILLENNIUM:
        return f"{_ordinal((year - 1) // 1000 + 1)} millennium{era}"
    return f"about {year}{era}"


def _chinese(year: int, month: int, day: int, precision: int, before_christ: bool) -> str:
    era = "公元前" if before_christ else ""
    if precision >= YEAR:
        parts = [f"{era}{year}年"]
        if precision >= MONTH and month:
            parts.append(f"{month}月")
            if precision >= DAY and day:
                parts.append(f"{day}日")
        return "".join(parts)
    if precision == DECADE:
        return f"{era}{year // 10 * 10}年代"
    if precision == CENTURY:
        return f"{era}{(year - 1) // 100 + 1}世纪"
    if precision == MILLENNIUM:
        return f"{era}第{(year - 1) // 1000 + 1}个千年"
    return f"约{era}{year}年"


def _digits(year: str, month: int, day: int, precision: int) -> str:
    if precision == YEAR or not month:
        return year.lstrip("0")
    text = f"{year}-{month:02d}"
    return f"{text}-{day:02d}" if precision >= DAY and day else text


def _ordinal(number: int) -> str:
    last = number % 100
    ending = "th" if 10 <= last <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
