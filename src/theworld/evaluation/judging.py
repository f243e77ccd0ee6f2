"""Whether an answer is right: by what it says, not by how it is written.

A gold answer is read as the first of these that it is:

1. yes or no: the answer has to begin with it;
2. times of day: each has to be named (`3:30 p.m.` is 15:30);
3. dates: the answer has to name each, to the day, month or year that the gold answer is written with, or finer;
4. amounts: the answer has to state each in a unit that can be compared, as exactly as the gold answer is written
   (`3.5 million` is anything that rounds to it); a unit that only one side names is taken to be meant by both;
5. a list (`A, B and C`): every item has to be there, in any order;
6. words: case, accents, script, articles and punctuation do not count. The answer may say more than the gold answer; a
   part of it will do where it is a name of which at least half is given, or the last part of a name written with ·. A
   short answer that says `not` before the words does not give them.

Both are first put in one notation (`notations`).

A short answer as a whole has to be the answer: further dates, amounts or items make it wrong, and it may not be many
times longer. A text only has to state it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

from theworld.evaluation.metrics import is_run
from theworld.packages import either
from theworld.text.dates import DateSpan, find_dates
from theworld.text.numerals import CHINESE_NUMERAL, read_numeral
from theworld.text.quantities import Quantity, find_quantities, unit_of, unit_words
from theworld.text.tokens import fold_in_place, function_words

T = TypeVar("T")
_POLARITY = {"yes": True, "no": False, "是": True, "是的": True, "对": True, "否": False, "不是": False, "不": False}
_WORD = re.compile(r"[一-鿿㐀-䶿]|[^\W_一-鿿㐀-䶿]+[+#]*")
_ITEMS = re.compile(r"\s*(?:[,，、;；]\s*(?:and\s|or\s)?|\s(?:and|&)\s|[和与及])\s*")
_INVERTED = re.compile(r"([^,，、;；]+), ([^,，、;；]+)")
"""`Tolkien, J. R. R.`"""
_NEGATIONS = (("not",), ("never",), ("不",), ("没",), ("没", "有"), ("未",), ("非",))
_ARTICLES = frozenset({"a", "an", "the"})
_RANGE = re.compile(r"(?<=\d)\s?[-–—~至到]\s?(?=\d)")
_MUCH_LONGER = 4
"""Times as many words as the gold answer that a short answer may have, and as many besides: `Zundert, a village in the
south of the Netherlands` is Zundert, three sentences are not."""


def is_right(shown: str, gold: Collection[str], *, short: bool) -> bool:
    """Return whether `shown` gives one of the gold answers: as a whole where it is a `short` answer, else within it."""
    return any(_gives(plainly(shown), plainly(one), short) for one in gold)


def _gives(shown: str, gold: str, short: bool) -> bool:
    """Return whether the answer gives one gold answer: the rules of the module's docstring in their order."""
    if gold.strip().casefold().rstrip(".。") in _POLARITY:
        return _polarity(shown) is _polarity(gold)
    times, rest = clock_times(gold)
    if times and function_words().issuperset(_words(rest)):
        return _are_named(times, clock_times(shown)[0], ClockTime.may_be, short)
    dates = [] if DECADE.search(gold) else find_dates(gold)
    if dates and not _words(_without(gold, dates)):
        named = [date for date in find_dates(shown) if not DECADE.fullmatch(shown[date.start : date.end])]
        right = _are_named(dates, named, _is_within, short)
        if right or not gold.strip().isdecimal():  # 1500 may be a year or a number
            return right
    stated, wanted = _RANGE.sub(" to ", shown), _RANGE.sub(" to ", gold)
    amounts = _states_amounts(stated, wanted, short)
    if amounts is not None:
        return amounts
    items = _items(gold)
    if len(items) > 1 and _words(shown) != _words(gold):
        held = all(_says_the_words(shown, item, short=False, part=False) for item in items)
        return held and not (short and len(_items(shown)) > len(items))
    given_name_first = _INVERTED.sub(r"\2 \1", shown.strip())
    return any(_says_the_words(one, gold, short=short, part=short) for one in {shown, given_name_first})


def _polarity(text: str) -> bool | None:
    """Return what a text begins with: yes is True, no is False, anything else None."""
    first = re.match(r"\W*([a-z]+|[一-鿿]{1,2})", text.casefold())
    word = first[1] if first else ""
    return _POLARITY.get(word, _POLARITY.get(word[:1]))


def _are_named(wanted: Sequence[T], named: Sequence[T], fits: Callable[[T, T], bool], short: bool) -> bool:
    """Return whether each wanted value is among those named, and in a short answer no further one."""
    return all(any(fits(one, each) for one in named) for each in wanted) and not (short and len(named) > len(wanted))


def _is_within(date: DateSpan, wanted: DateSpan) -> bool:
    """Return whether a date is the wanted one, or a part of it."""
    return all(given == asked for given, asked in zip(date.moment, wanted.moment, strict=True) if asked)


def _states_amounts(shown: str, gold: str, short: bool) -> bool | None:
    """Return whether the amounts are stated; None unless the gold answer begins with one and says little more."""
    wanted, stated = find_quantities(gold), find_quantities(shown)
    beside, other = _words(_without(gold, wanted)), _words(_without(shown, stated))
    if not wanted or _words(gold[: wanted[0].start]) or len(beside) > 2 * len(wanted):
        return None
    apart = short and beside and other and set(beside).isdisjoint(other)  # five apples are not five pears
    alike = not apart or any(amount.unit for amount in (*wanted, *stated))
    return alike and _are_named(wanted, stated, partial(_is_amount_of, shown, gold), short)


def _is_amount_of(shown: str, gold: str, one: Quantity, wanted: Quantity) -> bool:
    if _is_negative(shown, one) != _is_negative(gold, wanted):
        return False
    if (unit_of(one.unit).base == "%") != (unit_of(wanted.unit).base == "%") and (wanted.unit or one.unit == "%"):
        return False
    if not wanted.unit:
        return _is_near(float(one.value), wanted)
    given = one.in_unit(wanted.unit) if one.unit or one.scale == 1 else float(one.value)
    return given is not None and _is_near(given, wanted)


def _is_near(given: float, wanted: Quantity) -> bool:
    """Return whether a number rounds to the wanted one as that is written; whole numbers without a scale are exact."""
    exponent = Decimal(str(wanted.number)).as_tuple().exponent
    places = -exponent if isinstance(exponent, int) and isinstance(wanted.number, float) else 0
    half = 0.5 * 10.0**-places * wanted.scale if places or wanted.scale > 1 else 0.0
    return abs(given - float(wanted.value)) <= half + 1e-9 * abs(float(wanted.value))


def _is_negative(text: str, amount: Quantity) -> bool:
    return re.search(r"(?:^|[\s(])[-−]\s?$", text[: amount.start]) is not None


def _items(gold: str) -> list[str]:
    return [item for item in _ITEMS.split(gold.strip()) if _words(item)]


def _says_the_words(shown: str, gold: str, *, short: bool, part: bool) -> bool:
    """Return whether the gold words stand in the answer one after the other, or with `part` half of a name alone."""
    said, wanted = _words(shown), _words(gold)
    if not wanted or not said:
        return said == wanted
    if is_run(wanted, said):
        starts = [i for i in range(len(said) - len(wanted) + 1) if said[i : i + len(wanted)] == wanted]
        denied = all(any(said[:i][-len(no) :] == no for no in _NEGATIONS) for i in starts)  # right before, each time
        return not short or (len(said) <= _MUCH_LONGER * (len(wanted) + 1) and not denied)
    if not part or not is_run(said, wanted):
        return False
    if not said[-1].isascii():
        if "·" in gold:
            return said == _words(gold.rpartition("·")[2])
        return 2 * len(said) > len(wanted)
    letters = [word for word in re.findall(r"[^\W\d_]+", gold) if word.casefold() not in function_words()]
    return 2 * len(said) >= len(wanted) and all(word[0].isupper() for word in letters)


_CHINESE_NUMBER = re.compile(rf"(?<=第)[{CHINESE_NUMERAL}]+|[{CHINESE_NUMERAL}]{{2,}}")
_INITIALS = re.compile(r"\b[a-z](?:\.\s?[a-z])+\b\.?")
"""`J. R. R.` and `U.S.`"""
_LETTERS = str.maketrans("łøđı", "lodi")
"""Letters that are no letter with an accent to Unicode."""


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Return the folded words: numerals as digits, letters of an abbreviation together, no articles."""
    plain = "".join(c for c in unicodedata.normalize("NFD", fold_in_place(text)) if not unicodedata.combining(c))
    plain = unicodedata.normalize("NFC", plain.translate(_LETTERS))
    plain = _CHINESE_NUMBER.sub(lambda match: f" {read_numeral(match.group()) or match.group()} ", plain)
    joined = _INITIALS.sub(lambda match: re.sub(r"[.\s]", "", match.group()) + " ", plain)
    words = [match.group() for match in _WORD.finditer(joined) if match.group() not in _ARTICLES]
    numbers = [read_numeral(word) if word.isascii() else None for word in words]
    return tuple(word if number is None else str(number) for word, number in zip(words, numbers, strict=True))


def _without(text: str, spans: Sequence[DateSpan | Quantity]) -> str:
    for span in sorted(spans, key=lambda one: -one.start):
        text = f"{text[: span.start]} {text[span.end :]}"
    return text


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
_CHINESE_UNITS = either(word for word in unit_words() if len(word) > 1 and word[0] > "一")
_CHINESE_HALF = re.compile(rf"(?:(\d+|[{CHINESE_NUMERAL}]{{1,3}})个)?半(?={_CHINESE_UNITS})")
"""半 before a unit of more than one character: 半年报 is no half."""
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
    plain = _CHINESE_HALF.sub(_number_and_a_half, plain)
    plain = _CHINESE_PART.sub(lambda match: _decimal(match, read_numeral(match[2]), read_numeral(match[1])), plain)
    plain = _PART.sub(lambda match: _decimal(match, read_numeral(match[1]) or 1, _PARTS[match[2].casefold()]), plain)
    return _FRACTION.sub(
        lambda match: _decimal(match, int(match[1] or 0) * int(match[3]) + int(match[2]), int(match[3])), plain
    )


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
    times = []
    rest, end = "", 0
    for match in _CLOCK.finditer(text):
        written = match["hour"] or match["hour2"] or match["hour3"]
        hour = read_numeral(written)
        minute = 30 if match["half"] else read_numeral(match["minute"] or match["minute3"] or "0")
        part = (match["period"] or match["period2"] or match["mark"] or match["mark2"] or "").casefold()
        if hour is None or minute is None or hour > 24 or minute > 59:
            continue  # there is no such time
        bare = not part and hour <= 12 and not written.startswith("0")
        if part in _AFTERNOON and hour < 12:
            hour += 12
        elif part in _MORNING and hour == 12:
            hour = 0
        times.append(ClockTime(hour % 24, minute, bool(part), bare))
        rest += f"{text[end : match.start()]} "
        end = match.end()
    return times, rest + text[end:]


def _number_and_a_half(match: re.Match[str]) -> str:
    """Return the decimal of `two and a half`, 两个半 or 半; the text as it is where no number stands before."""
    if match[1] is None:
        return "0.5"
    number = read_numeral(match[1])
    return match[0] if number is None else f"{number}.5"


def _decimal(match: re.Match[str], above: int | None, below: int | None) -> str:
    """Return a fraction as a decimal of four digits; the text as it is where it is no fraction."""
    return match[0] if above is None or not below else f"{above / below:.4g}"
