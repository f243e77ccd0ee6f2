"""Quantities in running text: every unit, how exactly a number is meant, and any text at all."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.nodes.answer_with_entity.values.quantities import BARE, find_quantities

UNITS = {
    "km": ("length", 1000.0),
    "miles": ("length", 1609.344),
    "feet": ("length", 0.3048),
    "square kilometres": ("area", 1e6),
    "sq mi": ("area", 2589988.110336),
    "inhabitants": ("people", 1.0),
    "minutes": ("time", 1.0),
    "公里": ("length", 1000.0),
    "公尺": ("length", 1.0),
    "平方公里": ("area", 1e6),
    "公頃": ("area", 1e4),
    "岁": ("years", 1.0),
    "人": ("people", 1.0),
    "噸": ("mass", 1000.0),
}


@pytest.mark.parametrize(
    ("text", "low", "high", "dimension"),
    [
        ("It is 8,849 metres high.", 8849, 8849, "length"),
        ("an 8,849-metre peak", 8849, 8849, "length"),
        ("He is 6 ft 2 in tall.", 1.8796, 1.8796, "length"),
        ("It lasts 2 hours and 5 minutes.", 125, 125, "time"),
        ("片长1小时30分钟", 90, 90, "time"),
        ("between 100 and 200 km", 100_000, 200_000, "length"),
        ("100–200 m", 100, 200, "length"),
        ("20至30公里", 20_000, 30_000, "length"),
        ("It has 12 arches and 300 m of road.", 300, 300, "length"),
        ("over 6,000 km", 6e6, math.inf, "length"),
        ("6300余公里", 6.3e6, math.inf, "length"),
        ("不到500米", 0, 500, "length"),
        ("about 100 m", 98, 102, "length"),
        ("约100米", 98, 102, "length"),
        ("1.4 billion people", 1.4e9, 1.4e9, "people"),
        ("人口14亿1178万人", 1_411_780_000, 1_411_780_000, "people"),
        ("一万二千三百米", 12_300, 12_300, "length"),
        ("三千万人", 3e7, 3e7, "people"),
        ("五百六十平方公里", 5.6e8, 5.6e8, "area"),
        ("five miles", 8046.72, 8046.72, "length"),
        ("600年的历史", 600, 600, "years"),
        ("1,234,567 in all", 1_234_567, 1_234_567, BARE),
    ],
)
def test_what_is_meant(text: str, low: float, high: float, dimension: str) -> None:
    found = find_quantities(text)[-1]
    assert (found.low, found.high, found.dimension) == (pytest.approx(low), pytest.approx(high), dimension)


@pytest.mark.parametrize("text", ["It cost $5 m.", "A4 m", "version 1.2.3", "", "no number at all"])
def test_what_is_no_length(text: str) -> None:
    assert not [quantity for quantity in find_quantities(text) if quantity.dimension == "length"]


@given(
    st.floats(min_value=0.01, max_value=1e9).map(lambda value: round(value, 2)),
    st.sampled_from(sorted(UNITS)),
    st.booleans(),
)
def test_a_written_number_with_a_unit_is_read_back(value: float, unit: str, grouped: bool) -> None:
    written = f"{value:,.2f}" if grouped else f"{value:.2f}"
    gap = " " if unit[0].isascii() else ""
    text = f"x {written}{gap}{unit}."
    (found,) = find_quantities(text)
    dimension, factor = UNITS[unit]
    assert found.dimension == dimension
    assert found.low == found.high == pytest.approx(value * factor)
    assert text[found.start : found.end] == f"{written}{gap}{unit}"


DIGITS = "零一二三四五六七八九"


def numeral(number: int) -> str:
    """Write 1 to 9999 as Chinese does."""
    written, skipped = "", False
    for power, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // power % 10
        if digit:
            written += ("零" if skipped and written else "") + DIGITS[digit] + unit
        skipped = digit == 0
    return written


@given(st.integers(1, 9999), st.integers(0, 9999))
def test_chinese_numerals_are_read_back(myriads: int, rest: int) -> None:
    text = f"{numeral(myriads)}万{('零' if rest < 1000 else '') + numeral(rest) if rest else ''}米"
    (found,) = find_quantities(text)
    assert found.low == myriads * 10_000 + rest


@given(
    st.text(alphabet=st.sampled_from("0123456789,.-–万亿百千十一二三约超过 kmftinand米年人to至余"), max_size=40)
    | st.text(max_size=60)
)
def test_any_text_gives_spans_in_order(text: str) -> None:
    found = find_quantities(text)
    end = 0
    for quantity in found:
        assert end <= quantity.start < quantity.end <= len(text)
        assert 0 <= quantity.low <= quantity.high
        assert not math.isnan(quantity.low)
        end = quantity.end
