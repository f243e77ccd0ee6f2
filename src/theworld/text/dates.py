"""Months and dates in running text, to the precision they are written with.

Both languages, eras included (44 BC, 公元前259年, 民國65年). Periods relative to a moment are read by `time_ranges`,
with the same names of months.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from theworld.text.calendar import MONTH, MONTHS
from theworld.text.numerals import CHINESE_DIGITS, read_numeral
from theworld.text.sentences import apart
from theworld.text.tokens import fold_in_place

_YEAR = r"(?P<year>[12]\d{3})"
_BC = r"(?P<year>\d{1,4})\s?(?P<bc>bce?\b|b\.\s?c\.(?:\s?e\.)?)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_COUNTED = (
    r"\s?(?:%|[公千平英厘毫]?[米里方寸尺顷亩斤吨][里米]?|余?[个名位人座户元万亿条种件多]|"
    r"(?:km|mi|miles?|m|ft|feet|met(?:re|er)s?|kilomet(?:re|er)s?|kg|tons?|tonnes?|people|inhabitants|residents|acres?|"
    r"hectares?|square)\b)"
)
"""What makes a number of four digits no year."""
_ZH_YEAR = rf"(?P<year>\d{{1,4}}|[{CHINESE_DIGITS}十百]{{1,6}})\s?年"
_ZH_DAY = (
    r"(?:\s?(?P<month>\d{1,2}|[一二三四五六七八九十]{1,2})\s?月"
    r"(?:\s?(?P<day>\d{1,2}|[一二三四五六七八九十廿卅]{1,3})\s?[日号])?)?"
)
LAST_MONTH, LONGEST_MONTH = 12, 31
_ROC = 1911
"""The year before the first of the Republic of China: 民國元年 is 1912."""
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?P<month>{MONTH})\.? {_DAY}, ?{_BC}",
        rf"(?<![\d,.])(?:{_DAY} )?(?:\b(?P<month>{MONTH})\.?,? )?(?<![\d,.]){_BC}",
        rf"(?P<bc>公元前|西元前|纪元前)\s?{_ZH_YEAR}{_ZH_DAY}",
        rf"(?P<roc>民国)\s?(?P<year>\d{{1,3}}|元|[{CHINESE_DIGITS}十百]{{1,6}})\s?年{_ZH_DAY}",
        rf"\b{_DAY} (?P<month>{MONTH})\.?,? {_YEAR}(?!\d)",
        rf"\b(?P<month>{MONTH})\.? {_DAY}, ?{_YEAR}(?!\d)",
        rf"\b(?P<month>{MONTH})\.?,? {_YEAR}(?!\d)",
        rf"(?<![\d.]){_YEAR}(?P<mark>[-/.])(?P<month>1[0-2]|0?[1-9])(?P=mark)(?P<day>[12]\d|3[01]|0?[1-9])(?![\d.]\d|\d)",
        rf"(?<!\d)(?P<year>\d{{3,4}})\s?年{_ZH_DAY}",
        rf"(?<![{CHINESE_DIGITS}])(?P<year>[一二][{CHINESE_DIGITS}]{{3}})\s?年{_ZH_DAY}",
        rf"(?<![\d,.]){_YEAR}s?(?![\d,]|\.\d|{_COUNTED})",
    )
)
"""In the order they are tried: a full date wins over the year inside it."""


@dataclass(frozen=True, slots=True, order=True)
class DateSpan:
    """A date and where it stands; compares by time, an unknown month or day as 0."""

    year: int
    """Negative before Christ: -44 is 44 BC."""
    month: int
    day: int
    start: int
    end: int

    @property
    def moment(self) -> tuple[int, int, int]:
        """(year, month, day), 0 for what is not said."""
        return self.year, self.month, self.day


def find_dates(text: str) -> list[DateSpan]:
    """Return the dates of a text by position; none overlap."""
    folded = fold_in_place(text)
    matches = (match for pattern in _PATTERNS for match in pattern.finditer(folded))
    dates = []
    for match in apart(matches, lambda match: match.span()):
        groups = match.groupdict()
        year = read_numeral(groups["year"]) or 0
        year = -year if groups.get("bc") else year + _ROC if groups.get("roc") else year
        name = groups.get("month") or "0"
        month, day = MONTHS.get(name) or read_numeral(name) or 0, read_numeral(groups.get("day") or "0") or 0
        dates.append(DateSpan(year, month, day, *match.span()))
    return sorted(dates, key=lambda date: date.start)


def read_date(text: str) -> DateSpan | None:
    """Return the day that a text is, in any of the forms of running text; None when it is more, less or unclear."""
    dates = find_dates(text)
    whole = len(dates) == 1 and (dates[0].start, dates[0].end) == (0, len(text))
    return dates[0] if whole and dates[0].day and dates[0].year > 0 else None


_DAYS = re.compile(
    rf"(?<![\d.])(?:{_DAY}(?: of)? (?P<name>{MONTH})\b|(?P<month>\d{{1,2}})\s?月\s?(?P<zh_day>\d{{1,2}})\s?[日号]"
    r"|\d{4}(?P<mark>[-/.])(?P<iso_month>\d{1,2})(?P=mark)(?P<iso_day>\d{1,2})(?!\d)"
    r"|(?P<one>\d{1,2})(?P<slash>[./])(?P<other>\d{1,2})(?P=slash)\d{2}(?:\d{2})?(?!\d))"
    rf"|\b(?P<name_before>{MONTH})\.? (?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)"
)


def find_days(text: str) -> list[tuple[int, int, int]]:
    """Return (month, day, offset) of each day of the year that a text names, with a year or without one.

    3/10/2024 is two days: it is not said which is the month.
    """
    found = []
    for match in _DAYS.finditer(fold_in_place(text)):
        said = match.groupdict()
        name, one, other = said["name"] or said["name_before"], said["one"], said["other"]
        month = MONTHS[name] if name else said["month"] or said["iso_month"] or other
        day = said["day"] or said["zh_day"] or said["iso_day"] or said["day_after"] or one
        pairs = dict.fromkeys([(int(month), int(day)), *([(int(one), int(other))] if one else [])])
        found += [(m, d, match.start()) for m, d in pairs if 1 <= m <= LAST_MONTH and 1 <= d <= LONGEST_MONTH]
    return found
