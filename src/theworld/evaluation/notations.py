"""Notations that mean the same, written in one way before answers are compared.

Fractions become decimals (`half an hour` and 半小时 are `0.5 hour` and 0.5小时), versions lose their
`v`, decades are written `1990s`. Times of day are read apart, because `3:30 p.m.` and 15:30 share no number.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from theworld.text.quantities import CHINESE_NUMERAL, either, read_numeral, unit_words

DECADE = re.compile(r"\b[12]\d\d0s\b")
"""A decade as `plainly` writes it."""
_CENTURY_DECADE = re.compile(r"(\d{1,2})\s?世[纪紀](\d0)年代")
_DECADE = re.compile(r"(?<!\d)([12]\d\d0)(?:\s?年代|'s\b)")
_VERSION = re.compile(r"\b(?:v\.?|version\s)(?=\d)", re.IGNORECASE)
_SIGN = re.compile("[¼½¾⅐-⅞]")
_FRACTION = re.compile(r"(?<![\d./⁄])(?:(\d+) )?(\d{1,2})[/⁄]([1-9]\d?)(?![\d/⁄]|\.\d)")
_HALF = re.compile(r"\bhalf an? (?=[a-z])", re.IGNORECASE)
_AND_A_HALF = re.compile(r"\b(\d+|[a-z]+) and a half\b", re.IGNORECASE)
_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8}
_PART = re.compile(
    rf"\b(an?|one|two|three|four|five|seven|nine)[\s-]({'|'.join(_PARTS)})s?\b(?=\W*$|\s+of\b)", re.IGNORECASE
)
_CHINESE_PART = re.compile(rf"(?!百分)([{CHINESE_NUMERAL}]{{1,3}})分之([{CHINESE_NUMERAL}]{{1,3}})")

_PERIOD = r"(?P<period>凌晨|清晨|早上|早晨|上午|中午|下午|午后|傍晚|晚上|夜里)?"
_MARK = r"(?:\s?(?P<mark>[ap])\.?\s?m\b\.?)"
_CLOCK = re.compile(
    rf"{_PERIOD}(?<![\d:.])(?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d)(?![\d:.]*\d){_MARK}?"
    rf"|(?<![\d:.])(?P<hour2>\d{{1,2}}){_MARK.replace('mark', 'mark2')}"
    rf"|{_PERIOD.replace('period', 'period2')}(?<![\d.{CHINESE_NUMERAL}])"
    rf"(?P<hour3>\d{{1,2}}|[{CHINESE_NUMERAL}]{{1,3}})[点點](?:钟|鐘|整|(?P<half>半)|(?P<minute3>\d{{1,2}}|[{CHINESE_NUMERAL}]{{1,3}})分?)?",
    re.IGNORECASE,
)
_AFTERNOON = frozenset({"下午", "午后", "傍晚", "晚上", "夜里", "p"})
_MORNING = frozenset({"凌晨", "清晨", "早上", "早晨", "上午", "a"})


def plainly(text: str) -> str:
    """Return a text with fractions, versions and decades written in the one way that can be compared."""
    plain = _SIGN.sub(lambda match: f" {unicodedata.normalize('NFKC', match[0])}", text)
    plain = _CENTURY_DECADE.sub(lambda match: f"{int(match[1]) - 1}{match[2]}年代", plain)
    plain = _DECADE.sub(r"\1s", plain)
    plain = _VERSION.sub("", plain)
    plain = _HALF.sub("0.5 ", plain)
    plain = _AND_A_HALF.sub(_number_and_a_half, plain)
    plain = _chinese_half().sub(_number_and_a_half, plain)
    plain = _CHINESE_PART.sub(lambda match: _decimal(match, read_numeral(match[2]), read_numeral(match[1])), plain)
    plain = _PART.sub(lambda match: _decimal(match, read_numeral(match[1]) or 1, _PARTS[match[2].casefold()]), plain)
    return _FRACTION.sub(_mixed, plain)


class ClockTime(NamedTuple):
    """A time of day as it is written."""

    hour: int
    """0 to 23."""
    minute: int
    half_said: bool
    """Whether it says the half of the day in words: `3:30 a.m.`, 下午三点."""
    bare: bool
    """Whether it may be of a 12-hour clock without saying which half: `3:30`, but not `03:30` or `15:30`."""

    def may_be(self, other: ClockTime) -> bool:
        """Return whether both can be the same time."""
        if (self.half_said and other.bare) or (self.bare and other.half_said):
            return (self.hour % 12, self.minute) == (other.hour % 12, other.minute)
        return self[:2] == other[:2]


def clock_times(text: str) -> tuple[list[ClockTime], str]:
    """Return the times of day of a text, and the text without them."""
    found = [(match, _time_of(match)) for match in _CLOCK.finditer(text)]
    times = [time for _, time in found if time is not None]
    rest = text
    for match, time in reversed(found):
        if time is not None:
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    return times, rest


def _time_of(match: re.Match[str]) -> ClockTime | None:
    """Return the time that a match writes; None where there is no such time."""
    written = match["hour"] or match["hour2"] or match["hour3"]
    hour = read_numeral(written)
    minute = 30 if match["half"] else read_numeral(match["minute"] or match["minute3"] or "0")
    part = (match["period"] or match["period2"] or match["mark"] or match["mark2"] or "").casefold()
    if hour is None or minute is None or hour > 24 or minute > 59:
        return None
    bare = not part and hour <= 12 and not written.startswith("0")
    if part in _AFTERNOON and hour < 12:
        hour += 12
    elif part in _MORNING and hour == 12:
        hour = 0
    return ClockTime(hour % 24, minute, bool(part), bare)


@cache
def _chinese_half() -> re.Pattern[str]:
    """Return the pattern of 半 before a Chinese unit of more than one character: 半年报 is no half."""
    units = either(word for word in unit_words() if len(word) > 1 and word[0] > "一")
    return re.compile(rf"(?:(\d+|[{CHINESE_NUMERAL}]{{1,3}})个)?半(?={units})")


def _number_and_a_half(match: re.Match[str]) -> str:
    """Return the decimal of `two and a half`, 两个半 or 半; the text as it is where no number stands before."""
    if match[1] is None:
        return "0.5"
    number = read_numeral(match[1])
    return match[0] if number is None else f"{number}.5"


def _mixed(match: re.Match[str]) -> str:
    whole, above, below = int(match[1] or 0), int(match[2]), int(match[3])
    return _decimal(match, whole * below + above, below)


def _decimal(match: re.Match[str], above: int | None, below: int | None) -> str:
    """Return a fraction as a decimal of four digits; the text as it is where it is no fraction."""
    return match[0] if above is None or not below else f"{above / below:.4g}"
