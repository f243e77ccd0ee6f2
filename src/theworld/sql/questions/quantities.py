"""Numbers in questions: amounts with scale and unit ("5000万元", "2 million CNY"), and how many of a ranking."""

from __future__ import annotations

import re
from typing import NamedTuple

from theworld.sql.questions.lexicon import Meaning, Term, cues
from theworld.text.calendar_units import NUMBER_WORDS, read_number


class Quantity(NamedTuple):
    """A number as written."""

    number: float
    scale: float
    """What scale words multiply it by, 1 without."""
    unit: str
    """The unit's word, empty without."""


class Ranking(NamedTuple):
    """How many of the first or the last."""

    size: int
    highest: bool


_N = r"(?P<n>\d{1,3}|[一二两三四五六七八九十]{1,3})"
_COUNTED = r"(?:名|家|个|大|位|笔|项|条|份|起)?"
_NUMBERS = "|".join(word for word, n in NUMBER_WORDS.items() if n > 1 and " " not in word)
_N_EN = rf"(?P<n>\d{{1,3}}|{_NUMBERS})"


def _superlative(name: str, language: str) -> str:
    return "|".join(re.escape(w) for w in sorted(cues()["superlatives"][name][language], key=len, reverse=True))


def _patterns() -> list[tuple[re.Pattern[str], bool | None]]:
    found: list[tuple[re.Pattern[str], bool | None]] = [
        (re.compile(rf"(?:排名)?前\s*{_N}\s*{_COUNTED}的?"), None),
        (re.compile(rf"(?<![a-z])(?:the\s+)?top[\s-]+{_N_EN}(?![a-z0-9])"), None),
    ]
    for name, highest in (("highest", True), ("lowest", False)):
        zh, en = _superlative(name, "zh"), _superlative(name, "en")
        found.append((re.compile(rf"(?:{zh})的?\s*{_N}\s*(?:名|家|个|大|位|笔|项|条|份|起)"), highest))
        found.append((re.compile(rf"(?<![a-z])(?:the\s+)?{_N_EN}\s+(?:{en})(?![a-z])"), highest))
    return found


_RANKINGS = _patterns()
_SCALES = "|".join(re.escape(s) for s in sorted(cues()["scales"], key=len, reverse=True))
_UNITS = "|".join(re.escape(u) for u in sorted(cues()["units"], key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?<![\w.])(?P<n>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:(?P<unit1>万元|亿元)|"
    rf"\s*(?P<scale>{_SCALES})?\s*(?P<unit>{_UNITS})?)(?![\w])|(?P<n2>\d+(?:\.\d+)?)(?:(?P<unit2>万元|亿元)|"
    rf"(?P<scale2>亿|千万|百万|万|千)?(?P<unit3>元|人民币|%|天)?)"
)


def find_rankings(folded: str) -> list[Term]:
    """Return "top 5", "最高的3家", ... ; the meaning's value is a Ranking."""
    found = []
    for pattern, highest in _RANKINGS:
        for match in pattern.finditer(folded):
            ranking = Ranking(read_number(match["n"]), highest is not False)
            meaning = Meaning("top", "top" if highest is None else "superlative", ranking)
            found.append(Term(match.start(), match.end(), match.group(), (meaning,)))
    return found


def find_quantities(folded: str) -> list[Term]:
    """Return the amounts of a text; the meaning's value is a Quantity."""
    found = []
    for match in _AMOUNT.finditer(folded):
        g = match.groupdict()
        number = float((g["n"] or g["n2"]).replace(",", ""))
        scale = float(cues()["scales"].get(g["scale"] or g["scale2"] or "", 1))
        unit = g["unit1"] or g["unit2"] or g["unit"] or g["unit3"] or ""
        found.append(
            Term(match.start(), match.end(), match.group(), (Meaning("number", "", Quantity(number, scale, unit)),))
        )
    return found


def in_unit(quantity: Quantity, unit: str) -> float | None:
    """Return the number in an attribute's unit; None when the two cannot be compared.

    A bare number is taken to be in the attribute's own unit.
    """
    factors = cues()["units"]
    own = unit.casefold()
    if not quantity.unit and quantity.scale == 1:
        return quantity.number
    if own not in factors or (quantity.unit == "%") != (own == "%"):
        return quantity.number * quantity.scale if not quantity.unit and not own else None
    value = quantity.number * quantity.scale * float(factors.get(quantity.unit, 1))
    return round(value / float(factors[own]), 10)
