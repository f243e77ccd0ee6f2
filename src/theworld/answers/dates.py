"""Dates in running text, in English and Chinese, to the precision they are written with."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join([*_MONTHS, *(month[:3] for month in _MONTHS if month != "may"), "sept"])
_YEAR = r"(?P<year>[12]\d{3})"
_BC = r"(?P<year>\d{1,4})\s?(?P<bc>BCE?\b|B\.\s?C\.(?:\s?E\.)?)"
_COUNTED = (
    r"\s?(?:%|[公千平英厘毫]?[米里方寸尺顷頃亩畝斤吨噸][里米]?|[余餘多]?[个個名位人座户戶元万萬亿億条條种種件]|"
    r"(?:km|mi|miles?|m|ft|feet|met(?:re|er)s?|kilomet(?:re|er)s?|kg|tons?|tonnes?|people|inhabitants|residents|acres?|"
    r"hectares?|square)\b)"
)
"""What makes a number of four digits no year."""
_ZH_DIGITS = "〇零○一二三四五六七八九"
_ZH_DAY = (
    r"(?:\s?(?P<month>\d{1,2}|[一二三四五六七八九十]{1,2})\s?月"
    r"(?:\s?(?P<day>\d{1,2}|[一二三四五六七八九十廿卅]{1,3})\s?[日号號])?)?"
)
_ROC = 1911
"""The year before the first of the Republic of China: 民國元年 is 1912."""
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?, ?{_BC}",
        rf"(?<![\d,.])(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? )?(?:\b(?P<month>{_MONTH})\.?,? )?(?<![\d,.]){_BC}",
        rf"(?P<bc>公元前|西元前|[纪紀]元前)\s?(?P<year>\d{{1,4}}|[{_ZH_DIGITS}十百]{{1,6}})\s?年{_ZH_DAY}",
        rf"(?P<roc>民[国國])\s?(?P<year>\d{{1,3}}|元|[{_ZH_DIGITS}十百]{{1,6}})\s?年{_ZH_DAY}",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?P<month>{_MONTH})\.?,? {_YEAR}(?!\d)",
        rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?, ?{_YEAR}(?!\d)",
        rf"\b(?P<month>{_MONTH})\.?,? {_YEAR}(?!\d)",
        r"(?P<year>[12]\d{3})-(?P<month>\d{2})-(?P<day>\d{2})(?!\d)",
        rf"(?<!\d)(?P<year>\d{{3,4}})\s?年{_ZH_DAY}",
        rf"(?<![{_ZH_DIGITS}])(?P<year>[一二][{_ZH_DIGITS}]{{3}})\s?年{_ZH_DAY}",
        rf"(?<![\d,.]){_YEAR}s?(?![\d,]|\.\d|{_COUNTED})",
    )
)


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
    """Return the dates of a text by position; a full date wins over the year inside it."""
    taken: list[tuple[int, int]] = []
    found: list[DateSpan] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            taken.append(match.span())
            found.append(_span(match))
    return sorted(found, key=lambda date: date.start)


def _span(match: re.Match[str]) -> DateSpan:
    groups = match.groupdict()
    month = (groups.get("month") or "0").casefold()
    latin = month.isascii() and not month.isdigit()
    number = 1 + next(i for i, m in enumerate(_MONTHS) if m.startswith(month[:3])) if latin else _number(month)
    year = _number(groups["year"])
    year = -year if groups.get("bc") else year + _ROC if groups.get("roc") else year
    return DateSpan(year, number, _number(groups.get("day") or "0"), match.start(), match.end())


def _number(written: str) -> int:
    """Return a number of a date as written: 26, 二十六, 廿六, 一九四五, 元."""
    if written.isdigit():
        return int(written)
    total = digits = 0
    for character in written.replace("廿", "二十").replace("卅", "三十"):
        if character in "十百":
            total += (digits or 1) * (10 if character == "十" else 100)
            digits = 0
        else:
            digits = digits * 10 + (1 if character == "元" else max(_ZH_DIGITS.index(character) - 2, 0))
    return total + digits
