"""What quantities measure: the words beside which a value states a length, a population, a price, ..."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.errors import SettingsError
from theworld.nodes.answer_with_entity.values.dates import find_dates
from theworld.nodes.answer_with_entity.values.quantities import BARE, Quantity, find_quantities

REACH = 30
"""Characters between a value and the word that says what it measures."""


@dataclass(frozen=True, slots=True)
class Measure:
    """An entry of measures.yaml."""

    dimension: str | None
    """Of its quantities; None when only `value` finds them."""
    cues: re.Pattern[str]
    bare: re.Pattern[str] | None
    value: re.Pattern[str] | None
    beside: bool = False
    """Whether `value` states it only in a sentence with one of the cues."""

    def values(self, sentence: str) -> set[tuple[int, int]]:
        """Return where `value` states it."""
        if self.value is None or (self.beside and not self.cues.search(sentence)):
            return set()
        return {match.span() for match in self.value.finditer(sentence)}


@dataclass(frozen=True, slots=True)
class AskedMeasure:
    """What a question compares by."""

    measures: tuple[str, ...]
    """Names of measures.yaml; of several, all for which both values are stated must agree."""
    less: bool


@dataclass(frozen=True, slots=True)
class MeasureTable:
    """measures.yaml with its patterns compiled."""

    measures: Mapping[str, Measure]
    asked: tuple[tuple[re.Pattern[str], AskedMeasure], ...]
    """Of comparisons."""
    amounts: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    """Of questions for one amount."""


@cache
def measure_table() -> MeasureTable:
    """Return the table. Raises SettingsError naming an entry that is not usable."""
    file = resources.files("theworld.nodes.answer_with_entity.values").joinpath("measures.yaml")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    try:
        measures = {
            entry["name"]: Measure(
                entry.get("dimension"),
                re.compile(entry["cues"], re.IGNORECASE),
                _optional(entry, "bare"),
                _optional(entry, "value"),
                bool(entry.get("beside")),
            )
            for entry in content["measures"]
        }
        asked = tuple(
            (
                re.compile(entry["pattern"].replace("MORE", content["more"]), re.IGNORECASE),
                AskedMeasure(tuple(name for name in entry["measures"] if measures[name]), entry["less"]),
            )
            for entry in content["asked"]
        )
        amounts = tuple(
            (re.compile(entry["pattern"], re.IGNORECASE), tuple(name for name in entry["measures"] if measures[name]))
            for entry in content["amounts"]
        )
    except (KeyError, TypeError, re.error) as error:
        raise SettingsError(f"an entry is not usable: {error!r}.", where="measures.yaml") from error
    return MeasureTable(measures, asked, amounts)


def _optional(entry: Mapping[str, str], name: str) -> re.Pattern[str] | None:
    return re.compile(entry[name], re.IGNORECASE) if name in entry else None


def values_in(sentence: str, measure: str) -> Iterator[Quantity]:
    """Yield the quantities of a sentence that state a measure: no word of another stands nearer to them."""
    asked = measure_table().measures[measure]
    for quantity in find_quantities(sentence):
        if quantity.dimension == asked.dimension:
            gaps = gaps_of(sentence, quantity)
            if gaps[measure] <= REACH and gaps[measure] == min(gaps.values()):
                yield quantity
    if asked.bare:
        yield from _bare_values(sentence, asked.bare)


def _bare_values(sentence: str, cue: re.Pattern[str]) -> Iterator[Quantity]:
    """Yield the first number behind each cue that is neither a date nor has a unit: "population (2010) of 5,000"."""
    dates = [(date.start, date.end) for date in find_dates(sentence)]
    numbers = [
        quantity
        for quantity in find_quantities(sentence)
        if not any(start <= quantity.start and quantity.end <= end for start, end in dates)
    ]
    for match in cue.finditer(sentence):
        following = next((number for number in numbers if number.start >= match.end()), None)
        if following and following.dimension == BARE and following.start - match.end() <= REACH:
            yield following


def gaps_of(sentence: str, quantity: Quantity) -> dict[str, int]:
    """Return how far a quantity stands from the nearest word of every measure of its dimension."""
    return {
        name: min((_gap(quantity, match.span()) for match in one.cues.finditer(sentence)), default=REACH + 1)
        for name, one in measure_table().measures.items()
        if one.dimension == quantity.dimension
    }


def _gap(quantity: Quantity, span: tuple[int, int]) -> int:
    return max(span[0] - quantity.end, quantity.start - span[1], 0)
