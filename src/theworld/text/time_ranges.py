"""Periods that a question names ("近30天", "上个季度", "March 2024"), as half-open intervals of calendar days.

Rolling periods end with today and include it: the last 30 days are today and the 29 days before. Weeks begin on
Monday. A month or a day without a year is the latest one that has begun. All in the time zone of `now`.
"""

# ruff: noqa: E501 - one rule a line
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from theworld.text.calendar_units import (
    DAY,
    MONTHS,
    NUMBER_WORDS,
    CalendarUnit,
    midnight,
    read_number,
    shifted,
    unit_of,
)
from theworld.text.folding import fold_in_place


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A period and where the question names it."""

    start: datetime | None
    """First moment, None when it is open to the past."""
    end: datetime | None
    """First moment after it, None when it is open to the future."""
    unit: CalendarUnit
    """What it is counted in."""
    count: int
    """How many units long it is."""
    place: tuple[int, int]
    """Characters of the text that name it, end exclusive."""

    def before(self) -> TimeRange | None:
        """Return the period of the same length that ends where this begins; None when one side is open."""
        if self.start is None or self.end is None:
            return None
        return replace(self, start=shifted(self.start, self.unit, -self.count), end=self.start)

    def a_year_before(self) -> TimeRange | None:
        """Return the same period of the year before; None when one side is open."""
        if self.start is None or self.end is None:
            return None
        return replace(self, start=shifted(self.start, "year", -1), end=shifted(self.end, "year", -1))


Match = re.Match[str]
Period = tuple[datetime | None, datetime | None, CalendarUnit, int]
Reader = Callable[[Match, datetime], Period | None]

_UNITS: dict[str, CalendarUnit] = {
    "天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "季": "quarter",
    "季度": "quarter", "半年": "half", "年": "year", "年度": "year",
}  # fmt: skip
_MONTH_NAMES = {name: n for n, name in enumerate(MONTHS, 1)} | {name[:3]: n for n, name in enumerate(MONTHS, 1)}
_MONTH_NAMES["sept"] = 9
_WORD_YEARS = {"今年": 0, "本年": 0, "本年度": 0, "去年": 1, "上年": 1, "上年度": 1, "前年": 2}


def _unit(word: str) -> CalendarUnit:
    return _UNITS.get(word) or cast("CalendarUnit", word)


def _whole(moment: datetime, unit: CalendarUnit) -> Period:
    return *unit_of(moment, unit), unit, 1


def _year_in(match: Match, now: datetime) -> int | None:
    groups = match.groupdict()
    if groups.get("year"):
        return int(groups["year"])
    word = " ".join((groups.get("yearword") or "").split())
    if word:
        return now.year - _WORD_YEARS.get(word, 1 if word == "last year" else 0)
    return None


def _rolling(match: Match, now: datetime) -> Period | None:
    unit = _unit(match["unit"])
    count = 1 if match["n"] in {None, "半"} else read_number(match["n"])
    unit = "half" if match["n"] == "半" else unit
    if count < 1 or (match["n"] == "半" and match["unit"] != "年"):
        return None
    tomorrow = midnight(now) + DAY
    return shifted(tomorrow, unit, -count), tomorrow, unit, count


_BACK = {"上上": 2, "上": 1, "last": 1, "previous": 1, "前": 2, "去": 1}


def _unit_back(match: Match, now: datetime) -> Period:
    unit = _unit(match["unit"])
    start, _ = unit_of(now, unit)
    return _whole(shifted(start, unit, -_BACK.get(match["which"], 0)), unit)


def _days_back(match: Match, now: datetime) -> Period:
    word = " ".join(match["day"].split())
    back = {"昨": 1, "前": 2, "大": 3}.get(word[0], 0) if word[0] in "今昨前大" else 0
    back = {"yesterday": 1, "the day before yesterday": 2}.get(word, back)
    return _whole(now - back * DAY, "day")


def _year(match: Match, now: datetime) -> Period:
    year = _year_in(match, now)
    return _whole(now.replace(year=year or now.year, month=1, day=1), "year")


def _month(match: Match, now: datetime) -> Period:
    groups = match.groupdict()
    month = _MONTH_NAMES[groups["name"]] if groups.get("name") else int(match["month"])
    return _in_year(match, now, month, "month")


def _month_cn(match: Match, now: datetime) -> Period:
    return _in_year(match, now, read_number(match["month"]), "month")


def _in_year(match: Match, now: datetime, month: int, unit: CalendarUnit) -> Period:
    year = _year_in(match, now)
    start = midnight(now).replace(year=year or now.year, month=month, day=1)
    if year is None and start > now:
        start = start.replace(year=start.year - 1)
    return _whole(start, unit)


def _quarter(match: Match, now: datetime) -> Period:
    word = match["q"]
    ordinal = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
    return _in_year(match, now, 3 * (ordinal.get(word) or read_number(word)) - 2, "quarter")


def _half(match: Match, now: datetime) -> Period:
    year = _year_in(match, now) or now.year
    first = match["half"] in {"上", "first", "1"}
    return _whole(midnight(now).replace(year=year, month=1 if first else 7, day=1), "half")


def _date(match: Match, now: datetime) -> Period:
    groups = match.groupdict()
    month = _MONTH_NAMES[groups["name"]] if groups.get("name") else int(match["month"])
    year = _year_in(match, now)
    start = midnight(now).replace(year=year or now.year, month=month, day=int(match["dom"]))
    return _whole(start.replace(year=start.year - 1) if year is None and start > now else start, "day")


def _to_date(match: Match, now: datetime) -> Period:
    word = match.groupdict().get("unit") or "year"
    start, _ = unit_of(now, _unit(word))
    end = midnight(now) + DAY
    return start, end, "day", (end - start).days


_B, _E = r"(?<![a-z0-9])", r"(?![a-z0-9])"
_N_CN = r"(?P<n>\d{1,4}|[一二三四五六七八九十两]{1,3}|半)"
_NUMBERS = "|".join(sorted(map(re.escape, NUMBER_WORDS), key=len)[::-1])
_N_EN = rf"(?P<n>\d{{1,4}}|{_NUMBERS})"
_NAMES = "|".join(sorted(_MONTH_NAMES, key=len)[::-1])
_Y_CN = r"(?:(?:(?P<year>(?:19|20)\d{2})年|(?P<yearword>今年|本年度|本年|去年|上年度|上年|前年))的?)"
_Y_EN = r"(?P<year>(?:19|20)\d{2})|(?P<yearword>last\s+year|this\s+year)"
_U_EN = r"(?P<unit>day|week|month|quarter|year)"
_RULES: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (rf"(?:最近|近|过去|过往)的?{_N_CN}个?(?P<unit>天|日|周|星期|礼拜|月|季度|年)(?:内|以来|里|之内|间)?", _rolling),
        (rf"{_B}(?:over\s+|in\s+|during\s+|within\s+)?(?:the\s+)?(?:last|past|previous|recent|most\s+recent)\s+{_N_EN}[\s-]+"
         rf"{_U_EN}s?{_E}", _rolling),
        (rf"{_B}trailing\s+{_N_EN}[\s-]+{_U_EN}s?{_E}", _rolling),
        (rf"{_B}(?:over|in|during|within)?\s*the\s+past\s+(?P<n>)?{_U_EN}{_E}", _rolling),
        (r"(?P<which>上上|上|本|这|当)个?(?P<unit>季度|季|月|周|星期|礼拜)(?:份)?(?![一二三四五六日天1-7末])", _unit_back),
        (rf"{_B}(?P<which>last|previous|this|the\s+current|current)\s+(?P<unit>week|month|quarter|year)(?:'s)?{_E}", _unit_back),
        (r"(?P<day>大前天|前天|昨天|昨日|今天|今日)", _days_back),
        (rf"{_B}(?P<day>the\s+day\s+before\s+yesterday|yesterday|today)(?:'s)?{_E}", _days_back),
        (rf"{_Y_CN}(?:全年|整年|度|底|末)?", _year),
        (rf"{_B}(?:in|of|during|for|over|year|throughout|within)\s+(?:the\s+year\s+)?(?P<year>(?:19|20)\d{{2}})(?:'s)?{_E}(?!-\d)", _year),
        (r"^(?P<year>(?:19|20)\d{2})(?:'s)?(?=\s+[a-z])", _year),
        (rf"{_Y_CN}?(?<!\d)(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?:份)?(?!\d{{1,2}}[日号])", _month_cn),
        (rf"{_B}(?:in\s+|of\s+|during\s+|for\s+)?(?P<name>{_NAMES})\.?,?\s+(?:of\s+)?(?:{_Y_EN}){_E}", _month),
        (rf"{_B}(?:in|of|during|for|since|from|and|between|to|than|with)\s+(?P<name>{_NAMES}){_E}(?!\s+\d)", _month),
        (r"(?<!\d)(?P<year>(?:19|20)\d{2})[-/.](?P<month>1[0-2]|0?[1-9])(?![\d/.-])", _month),
        (rf"{_Y_CN}?第?(?P<q>[一二三四1-4])季度?", _quarter),
        (rf"{_Y_CN}?q(?P<q>[1-4])(?!\d)", _quarter),
        (r"(?<!\d)(?P<year>(?:19|20)\d{2})\s*-?\s*q(?P<q>[1-4])(?!\d)", _quarter),
        (rf"{_B}q(?P<q>[1-4])(?:\s*(?:of\s+)?(?:{_Y_EN}))?{_E}", _quarter),
        (rf"{_B}(?:in\s+)?(?:the\s+)?(?P<q>first|second|third|fourth|1st|2nd|3rd|4th)\s+quarter(?:\s+(?:of\s+)?(?:{_Y_EN}))?{_E}", _quarter),
        (rf"{_Y_CN}?(?P<half>上|下)半年", _half),
        (rf"{_B}(?:in\s+)?(?:the\s+)?(?P<half>first|second)\s+half(?:\s+(?:of\s+)?(?:{_Y_EN})|\s+of\s+the\s+year)?{_E}", _half),
        (rf"{_B}h(?P<half>[12])(?:\s*(?:of\s+)?(?:{_Y_EN}))?{_E}", _half),
        (rf"{_Y_CN}?(?P<month>\d{{1,2}})月(?P<dom>\d{{1,2}})[日号]", _date),
        (r"(?<!\d)(?P<year>(?:19|20)\d{2})[-/.](?P<month>\d{1,2})[-/.](?P<dom>\d{1,2})(?!\d)", _date),
        (rf"{_B}(?:on\s+)?(?P<name>{_NAMES})\.?\s+(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>(?:19|20)\d{{2}}))?{_E}", _date),
        (rf"{_B}(?:on\s+)?(?:the\s+)?(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_NAMES})\.?(?:,?\s+(?P<year>(?:19|20)\d{{2}}))?{_E}", _date),
        (r"今年以来|年初至今|年初以来|本年以来|今年至今", _to_date),
        (r"(?:本|这个?)(?P<unit>月|季度)(?:以来|至今)", _to_date),
        (rf"{_B}(?:the\s+)?(?P<unit>year|month|quarter)[\s-]+to[\s-]+date{_E}|{_B}ytd{_E}|{_B}so\s+far\s+this\s+year{_E}", _to_date),
    )
)  # fmt: skip
_TO = re.compile(r"\s*(?:到|至|~|～|-|–|—|直到|to|until|till|through|and)\s*(?:the\s+)?")
_OPENING = re.compile(r"(?:从|自|由|介于|between|from)\s*$")
_SINCE = re.compile(r"(?:(?<![a-z])since(?:\s+the\s+start\s+of)?|自从?|从)\s*$")
_SINCE_AFTER = re.compile(r"\s*(?:以来|至今|起|开始|onwards?)")
_UNTIL = re.compile(r"(?:(?<![a-z])(?:until|till|up\s+to|by|as(?:\s+of)?)(?:\s+the\s+end\s+of)?|截至|截止到?)\s*$")
_BEFORE = re.compile(r"(?<![a-z])before\s*$")
_BEFORE_AFTER = re.compile(r"\s*(?:之前|以前|前(?!\d))")
_AFTER = re.compile(r"(?<![a-z])after\s*$")
_AFTER_AFTER = re.compile(r"\s*(?:之后|以后)")
_BOUNDS: tuple[tuple[str, re.Pattern[str] | None, re.Pattern[str] | None], ...] = (
    ("since", _SINCE, _SINCE_AFTER),
    ("before", _BEFORE, _BEFORE_AFTER),
    ("after", _AFTER, _AFTER_AFTER),
    ("until", _UNTIL, None),
)
"""What turns a period into an open one: kind, words before it, words after it."""
_HINT = re.compile(r"[天日周月季年ymhq昨今前]|day|week|month|year|\d{4}")


def find_time_ranges(text: str, now: datetime) -> list[TimeRange]:
    """Return the periods a text names, left to right, none overlapping; impossible dates are passed over.

    `now` must have a time zone. "From A to B", "since A", "before A" and "after A" count as one period each.
    """
    folded = fold_in_place(text)
    if not _HINT.search(folded):
        return []
    found = sorted(_longest(_read_all(folded, now)), key=lambda r: r.place)
    return _bounded(_joined(found, folded), folded, now)


def _read_all(folded: str, now: datetime) -> Iterator[TimeRange]:
    for pattern, reader in _RULES:
        for match in pattern.finditer(folded):
            try:
                period = reader(match, now)
            except (ValueError, OverflowError):
                continue
            if period is not None:
                yield TimeRange(*period, place=match.span())


def _longest(ranges: Iterator[TimeRange]) -> list[TimeRange]:
    chosen: list[TimeRange] = []
    for item in sorted(ranges, key=lambda r: (r.place[0] - r.place[1], r.place[0])):
        if all(item.place[1] <= c.place[0] or c.place[1] <= item.place[0] for c in chosen):
            chosen.append(item)
    return chosen


def _joined(found: list[TimeRange], folded: str) -> list[TimeRange]:
    """Return the list with "A to B" made one; a first month takes the year that the second one names."""
    joined: list[TimeRange] = []
    for item in found:
        last = joined[-1] if joined else None
        between = _TO.fullmatch(folded, last.place[1], item.place[0]) if last else None
        needs_opening = between is not None and between.group().strip().startswith("and")
        if (
            last
            and between
            and (not needs_opening or _OPENING.search(folded, 0, last.place[0]) or _opened(folded, last))
        ):
            joined[-1] = _span(last, item, folded)
        else:
            joined.append(item)
    return joined


def _opened(folded: str, first: TimeRange) -> bool:
    return re.match(r"(?:between|from)\s", folded[first.place[0] :]) is not None


def _span(first: TimeRange, last: TimeRange, folded: str) -> TimeRange:
    start, end = first.start, last.end
    if start is not None and end is not None:
        year = re.search(r"(?:19|20)\d{2}|[今去前]年", folded[slice(*first.place)])
        if year and not re.search(r"(?:19|20)\d{2}|[今去前]年", folded[slice(*last.place)]):
            end = shifted(end, "year", start.year - (end - DAY).year)
            end = end if end > start else shifted(end, "year", 1)
        elif not year and start.year != end.year and start < end:
            moved = shifted(start, "year", (end - DAY).year - start.year)
            start = moved if moved < end else shifted(moved, "year", -1)
        if end <= start:
            start = shifted(start, "year", -1)
        days = (end - start).days
        months = (end.year - start.year) * 12 + end.month - start.month
        if start.day == end.day == 1 and months > 0:
            return TimeRange(start, end, "month", months, (first.place[0], last.place[1]))
        return TimeRange(start, end, "day", days, (first.place[0], last.place[1]))
    return TimeRange(start, end, last.unit, 1, (first.place[0], last.place[1]))


def _bounded(found: list[TimeRange], folded: str, now: datetime) -> list[TimeRange]:
    """Return the ranges with "since", "before" and "after" taken in."""
    return [_bound(item, folded, midnight(now) + DAY) for item in found]


def _bound(item: TimeRange, folded: str, tomorrow: datetime) -> TimeRange:
    begin, end = item.place
    for kind, before, after in _BOUNDS:
        word = (after and after.match(folded, end)) or (before and before.search(folded, 0, begin))
        if word:
            return _turned(item, tomorrow, kind, (min(begin, word.start()), max(end, word.end())))
    opening = _OPENING.search(folded, 0, begin)
    return replace(item, place=(opening.start(), end)) if opening else item


def _turned(item: TimeRange, tomorrow: datetime, kind: str, place: tuple[int, int]) -> TimeRange:
    if kind == "since" and item.start is not None and item.start < tomorrow:
        return TimeRange(item.start, tomorrow, "day", (tomorrow - item.start).days, place)
    if kind in {"before", "until"}:
        return replace(item, start=None, end=item.start if kind == "before" else item.end, place=place)
    return replace(item, start=item.end, end=None, place=place)
