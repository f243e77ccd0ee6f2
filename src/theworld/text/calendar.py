"""The calendar: names of months and weekdays, and its arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

_NAMES = "january february march april may june july august september october november december".split()
MONTHS: Mapping[str, int] = (
    {name: n for n, name in enumerate(_NAMES, 1)} | {name[:3]: n for n, name in enumerate(_NAMES, 1)} | {"sept": 9}
)
"""Names of months and their short forms, folded."""
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
"""Pattern of a month's name in folded text."""
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()

DAY, WEEK = timedelta(days=1), timedelta(weeks=1)
Interval = tuple[datetime, datetime]
"""[start, end), both with a time zone."""
CalendarUnit = Literal["day", "week", "month", "quarter", "half", "year"]
"""What a period is counted in; a `half` is half a year."""

_MONTHS_IN = {"month": 1, "quarter": 3, "half": 6, "year": 12}


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
