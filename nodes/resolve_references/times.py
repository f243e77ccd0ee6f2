"""Time words ("前天", "last Tuesday") as intervals, and the messages said in them.

dateparser was tried: it reads neither 上周三, 三天前, 昨晚 nor 两周前, and cannot find dates within Chinese sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import islice
from typing import NamedTuple

from theworld.nodes.resolve_references.matching import MOST_OCCURRENCES, Span, longest_apart
from theworld.state import Message, ReferenceScope
from theworld.text.calendar_units import (
    DAY,
    MONTHS,
    NUMBER_WORDS,
    WEEK,
    Interval,
    midnight,
    month_back,
    read_number,
    week_back,
    year_of,
)


class TimeWord(NamedTuple):
    """A time expression in a query and the interval it names."""

    span: Span
    interval: Interval
    scope: ReferenceScope


_WEEKDAYS_EN = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WEEKDAYS_CN = dict(zip("一二三四五六日天1234567", [0, 1, 2, 3, 4, 5, 6, 6, *range(7)], strict=True))
_HOURS = {
    "早上": (5, 12), "早晨": (5, 12), "上午": (5, 12), "早": (5, 12), "中午": (11, 14), "下午": (12, 18),
    "傍晚": (17, 20), "晚上": (18, 30), "晚": (18, 30), "夜里": (20, 30), "夜": (20, 30), "凌晨": (0, 6),
    "morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30),
}  # fmt: skip
_PART_CN = "(?P<part>早上|早晨|上午|中午|下午|傍晚|晚上|夜里|凌晨|早|晚|夜)?"
_PART_EN = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_NUM_CN = r"(?P<n>\d{1,4}|[一二三四五六七八九十两几]{1,3}|半)"
_NUM_EN = r"(?P<n>\d{1,4}|a\s+couple\s+of|couple\s+of|a\s+few|" + "|".join(sorted(NUMBER_WORDS, key=len)[::-1]) + ")"

Match = re.Match[str]
Reader = Callable[[Match, datetime], Interval | None]


def _day(moment: datetime, part: str | None = None) -> Interval:
    start = midnight(moment)
    first, last = _HOURS[part] if part else (0, 24)
    return start + timedelta(hours=first), start + timedelta(hours=last)


def _days_back(match: Match, now: datetime) -> Interval:
    back = {
        "今天": 0, "今": 0, "today": 0, "this": 0, "tonight": 0, "昨天": 1, "昨": 1, "yesterday": 1, "last": 1,
        "前天": 2, "前": 2, "大前天": 3,
    }  # fmt: skip
    word = match["day"]
    days = 2 if word.startswith("the day before") else back[word]
    return _day(now - days * DAY, match["part"] or ("night" if word == "tonight" else None))


def _weekday_cn(match: Match, now: datetime) -> Interval | None:
    if not match["which"] and not match["day"]:
        return None
    weeks = {"上上": 2, "上": 1, "上个": 1, "这": 0, "这个": 0, "本": 0}.get(match["which"] or "这", 0)
    monday = week_back(now, weeks)[0]
    if not match["day"]:
        return monday, monday + WEEK
    return _day(monday + _WEEKDAYS_CN[match["day"]] * DAY, match["part"])


def _weekday_en(match: Match, now: datetime) -> Interval:
    day = _WEEKDAYS_EN.index(match["day"])
    back = (now.weekday() - day) % 7
    if match["which"] == "last":
        back = back or 7
    return _day(now - back * DAY, match["part"])


_UNITS = {
    "分钟": "minute", "小时": "hour", "个小时": "hour", "钟头": "hour", "个钟头": "hour", "天": "day", "日": "day",
    "周": "week", "星期": "week", "个星期": "week", "礼拜": "week", "个礼拜": "week", "个月": "month", "年": "year",
    "min": "minute",
}  # fmt: skip


def _ago(match: Match, now: datetime) -> Interval | None:
    count, unit = read_number(match["n"]), _UNITS.get(match["unit"], match["unit"])
    half = match["n"] in {"半", "half"}
    if unit in {"minute", "hour"}:
        length = timedelta(minutes=1 if unit == "minute" else 60)
        middle = now - length * (0.5 if half else count)
        return middle - max(length / 2, (now - middle) / 2), middle + max(length / 2, (now - middle) / 4)
    if unit in {"day", "week"}:
        middle = now - (DAY if unit == "day" else WEEK) * (0.5 if half else count)
        slack = 3 if unit == "week" else int(match["n"] in {"几", "a few", "few", "several"})
        return midnight(middle) - slack * DAY, midnight(middle) + (slack + 1) * DAY
    if half:
        middle, slack = (now - 183 * DAY, 31) if unit == "year" else (now - 15 * DAY, 3)
        return midnight(middle) - slack * DAY, midnight(middle) + (slack + 1) * DAY
    return month_back(now, count) if unit == "month" else year_of(now.year - count, now)


def _unit_back(match: Match, now: datetime) -> Interval:
    unit = {"周": "week", "月": "month", "年": "year"}.get(match["unit"], match["unit"])
    back = {"上": 1, "last": 1, "past": 1, "去": 1, "前": 2}.get(match["which"], 0)
    if unit == "month":
        return month_back(now, back)
    if unit == "year":
        return year_of(now.year - back, now)
    return week_back(now, back)


def _date(match: Match, now: datetime) -> Interval | None:
    groups = match.groupdict()
    name = groups.get("name")
    month = MONTHS.index(name) + 1 if name else int(match["month"])
    year = int(groups["year"]) if groups.get("year") else now.year
    start = midnight(now).replace(year=year, month=month, day=int(match["dom"]))
    if start > now and not groups.get("year"):
        start = start.replace(year=year - 1)
    return _day(start)


_B, _E = r"(?<![a-z0-9])", r"(?![a-z0-9])"
_UNIT_EN = r"(?P<unit>minute|min|hour|day|week|month|year)s?"
_RULES: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(r"(?P<day>大前天|前天|昨天|今天)" + _PART_CN), _days_back),
    (re.compile(r"(?P<day>昨|今|前)(?P<part>晚上|晚|早|夜)"), _days_back),
    (
        re.compile(
            r"(?P<which>上上|上个|上|这个|这|本)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天1-7])?(?!前|年|期|边|围|末)"
            + _PART_CN
        ),
        _weekday_cn,
    ),
    (
        re.compile(
            _NUM_CN + r"(?P<unit>分钟|个小时|小时|个钟头|钟头|天|日|周|个星期|星期|个礼拜|礼拜|个月|年)(?:以前|之前|前)"
        ),
        _ago,
    ),
    (re.compile(r"(?P<which>上|这|本)个?(?P<unit>月)"), _unit_back),
    (re.compile(r"(?P<which>去|前|今)(?P<unit>年)"), _unit_back),
    (re.compile(r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<dom>\d{1,2})[日号]"), _date),
    (
        re.compile(_B + r"(?P<day>the\s+day\s+before\s+yesterday|yesterday|today)" + _PART_EN + _E),
        _days_back,
    ),
    (re.compile(_B + r"(?P<day>last|this)\s+(?P<part>morning|afternoon|evening|night)" + _E), _days_back),
    (re.compile(_B + r"(?P<day>tonight)(?P<part>)" + _E), _days_back),
    (
        re.compile(_B + rf"(?P<which>last|this|on)\s+(?P<day>{'|'.join(_WEEKDAYS_EN)})" + _PART_EN + _E),
        _weekday_en,
    ),
    (re.compile(_B + r"(?P<which>last|this|past)\s+(?P<unit>week|month|year)" + _E), _unit_back),
    (re.compile(_B + _NUM_EN + r"\s+" + _UNIT_EN + r"\s+(?:ago|earlier|back)" + _E), _ago),
    (re.compile(_B + r"(?P<n>half)\s+an?\s+(?P<unit>hour|day|month|year)\s+ago" + _E), _ago),
    (
        re.compile(_B + rf"(?:on\s+)?(?P<name>{'|'.join(MONTHS)})\s+(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?" + _E),
        _date,
    ),
    (re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<dom>\d{1,2})(?!\d)"), _date),
)
_HINT = re.compile(
    r"[天日周晚早夜年月前]|星期|礼拜|ago|earlier|back|day|night|week|month|year|morning|afternoon|evening|"
    + "|".join(MONTHS)
    + r"|\d{4}-"
)


def find_time_words(folded: str, now: datetime) -> list[TimeWord]:
    """Return the time words of a folded text, left to right, longer ones before those they contain.

    `now` must have a time zone; calendar words are taken in it. Impossible dates are passed over.
    """
    if not _HINT.search(folded):
        return []
    read = dict(_read_all(folded, now))
    chosen = sorted(longest_apart(read), key=lambda span: span.start)
    return [TimeWord(span, read[span], _scope_of(read[span], now)) for span in chosen]


def _read_all(folded: str, now: datetime) -> Iterator[tuple[Span, Interval]]:
    for pattern, reader in _RULES:
        for match in islice(pattern.finditer(folded), MOST_OCCURRENCES):
            try:
                interval = reader(match, now)
            except (ValueError, OverflowError):
                continue
            if interval is not None:
                yield Span(match.start(), match.end(), match.group()), interval


def _scope_of(interval: Interval, now: datetime) -> ReferenceScope:
    if interval[0] >= now - timedelta(hours=1):
        return ReferenceScope.LAST_1_3_TURNS
    return ReferenceScope.CURRENT_SESSION if interval[1] > midnight(now) else ReferenceScope.LAST_5_10_TURNS


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment in a zone; a naive one is taken to be in it already."""
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)


def said_within(history: Sequence[Message], interval: Interval, zone: tzinfo) -> list[int]:
    """Return the indexes of the messages said within an interval, ascending; those without a time never are."""
    start, end = interval
    return [i for i, m in enumerate(history) if m.timestamp is not None and start <= in_zone(m.timestamp, zone) < end]
