"""Quantities by a table, numerals there and back, units converted, and texts that must not break the reader."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.text.numerals import CHINESE_NUMERAL, read_numeral
from theworld.text.quantities import find_quantities, read_quantity, unit_of, unit_words

TABLE = yaml.load((Path(__file__).parent / "data" / "quantities.yaml").read_text("utf-8"), Loader=yaml.BaseLoader)


@pytest.mark.parametrize(("text", "expected"), [(text, [e for e in found if e]) for text, *found in TABLE])
def test_quantities(text, expected):
    assert [f"{q.value:.15g} {q.unit}".strip() for q in find_quantities(text)] == expected


def test_scales_decide_which_is_more():
    (acme,) = find_quantities("Acme has 2.5 bn users")
    (bolt,) = find_quantities("Bolt has 300 million users")
    assert acme.in_unit("users") > bolt.in_unit("users")


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("26", 26), ("廿六", 26), ("一九四五", 1945), ("一百二十三", 123), ("三千万", 30_000_000), ("一万亿", 10**12),
        ("两亿零五万", 200_050_000), ("十", 10), ("元", 1), ("twenty-five", 25), ("two hundred and six", 206),
        ("three million", 3_000_000), ("some", None), ("三个", None), ("", None),
    ],
)  # fmt: skip
def test_numerals(written, number):
    assert read_numeral(written) == number


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("5000万元", "亿元", 0.5), ("2 million CNY", "10k CNY", 200), ("5", "kg", 5), ("5 kg", "g", 5000),
        ("1.5 h", "分钟", 90), ("2 GiB", "MiB", 2048), ("20%", "元", None), ("20 kg", "元", None),
        ("3 million", "元", 3e6), ("2年", "个月", 24), ("300 million", "%", None),
    ],
)  # fmt: skip
def test_units_are_converted_where_they_can_be_compared(text, unit, number):
    (quantity,) = find_quantities(text)
    assert quantity.in_unit(unit) == number


def test_a_unit_with_its_scale():
    assert [unit_of(unit) for unit in ("万元", "10k CNY", "亿元", "%", "")] == [
        ("CNY", 1e4), ("CNY", 1e4), ("CNY", 1e8), ("%", 1), ("1", 1),
    ]  # fmt: skip


@given(st.integers(0, 10**15))
def test_chinese_numerals_are_read_as_they_are_written(number):
    assert read_numeral(_written(number)) == number


def _written(number: int) -> str:
    """Write a number out in Chinese characters."""
    if number < 10:
        return "零一二三四五六七八九"[number]
    for size, name in ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百"), (10, "十")):
        if number >= size:
            rest = number % size
            gap = "零" if 0 < rest < size // 10 else ""
            return _written(number // size) + name + (gap + _written(rest) if rest else "")
    raise AssertionError


@given(st.integers(0, 10**12), st.sampled_from(sorted(unit_words())))
def test_a_number_alone_is_read_whole_with_its_unit(number, unit):
    found = read_quantity(f"{number:,} {unit}")
    assert found is not None
    assert (found.value, unit_of(found.unit)) == (number, unit_of(unit))


@given(st.text(f"0123456789.,%-$ kmbnst{CHINESE_NUMERAL}元个million hundred", max_size=40))
def test_any_text_gives_quantities_in_place(text):
    found = find_quantities(text)
    assert all(0 <= q.start < q.end <= len(text) for q in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    read_quantity(text)
