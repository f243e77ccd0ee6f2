"""What a Chinese question counts, and which numbers of a text count it: 几座 is not answered by 7月, 120米 or DW-60."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.nodes.answer_with_entity.values.quantities import unit_dimensions
from theworld.text.folding import simplified

ANY_UNIT = "个"
_ASKS = re.compile(r"(?:多少|几)[十百千万亿]?")
_NUMERAL = re.compile(r"[\d,.零〇一二三四五六七八九十百千两万亿]+(?:[至到~～–-][\d,.]+)?[多余来]?\s?")
_ONE = re.compile(r"[一1](?![零〇一二三四五六七八九十百千万亿\d,.])")
_ARTICLE = re.compile(r"(?:[是为成]了?|作为|[的之有另某同每])$")
"""Before 一 and a measure word they count nothing: 是一家公司."""
_DATED = re.compile(r"\s?(?:年代|世纪|月|[日号](?![本线]))")
_ORDINAL_OR_MODEL = re.compile(r"第$|[A-Za-z][-–]?$|[-–]$")
_YEAR = re.compile(r"[12]\d{3}\s?年|[一二][〇零一二三四五六七八九]{3}年")


@dataclass(frozen=True, slots=True)
class Counted:
    """What the numbers must be of that answer a question."""

    unit: str = ""
    """The unit or measure word behind 多少 or 几, simplified; empty where there is none."""
    ordinal: bool = False
    """Whether a place in an order is asked for: 第几."""

    def fits(self, text: str, start: int, end: int) -> bool:
        """Tell whether the number text[start:end], with its unit or before it, may be what is counted."""
        before, number, behind = text[max(0, start - 3) : start], text[start:end], text[end : end + 4]
        number, behind = simplified(number), simplified(behind)
        if (_ORDINAL_OR_MODEL.search(before) and not self.ordinal) or _DATED.match(behind) or number.endswith("月"):
            return False
        if _YEAR.match(number + behind) or (_ONE.match(number) and _ARTICLE.search(simplified(before))):
            return False
        written = _NUMERAL.match(number + behind)
        own = _unit_of((number + behind)[written.end() :]) if written else ""
        return not self.unit or _same(own, self.unit)

    def whole(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return the number with its physical unit, and with what makes it a place in an order where one is asked for:
        1731克, 第四位."""
        unit = _unit_of(simplified(text[end : end + 4]))
        measured = unit in unit_dimensions() and not _unit_of(simplified(text[end - 1 : end]))
        return start - (self.ordinal and text[:start].endswith("第")), end + (len(unit) if measured else 0)


def asked_count(question: str) -> Counted:
    """Return what a Chinese question counts; anything where it has no 多少 or 几."""
    plain = simplified(question)
    match = _ASKS.search(plain)
    if match is None:
        return Counted()
    return Counted(_unit_of(plain[match.end() :]), ordinal=plain[: match.start()].endswith("第"))


def _same(own: str, asked: str) -> bool:
    """Tell whether a number of one unit answers a question for the other; a bare one is of no physical unit."""
    dimensions = unit_dimensions()
    if not own or own == asked:
        return bool(own) or asked not in dimensions
    if asked in dimensions or own in dimensions:
        return dimensions.get(own, own) == dimensions.get(asked, asked) or _rows_of(own, asked)
    return ANY_UNIT in {own, asked} or _rows_of(own, asked)


def _rows_of(own: str, asked: str) -> bool:
    rows = _rows()
    return not rows.get(own, frozenset()).isdisjoint(rows.get(asked, frozenset()))


def _unit_of(text: str) -> str:
    """Return the unit or measure word at the beginning of a text, the longest that fits, else an empty text."""
    return next((text[:length] for length in range(4, 0, -1) if text[:length] in _units()), "")


@cache
def _rows() -> Mapping[str, frozenset[int]]:
    file = resources.files("theworld.nodes.answer_with_entity.question").joinpath("counted.yaml")
    rows: list[str] = yaml.safe_load(file.read_text(encoding="utf-8"))["rows"]
    words = {word for row in rows for word in row.split()}
    return {word: frozenset(place for place, row in enumerate(rows) if word in row.split()) for word in words}


@cache
def _units() -> frozenset[str]:
    return frozenset({ANY_UNIT, *_rows(), *unit_dimensions()})
