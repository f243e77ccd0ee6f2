"""Periods and moments that a text names ("近30天", "上个季度", "March 2024", "昨晚", "two weeks ago"), as half-open intervals.

Rolling periods end with today and include it: the last 30 days are today and the 29 days before. Weeks begin on
Monday. A month or a day without a year is the latest one that has begun. What has no sharp bounds ("last night", "two
weeks ago") is an interval that holds it, and marked approximate. All in the time zone of `now`.

dateparser was tried: it reads neither 三天前, 昨晚 nor 上个季度, and 上周三 as 上周.
"""

# ruff: noqa: E501 - one rule a line
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import cast

from theworld.packages import either
from theworld.text.calendar import DAY, MONTH, MONTHS, WEEK, WEEKDAYS, CalendarUnit, midnight, shifted, unit_of
from theworld.text.numerals import ENGLISH_NUMBERS, read_numeral
from theworld.text.sentences import apart
from theworld.text.tokens import fold_in_place

MOST_OCCURRENCES = 32
"""Places of one pattern that are looked at: what repeats it more often is no question."""


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
    approximate: bool = False
    """Whether the bounds are a convention rather than said."""
    ends: tuple[TimeRange, TimeRange] | None = None
    """The first and the last period of "from A to B", in the years they stand for."""

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
Period = tuple[datetime | None, datetime | None, CalendarUnit, int] | TimeRange
Reader = Callable[[Match, datetime], Period | None]

_UNITS: dict[str, CalendarUnit] = {
    "天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "季": "quarter",
    "季度": "quarter", "半年": "half", "年": "year", "年度": "year",
}  # fmt: skip
_WORD_YEARS = {"今年": 0, "本年": 0, "本年度": 0, "去年": 1, "上年": 1, "上年度": 1, "前年": 2}


_INDEFINITE = {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4, "几": 3}


def _unit(word: str) -> CalendarUnit:
    return _UNITS.get(word) or cast("CalendarUnit", word)


def _count(word: str) -> int:
    word = " ".join(word.split())
    return _INDEFINITE.get(word) or read_numeral(word) or 0


def _about(start: datetime, end: datetime) -> TimeRange:
    return TimeRange(start, end, "day", 1, (0, 0), approximate=True)


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
    count = 1 if match["n"] in {None, "", "半"} else _count(match["n"])
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


_HOURS = {
    "早上": (5, 12), "早晨": (5, 12), "上午": (5, 12), "早": (5, 12), "中午": (11, 14), "下午": (12, 18),
    "傍晚": (17, 20), "晚上": (18, 30), "晚": (18, 30), "夜里": (20, 30), "夜": (20, 30), "凌晨": (0, 6),
    "morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30),
}  # fmt: skip
"""Hours of the parts of a day; those of a night go on into the next day."""
_PART_CN = f"(?P<part>{'|'.join(sorted((part for part in _HOURS if not part.isascii()), key=len, reverse=True))})"
_PART_EN = r"(?P<part>morning|afternoon|evening|night)"
_DAYS_BACK = {
    "今": 0, "today": 0, "this": 0, "to": 0, "昨": 1, "yesterday": 1, "last": 1, "前": 2, "the": 2, "大": 3,
}  # fmt: skip


def _day(moment: datetime, part: str | None) -> Period:
    if part is None:
        return _whole(moment, "day")
    start = midnight(moment)
    first, last = _HOURS[part]
    return _about(start + timedelta(hours=first), start + timedelta(hours=last))


def _days_back(match: Match, now: datetime) -> Period:
    word = match["day"]
    back = _DAYS_BACK[word.split()[0] if word.isascii() else word[0]]
    return _day(now - back * DAY, match["part"])


def _weekday_cn(match: Match, now: datetime) -> Period:
    monday, _ = unit_of(now - _BACK.get(match["which"] or "", 0) * WEEK, "week")
    day = monday + "一二三四五六日1234567".index(match["day"].replace("天", "日")) % 7 * DAY
    if match["which"] is None and match["part"] is None:  # 周三 alone may be any
        return _about(day, day + DAY)
    return _day(day, match["part"])


def _weekday_en(match: Match, now: datetime) -> Period:
    back = (now.weekday() - WEEKDAYS.index(match["day"])) % 7
    return _day(now - (back or 7 * (match["which"] == "last")) * DAY, match["part"])


_UNITS_AGO = {"分钟": "minute", "min": "minute", "小时": "hour", "钟头": "hour"} | _UNITS


def _ago(match: Match, now: datetime) -> Period:
    """Return the day, week, month or year so long ago, with slack where the number or the unit is loose."""
    word, half = match["n"], match["n"] in {"半", "half"}
    count, unit = _count(word), _UNITS_AGO.get(match["unit"].removeprefix("个"), match["unit"])
    if unit in {"minute", "hour"}:
        length = timedelta(minutes=1 if unit == "minute" else 60)
        middle = now - length * (0.5 if half else count)
        return _about(middle - max(length / 2, (now - middle) / 2), middle + max(length / 2, (now - middle) / 4))
    if half:
        days, slack = (183, 31) if unit == "year" else (15, 3) if unit == "month" else (0, 0)
    elif unit == "day" and word not in _INDEFINITE:
        return _whole(now - count * DAY, "day")
    elif unit in {"day", "week"}:
        days, slack = (count * 7, 3) if unit == "week" else (count, int(count > 2))
    else:
        return _about(*unit_of(shifted(unit_of(now, _unit(unit))[0], _unit(unit), -count), _unit(unit)))
    middle = midnight(now - days * DAY)
    return _about(middle - slack * DAY, middle + (slack + 1) * DAY)


def _year(match: Match, now: datetime) -> Period:
    year = _year_in(match, now)
    return _whole(now.replace(year=year or now.year, month=1, day=1), "year")


def _years(match: Match, now: datetime) -> Period | None:
    first, last = (unit_of(now.replace(year=int(match[name]), month=1, day=1), "year") for name in ("year", "last"))
    ends = TimeRange(*first, "year", 1, (0, 0)), TimeRange(*last, "year", 1, (0, 0))
    count = last[1].year - first[0].year
    return TimeRange(first[0], last[1], "year", count, (0, 0), ends=ends) if first[0] < last[1] else None


def _date(match: Match, now: datetime) -> Period:
    """Return a month, or the day of it that is named."""
    groups = match.groupdict()
    month = MONTHS[groups["name"]] if groups.get("name") else _count(groups["month"])
    day = groups.get("dom")
    return _in_year(match, now, month, "day" if day else "month", int(day or 1))


def _in_year(match: Match, now: datetime, month: int, unit: CalendarUnit, day: int = 1) -> Period:
    year = _year_in(match, now)
    start = midnight(now).replace(year=year or now.year, month=month, day=day)
    if year is None and start > now:
        start = start.replace(year=start.year - 1)
    return _whole(start, unit)


def _quarter(match: Match, now: datetime) -> Period:
    word = match["q"]
    ordinal = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
    return _in_year(match, now, 3 * (ordinal.get(word) or _count(word)) - 2, "quarter")


def _half(match: Match, now: datetime) -> Period:
    year = _year_in(match, now) or now.year
    first = match["half"] in {"上", "first", "1"}
    return _whole(midnight(now).replace(year=year, month=1 if first else 7, day=1), "half")


def _to_date(match: Match, now: datetime) -> Period:
    word = match.groupdict().get("unit") or "year"
    start, _ = unit_of(now, _unit(word))
    end = midnight(now) + DAY
    return start, end, "day", (end - start).days


_BOUND_WORDS = "since from and between to than with until till before after by".split()
_B, _E = r"(?<![a-z0-9])", r"(?![a-z0-9])"
_N_CN = r"(?P<n>\d{1,4}|[一二三四五六七八九十两]{1,3}|半)"
_NUMBERS = either([*ENGLISH_NUMBERS, *(word for word in _INDEFINITE if word.isascii())]).replace(r"\ ", r"\s+")
_N_EN = rf"(?P<n>\d{{1,4}}|{_NUMBERS})"
_AGO_CN = (
    r"(?P<n>\d{1,3}|[一二三四五六七八九十两几]{1,3}|半)(?P<unit>分钟|个?小时|个?钟头|天|日|周|个?星期|个?礼拜|个月|年)"
)
_Y_CN = r"(?:(?:(?P<year>(?:19|20)\d{2})年|(?P<yearword>今年|本年度|本年|去年|上年度|上年|前年))的?)"
_Y_EN = r"(?P<year>(?:19|20)\d{2})|(?P<yearword>last\s+year|this\s+year)"
_BOUND_WORD = "(?:" + "|".join(rf"(?<={_B}{word} )" for word in _BOUND_WORDS) + ")"
_U_EN = r"(?P<unit>day|week|month|quarter|year)"
_RULES: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (rf"(?:最近|近|过去|过往)的?{_N_CN}个?(?P<unit>天|日|周|星期|礼拜|月|季度|年)(?:内|以来|里|之内|间)?", _rolling),
        (rf"{_B}(?:over\s+|in\s+|during\s+|within\s+)?(?:the\s+)?(?:last|past|previous|recent|most\s+recent|trailing)\s+{_N_EN}[\s-]+"
         rf"{_U_EN}s?{_E}", _rolling),
        (rf"{_B}(?:over|in|during|within)?\s*the\s+past\s+(?P<n>)?{_U_EN}{_E}", _rolling),
        (r"(?P<which>上上|上|本|这|当)个?(?P<unit>季度|季|月|周|星期|礼拜)(?:份)?(?![二三四五六日天1-7末]|一(?![共起直般次]))", _unit_back),
        (rf"{_B}(?P<which>last|previous|this|the\s+current|current)\s+(?P<unit>week|month|quarter|year)(?:'s)?{_E}", _unit_back),
        (rf"(?P<day>大前天|前天|昨天|昨日|今天|今日){_PART_CN}?", _days_back),
        (r"(?P<day>昨|今|前)(?P<part>晚上|晚|早|夜)", _days_back),
        (rf"{_B}(?P<day>the\s+day\s+before\s+yesterday|yesterday|today)(?:'s)?(?:\s+{_PART_EN})?{_E}", _days_back),
        (rf"{_B}(?P<day>last|this)\s+{_PART_EN}{_E}", _days_back),
        (rf"{_B}(?P<day>to)(?P<part>night){_E}", _days_back),
        (rf"(?P<which>上上|上|这|本)?(?<!每)个?(?:周|星期|礼拜)(?P<day>[一二三四五六日天1-7])(?!前|年|期|边|围|末|个|季|次){_PART_CN}?", _weekday_cn),
        (rf"{_B}(?P<which>last|this|on)\s+(?P<day>{'|'.join(WEEKDAYS)})(?:\s+{_PART_EN})?{_E}", _weekday_en),
        (rf"{_AGO_CN}(?:以前|之前|前)(?!\d)", _ago),
        (rf"{_B}{_N_EN}\s+(?P<unit>minute|min|hour|day|week|month|year)s?\s+(?:ago|earlier|back){_E}", _ago),
        (rf"{_B}(?P<n>half)\s+an?\s+(?P<unit>hour|day|month|year)\s+ago{_E}", _ago),
        (rf"{_Y_CN}(?:全年|整年|度|底|末)?", _year),
        (rf"{_B}(?:in|of|during|for|over|year|throughout|within)\s+(?:the\s+year\s+)?(?P<year>(?:19|20)\d{{2}})(?:'s)?{_E}(?!-\d)", _year),
        (r"^(?P<year>(?:19|20)\d{2})(?:'s)?(?=\s+[a-z])", _year),
        (rf"(?:(?<=since )|(?<=until )|(?<=before )|(?<=after ))(?P<year>(?:19|20)\d{{2}}){_E}(?!-\d)", _year),
        (rf"{_B}(?:from|between)\s+(?P<year>(?:19|20)\d{{2}})\s*(?:to|and|until|till|through|-|–)\s*(?P<last>(?:19|20)\d{{2}}){_E}", _years),
        (rf"{_Y_CN}?(?<!\d)(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?:份)?(?!\d{{1,2}}[日号])", _date),
        (rf"{_B}(?:in\s+|of\s+|during\s+|for\s+)?(?P<name>{MONTH})\.?,?\s+(?:of\s+)?(?:{_Y_EN}){_E}", _date),
        (rf"(?:{_B}(?:in|of|during|for)\s+|{_BOUND_WORD})(?P<name>{MONTH}){_E}(?!\s+\d)", _date),
        (r"(?<!\d)(?P<year>(?:19|20)\d{2})[-/.](?P<month>1[0-2]|0?[1-9])(?![\d/.-])", _date),
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
        (rf"{_B}(?:on\s+)?(?P<name>{MONTH})\.?\s+(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>(?:19|20)\d{{2}}))?{_E}", _date),
        (rf"{_B}(?:on\s+)?(?:the\s+)?(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{MONTH})\.?(?:,?\s+(?P<year>(?:19|20)\d{{2}}))?{_E}", _date),
        (r"今年以来|年初至今|年初以来|本年以来|今年至今", _to_date),
        (r"(?:本|这个?)(?P<unit>月|季度)(?:以来|至今)", _to_date),
        (rf"{_B}(?:the\s+)?(?P<unit>year|month|quarter)[\s-]+to[\s-]+date{_E}|{_B}ytd{_E}|{_B}so\s+far\s+this\s+year{_E}", _to_date),
    )
)  # fmt: skip
_TO = re.compile(r"\s*(?:到|至|~|～|-|–|—|直到|to|until|till|through|and)\s*(?:the\s+)?")
_OPENING = re.compile(r"(?:从|自|由|介于|between|from)\s*$")
_BOUNDS = tuple(
    (kind, re.compile(rf"(?:{before})\s*$"), re.compile(rf"\s*(?:{after})"))
    for kind, before, after in (
        ("since", r"(?<![a-z])since(?:\s+the\s+start\s+of)?|自从?|从", "以来|至今|起|开始|onwards?"),
        ("before", "(?<![a-z])before", r"之前|以前|前(?!\d)"),
        ("after", "(?<![a-z])after", "之后|以后"),
        ("until", r"(?<![a-z])(?:until|till|up\s+to|by|as(?:\s+of)?)(?:\s+the\s+end\s+of)?|截至|截止到?", "(?!)"),
    )
)
"""What turns a period into an open one: kind, words before it, words after it."""


def depends_on_now(text: str) -> bool:
    """Return whether a text names a period that is another one in another year ("last month", but not "in 2024")."""
    first, later = (
        [(found.start, found.end) for found in find_time_ranges(text, datetime(year, 6, 15, tzinfo=UTC))]
        for year in (2024, 2031)
    )
    return first != later


def find_time_ranges(text: str, now: datetime) -> list[TimeRange]:
    """Return the periods a text names, left to right, none overlapping; impossible dates are passed over.

    `now` must have a time zone. "From A to B", "since A", "before A" and "after A" count as one period each.
    """
    folded = fold_in_place(text)
    read: list[TimeRange] = []
    for pattern, reader in _RULES:
        for match in islice(pattern.finditer(folded), MOST_OCCURRENCES):
            try:
                period = reader(match, now)
            except (ValueError, OverflowError):
                continue
            if period is not None:
                whole = period if isinstance(period, TimeRange) else TimeRange(*period, (0, 0))
                read.append(replace(whole, place=match.span()))
    longest = sorted(read, key=lambda r: (r.place[0] - r.place[1], r.place[0]))
    found = sorted(apart(longest, lambda r: r.place), key=lambda r: r.place)
    return [_bound(item, folded, midnight(now) + DAY) for item in _joined(found, folded)]


def _joined(found: list[TimeRange], folded: str) -> list[TimeRange]:
    """Return the list with "A to B" made one; a first month takes the year that the second one names."""
    joined: list[TimeRange] = []
    for item in found:
        last = joined[-1] if joined else None
        between = _TO.fullmatch(folded, last.place[1], item.place[0]) if last else None
        opening = _OPENING.search(folded, 0, last.place[0]) if last else None
        opened = opening or (last and re.match(r"(?:between|from)\s", folded[last.place[0] :]))
        if last and between and (opened or not between.group().strip().startswith("and")):
            whole = _span(last, item, folded)
            begin = opening.start() if opening else last.place[0]
            ends = None
            if opened and whole.start is not None and whole.end is not None:  # both, moved into the years of the whole
                ends = (
                    replace(last, start=whole.start, end=shifted(whole.start, last.unit, last.count)),
                    replace(item, start=shifted(whole.end, item.unit, -item.count), end=whole.end),
                )
            joined[-1] = replace(whole, place=(begin, item.place[1]), ends=ends)
        else:
            joined.append(item)
    return joined


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


def _bound(item: TimeRange, folded: str, tomorrow: datetime) -> TimeRange:
    """Return a range with "since", "before" or "after" taken in."""
    begin, end = item.place
    for kind, before, after in _BOUNDS:
        word = after.match(folded, end) or before.search(folded, 0, begin)
        if word:
            place = (min(begin, word.start()), max(end, word.end()))
            if kind == "since" and item.start is not None and item.start < tomorrow:
                return TimeRange(item.start, tomorrow, "day", (tomorrow - item.start).days, place)
            if kind in {"before", "until"}:
                return replace(item, start=None, end=item.start if kind == "before" else item.end, place=place)
            return replace(item, start=item.end, end=None, place=place)
    opening = _OPENING.search(folded, 0, begin)
    return replace(item, place=(opening.start(), end)) if opening else item
