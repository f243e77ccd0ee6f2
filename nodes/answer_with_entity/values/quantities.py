"""Quantities in running text: a number, its unit, and how exactly it is meant, in English and Chinese."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from theworld.errors import SettingsError

TOLERANCE = 0.02
"""By how much of itself a quantity may differ that is said to be "about" so much."""
BARE = "number"
"""The dimension of a number without a unit."""
_MYRIAD = 10_000
"""Chinese numerals multiply all before a unit of this size, smaller units only the digit before them."""
_SIDE = 16
"""Characters beside a number in which a word says how exact it is."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity and where it stands: text[start:end] is number and unit."""

    low: float
    """Least value meant, in the base unit of the dimension; `high` is the greatest, inf for "more than"."""
    high: float
    dimension: str
    start: int
    end: int

    @property
    def stated(self) -> float:
        """The value as written: the bound of "more than" and "less than", the middle of a range."""
        if math.isinf(self.high):
            return self.low
        return self.high if self.low == 0 else (self.low + self.high) / 2

    def compared(self, other: Quantity) -> int:
        """Return 1 when it is greater, -1 when it is less, 0 when they may be equal."""
        return int(self.low > other.high) - int(other.low > self.high)


@dataclass(frozen=True, slots=True)
class _Unit:
    dimension: str
    factor: float
    after: bool


@dataclass(frozen=True, slots=True)
class _Table:
    units: Mapping[str, _Unit]
    scales: Mapping[str, float]
    digits: Mapping[str, float]
    exactness: Mapping[str, Mapping[str, tuple[str, ...]]]
    """`about`, `nearly`, `more`, `less` -> `before`, `after` -> words."""
    pattern: re.Pattern[str]


@cache
def _table() -> _Table:
    file = resources.files("theworld.nodes.answer_with_entity.values").joinpath("quantities.yaml")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    try:
        units = {word: unit for entry in content["units"] for word, unit in _forms(entry)}
        scales, digits = content["scales"], content["digits"]
        exactness = {
            kind: {side: tuple(sorted(content[kind][side], key=len, reverse=True)) for side in ("before", "after")}
            for kind in ("about", "nearly", "more", "less")
        }
    except (KeyError, TypeError) as error:
        raise SettingsError(f"an entry is not usable: {error!r}.", where="quantities.yaml") from error
    return _Table(units, scales, digits, exactness, _pattern(units, scales, digits))


def _forms(entry: Mapping[str, Any]) -> list[tuple[str, _Unit]]:
    unit = _Unit(entry["dimension"], float(entry["factor"]), bool(entry.get("after")))
    words = [(word, unit) for word in entry["words"]]
    return words + [(f"{word}s", unit) for word in entry["words"] if len(word) > 2 and word[-1:].isascii()]


def _pattern(units: Mapping[str, _Unit], scales: Mapping[str, float], digits: Mapping[str, float]) -> re.Pattern[str]:
    """Return number, further number of a range, unit; a Latin word ends where its letters end."""
    latin = _any(word for word in units if word[0].isascii())
    chinese = _any(word for word in units if not word[0].isascii())
    scale_en, scale_zh = _any(w for w in scales if w.isascii()), "".join(w for w in scales if not w.isascii())
    word_en, digit_zh = _any(w for w in digits if w.isascii()), "".join(w for w in digits if not w.isascii())
    arabic = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    number = (
        rf"(?:{arabic}(?:[\s-]?(?:{scale_en})\b)?(?:[{scale_zh}]+(?:{arabic}[{scale_zh}]+)*)?|"
        rf"\b(?:{word_en})\b(?:[\s-](?:{scale_en})\b)?|[{digit_zh}十][{digit_zh}{scale_zh}]*)"
    )
    return re.compile(
        rf"(?<![\d.,$€£¥+-])(?<![A-Za-z])(?:(?P<from>{number})\s?(?P<to>[-–—~～至到]|to|and)\s?)?(?P<number>{number})"
        rf"(?P<more>[多余餘])?(?:(?:\s|-|\u00a0)?(?P<latin>{latin})(?![A-Za-z0-9²³^])|\s?(?P<chinese>{chinese}))?",
        re.IGNORECASE,
    )


def _any(words: Any) -> str:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"[\s.-]{1,2}") for word in ordered)


def find_quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text by position; those without a unit have the dimension `BARE`.

    "100 to 200 m" is one with both ends; "6 ft 2 in" is one; "more than" and "over" leave the upper end open.
    """
    found: list[Quantity] = []
    for match in _table().pattern.finditer(text):
        unit, number = _unit_of(match), _read(match["number"])
        if number is None:
            continue
        last = found[-1] if found else None
        if unit and last and _continues(text, last, match, unit):
            more = number * unit.factor
            found[-1] = Quantity(last.low + more, last.high + more, unit.dimension, last.start, match.end())
        else:
            found.append(_quantity(text, match, number, None if unit and unit.after else unit))
    return found


@cache
def unit_dimensions() -> Mapping[str, str]:
    """Return the dimension of every unit by its Chinese words."""
    return {word: unit.dimension for word, unit in _table().units.items() if not word[0].isascii()}


def _begin(text: str, match: re.Match[str]) -> float | None:
    """Return the first number of a range; "and" makes one only after "between"."""
    if match["from"] is None:
        return None
    joined = match["to"].casefold() == "and" and not _ends_with(text[: match.start()].casefold().rstrip(), "between")
    return None if joined else _read(match["from"])


def _unit_of(match: re.Match[str]) -> _Unit | None:
    word = match["latin"] or match["chinese"]
    if not word:
        return None
    folded = re.sub(r"[\s.-]{1,2}", " ", word.casefold())
    units = _table().units
    return units.get(word) or units.get(folded) or units.get(word.casefold())


def _continues(text: str, last: Quantity, match: re.Match[str], unit: _Unit) -> bool:
    """Tell whether a quantity is the smaller part of the one before it: "2 hours 5 minutes"."""
    between = text[last.end : match.start()]
    smaller = last.dimension == unit.dimension and unit.factor < last.stated and last.low == last.high
    return smaller and re.fullmatch(r"[\s,]{0,2}(?:and\s)?", between) is not None


def _quantity(text: str, match: re.Match[str], number: float, unit: _Unit | None) -> Quantity:
    factor, dimension = (unit.factor, unit.dimension) if unit else (1.0, BARE)
    end = match.end() if unit else max(match.end("number"), match.end("more"))
    begin = _begin(text, match)
    if begin is not None and begin < number:
        return Quantity(begin * factor, number * factor, dimension, match.start(), end)
    start = match.start("number")
    low, high = _bounds(number * factor, text[:start], text[end:], more=bool(match["more"]))
    return Quantity(low, high, dimension, start, end)


def _bounds(value: float, before: str, after: str, *, more: bool) -> tuple[float, float]:
    lead, rest = before[-_SIDE:].casefold().rstrip(), after[:_SIDE].casefold().lstrip()
    said = {
        kind
        for kind, sides in _table().exactness.items()
        if any(_ends_with(lead, word) for word in sides["before"]) or rest.startswith(sides["after"])
    }
    if more or "more" in said:
        return value, math.inf
    if "less" in said:
        return 0.0, value
    if "nearly" in said:
        return value * (1 - TOLERANCE), value
    return (value * (1 - TOLERANCE), value * (1 + TOLERANCE)) if "about" in said else (value, value)


def _ends_with(lead: str, word: str) -> bool:
    """Tell whether a text ends with a word, a Latin one not inside another."""
    before = lead[: -len(word)][-1:]
    return lead.endswith(word) and not (word[0].isascii() and before.isascii() and before.isalpha())


def _read(written: str) -> float | None:
    """Return the number written with digits, English words or Chinese numerals; None when it is no number."""
    table = _table()
    plain = written.casefold().replace(",", "")
    match = re.match(r"\d+(?:\.\d+)?|[a-z]+", plain)
    if match and plain[match.end() :].strip(" -").isascii():
        value = table.digits[match.group()] if match.group()[0].isalpha() else float(match.group())
        return _finite(value * table.scales.get(plain[match.end() :].strip(" -"), 1.0))
    return _finite(_chinese(plain))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _chinese(numeral: str) -> float:
    """Return what a numeral like 14亿1178万, 一万二千三百 or 二〇〇 stands for."""
    table = _table()
    whole = part = digits = 0.0
    spelled = False
    for piece in re.findall(r"\d+(?:\.\d+)?|\D", numeral):
        if piece[0].isdecimal():
            digits, spelled = float(piece), True
        elif piece in table.digits:
            digits, spelled = digits * 10 + table.digits[piece], True
        else:
            scale = table.scales[piece]
            section = part + digits
            if scale < _MYRIAD:
                part += (digits if spelled else 1.0) * scale
            elif whole < scale:
                whole, part = ((whole + section) or 1.0) * scale, 0.0
            else:
                whole, part = whole + section * scale, 0.0
            digits, spelled = 0.0, False
    return whole + part + digits
