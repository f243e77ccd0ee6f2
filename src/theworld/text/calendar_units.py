"""Calendar arithmetic and number words, shared by everything that reads time words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

DAY, WEEK = timedelta(days=1), timedelta(weeks=1)
Interval = tuple[datetime, datetime]
"""[start, end), both with a time zone."""
CalendarUnit = Literal["day", "week", "month", "quarter", "half", "year"]
"""What a period is counted in; a `half` is half a year."""

DIGITS = dict(zip("零一二三四五六七八九十", range(11), strict=True)) | {"两": 2, "几": 3, "半": 0}
NUMBER_WORDS = (
    {w: n for n, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
    | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}
)  # fmt: skip
MONTHS = (
    "january february march april may june july august september october november december"
).split()  # fmt: skip
_MONTHS_IN = {"month": 1, "quarter": 3, "half": 6, "year": 12}


def read_number(word: str) -> int:
    """Return the number that digits, an English number word or a Chinese numeral below 100 writes."""
    word = " ".join(word.split())
    if word.isdecimal():
        return int(word)
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    if "十" in word:
        tens, _, ones = word.partition("十")
        return (DIGITS.get(tens, 1) if tens else 1) * 10 + (DIGITS.get(ones, 0) if ones else 0)
    return DIGITS.get(word[-1:], 1)


def midnight(moment: datetime) -> datetime:
    """Return the first moment of a moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def shifted(moment: datetime, unit: CalendarUnit, count: int) -> datetime:
    """Return a moment `count` units later (earlier when negative); a day a month does not have is its last.

    Raises ValueError or OverflowError when the calendar ends before.
    """
    if unit in {"day", "week"}:
        return moment + count * (DAY if unit == "day" else WEEK)
    months = moment.year * 12 + moment.month - 1 + count * _MONTHS_IN[unit]
    first = moment.replace(year=months // 12, month=months % 12 + 1, day=1)
    length = ((first + 31 * DAY).replace(day=1) - first).days
    return first.replace(day=min(moment.day, length))


def unit_of(moment: datetime, unit: CalendarUnit) -> Interval:
    """Return the day, week (from Monday), month, quarter, half or year in which a moment lies."""
    start = midnight(moment)
    if unit == "week":
        start -= start.weekday() * DAY
    elif unit != "day":
        months = _MONTHS_IN[unit]
        start = start.replace(month=(start.month - 1) // months * months + 1, day=1)
    return start, shifted(start, unit, 1)


def week_back(now: datetime, back: int) -> Interval:
    """Return the week `back` weeks before the current one."""
    return unit_of(now - back * WEEK, "week")


def month_back(now: datetime, back: int) -> Interval:
    """Return the month `back` months before the current one."""
    return unit_of(shifted(unit_of(now, "month")[0], "month", -back), "month")


def year_of(year: int, now: datetime) -> Interval:
    """Return a year in the time zone of `now`."""
    return unit_of(midnight(now).replace(year=year, month=1, day=1), "year")
