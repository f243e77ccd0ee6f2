"""The one reader of numbers: with scale, unit and currency, in English and Chinese, in running text or alone.

`2.5 bn users` is 2.5 x 1e9, `1万亿元` is 1e12 CNY, `五百` is 500, `$5m` is 5e6 USD. Words of scales and units are in
quantities.yaml; Chinese numerals are computed from their characters. Offsets are those of the text given. What is part
of a name or a code (`CL-018`, `B2B`, 第三) is no quantity.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from theworld.packages import either
from theworld.text.numerals import (
    CHINESE_DIGITS,
    CHINESE_NUMERAL,
    ENGLISH_NUMBERS,
    MYRIADS,
    quantity_table,
    read_numeral,
)
from theworld.text.tokens import fold_in_place


class Unit(NamedTuple):
    """What a number is counted in."""

    base: str
    """What can be compared: `CNY`, `%`, `s`, `m`, `B`; `1` for things counted."""
    factor: float
    """What one of it is in the base unit."""


class Quantity(NamedTuple):
    """A number as written, text[start:end], and what it means."""

    start: int
    end: int
    number: int | float
    """As written: 5000 of `5000万元`."""
    scale: int
    """What scale words multiply it by: 10,000; 1 without."""
    unit: str
    """The unit's word or sign, folded; empty without."""

    @property
    def value(self) -> int | float:
        """Number times scale, in the unit as written."""
        product = round(self.number * self.scale, 6)
        return int(product) if self.scale > 1 and product == int(product) else product

    @property
    def of_money(self) -> bool:
        """Whether its unit is a currency."""
        return unit_of(self.unit).base in _currencies()

    def in_unit(self, unit: str) -> float | None:
        """Return the value in another unit (`万元`, `10k CNY`, `%`); None when the two cannot be compared.

        A bare number is taken to be in that unit already.
        """
        if not self.unit and self.scale == 1:
            return float(self.number)
        own, wanted = unit_of(self.unit), unit_of(unit)
        if own.base != wanted.base and (self.unit or wanted.base == "%"):
            return None
        return round(float(self.value) * own.factor / wanted.factor, 10)


def find_quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text by position; none overlap."""
    folded = fold_in_place(text)
    found = []
    for match in _running().finditer(folded):
        unit, scale = match["sign"] or match["unit"] or match["apart"] or "", 1
        if match["digits"] is None:
            written = match["words"] or match["chinese"]
            value: int | float = read_numeral(written) or 0
            scale = max((n for word, n in _big_scales().items() if word in written), default=1)
        else:
            word = match["en"] or (match["money"] or "").strip()
            first, *parts = _PARTS.findall(f"1{match['zh'] or ''}") or [("1", "")]
            scale = _scale(word or first[1])
            value = _exact(match["digits"].replace(",", ""), scale)
            value += sum(_exact(number, _scale(word)) for number, word in parts)
        number = value // scale if isinstance(value, int) and value % scale == 0 else value / scale
        found.append(Quantity(*match.span(), number, scale, unit))
    return found


def read_quantity(text: str, units: Iterable[str] = ()) -> Quantity | None:
    """Return the quantity that a text is, sign and exponent included; None when it is anything more.

    `1.2万` is 12000 and `$5` is 5 with unit `$`; `about 5`, `5-10`, and `1,5`, which can be read in two ways, are
    refused. `units` are further words that may stand beside the number.
    """
    plain = unicodedata.normalize("NFKC", text).strip()
    match = _ALONE.fullmatch(plain) if len(plain) <= _LONGEST else None
    digits = _plain_digits(match["number"].strip()) if match else None
    if match is None or digits is None:
        return None
    words = [fold_in_place(match[side].strip().rstrip(".")) for side in ("before", "after")]
    scale, words[1] = _leading_scale(words[1], money=unit_of(words[0]).base in _currencies())
    known = {*unit_words(), *units, ""}
    if any(word not in known and re.sub(r" (?:old|ago)$", "", word) not in known for word in words):
        return None
    sign = "-" if match["sign"] in _MINUS or match["sign2"] in _MINUS else ""
    number = _exact(f"{sign}{digits}{match['exponent'] or ''}", 1)
    return Quantity(0, len(text), number, scale, "".join(words))


def unit_of(word: str) -> Unit:
    """Return what the words of a unit mean: 万元 is 10,000 CNY; an unknown one is its own base."""
    folded = fold_in_place(unicodedata.normalize("NFKC", word)).strip()
    if folded in unit_words():
        return unit_words()[folded]
    counted = re.match(r"\d+", folded)
    rest = folded[counted.end() :].strip() if counted else folded
    scale, rest = _leading_scale(rest, money=True)
    if scale > 1 or counted:
        unit = unit_of(rest) if rest else Unit("1", 1.0)
        return unit._replace(factor=unit.factor * scale * (int(counted[0]) if counted else 1))
    return Unit(folded or "1", 1.0)


@cache
def unit_words() -> Mapping[str, Unit]:
    """Return every unit by its folded word."""
    found: dict[str, Unit] = {}
    for base, factors in quantity_table()["units"].items():
        for factor, words in factors.items():
            for word in (w for item in words for w in (item if isinstance(item, list) else [item])):
                found[fold_in_place(str(word))] = Unit(base, float(factor))
    return found


@cache
def _currencies() -> frozenset[str]:
    return frozenset(base for base in quantity_table()["units"] if re.fullmatch(r"[A-Z]{3}", base))


_LONGEST = 100
_MINUS = ("-", "−", "–")
_ALONE = re.compile(
    r"(?P<sign>[-+−–]?)\s*(?P<before>[^\d\s.,+−–-]{0,4})\s*(?P<sign2>[-−]?)"
    r"(?P<number>\d[\d,_ '’]*(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\.\d+)(?P<exponent>e[-+]?\d{1,3})?\s*"
    r"(?P<after>k?m2|\D{0,24})",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,3}(?:,\d{2})+,\d{3}|\d{1,3}(?:_\d{3})+|\d{1,3}(?:[ '’]\d{3})+")
_POINTS_GROUP = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
_CHINESE_SCALE = "[十百千万亿]+"
_PARTS = re.compile(rf"(\d+(?:\.\d+)?)({_CHINESE_SCALE})")
_NOT_APART = "a|b|d|in|t|w|x"
"""Units that are words or letters of other things when they stand apart from the number."""


@cache
def _running() -> re.Pattern[str]:
    """Return the pattern of a quantity within a folded text."""
    table, units = quantity_table(), unit_words()
    numbers, scales, unit = either(ENGLISH_NUMBERS), either(table["scales"]), either(units)
    currencies = [word for word in units if units[word].base in _currencies()]
    sign, currency = either([*(word for word in currencies if word[-1] < "一"), "百分之"]), either(currencies)
    money = either(table["scales_of_money"])
    digits = r"(?<![a-z0-9_.])(?<![a-z0-9_.]-)(?![12]\d\d0s(?![a-z]))(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)"
    chinese_scale = rf"(?P<zh>{_CHINESE_SCALE}(?:\d+{_CHINESE_SCALE})*)"
    english = rf"(?<![a-z])(?P<words>(?:{numbers})(?:[\s-](?:and\s)?(?:{numbers}|{scales}))*)"
    # One character alone is a number only before what is counted: 五个, but not the 一 of 一共. 两 always counts.
    long_units = either(word for word in units if len(word) > 1 and word[0] > "一")
    counted = rf"[个家笔名位件条项份台天年月元次]|{long_units}|(?<=两)(?:{either(w for w in units if w[0] > '一')})"
    chinese = rf"(?<![第{CHINESE_NUMERAL}])(?P<chinese>(?=[{CHINESE_DIGITS}两十廿卅])[{CHINESE_NUMERAL}]"
    chinese += rf"(?:[{CHINESE_NUMERAL}]+|(?={counted})))"
    return re.compile(
        rf"(?:(?P<sign>{sign})\s?)?(?:{digits}(?:\s?(?P<en>{scales})|\s?{chinese_scale}|"
        rf"(?P<money>(?(sign)\s?(?:{money})|\s?(?:{money})(?=\s?(?:{currency})))))?|{english}|{chinese})"
        rf"(?:(?P<unit>{unit})|[\s-](?!(?:{_NOT_APART})(?![a-z/²]))(?P<apart>{unit}))?(?![a-z0-9_])"
    )


def _scale(word: str) -> int:
    """Return what a scale word of either language multiplies by, 1 without a word."""
    table = quantity_table()
    return int(table["scales"].get(word) or table["scales_of_money"].get(word) or read_numeral(f"一{word}") or 1)


@cache
def _big_scales() -> Mapping[str, int]:
    return {**{word: n for word, n in quantity_table()["scales"].items() if n >= 1000 and len(word) > 2}, **MYRIADS}


def _leading_scale(words: str, *, money: bool) -> tuple[int, str]:
    """Return the scale that words of a unit begin with, and the rest of them."""
    if words in unit_words() and not (money and words in quantity_table()["scales_of_money"]):
        return 1, words
    table = quantity_table()
    scales = {**table["scales"], **(table["scales_of_money"] if money else {})}
    match = re.match(rf"{either(scales)}|{_CHINESE_SCALE}", words)
    return (_scale(match.group()), words[match.end() :].strip()) if match else (1, words)


def _plain_digits(number: str) -> str | None:
    """Return digits with a point and no separators; None where separators can be read in two ways."""
    if _POINTS_GROUP.fullmatch(number):
        return number.replace(".", "").replace(",", ".")
    whole, point, fraction = number.partition(".")
    if whole and not whole.isdigit():
        if not _GROUPED.fullmatch(whole):
            return None
        whole = re.sub(r"\D", "", whole)
    return f"{whole}{point}{fraction}"


def _exact(digits: str, scale: int) -> int | float:
    """Return digits times a scale without the errors of binary fractions."""
    exact = Decimal(digits) * scale
    return int(exact) if exact == exact.to_integral_value() and (scale > 1 or "." not in digits) else float(exact)
