"""Notations put in one way, and times of day."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.evaluation.notations import clock_times, plainly


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("half a mile", "0.5 mile"),
        ("two and a half hours", "2.5 hours"),
        ("半小时", "0.5小时"),
        ("两个半小时", "2.5小时"),
        ("半导体", "半导体"),
        ("3/4 cup", "0.75 cup"),
        ("1½ cups", "1.5 cups"),
        ("1/2/2020", "1/2/2020"),
        ("1/0", "1/0"),
        ("三分之二", "0.6667"),
        ("百分之八十", "百分之八十"),
        ("two thirds of it", "0.6667 of it"),
        ("a third party", "a third party"),
        ("v2.1", "2.1"),
        ("20世纪90年代", "1990s"),
        ("1990's", "1990s"),
    ],
)
def test_one_notation(written: str, plain: str) -> None:
    assert plainly(written) == plain


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3:30 p.m.", "15:30", True),
        ("下午三点半", "15:30", True),
        ("3 pm", "15:00", True),
        ("3:30", "3:30 pm", True),
        ("12:05 am", "00:05", True),
        ("晚上八点", "20:00", True),
        ("03:30", "3:30 pm", False),
        ("3:30", "15:30", False),
        ("3:30 am", "15:30", False),
    ],
)
def test_times_of_day(one: str, other: str, same: bool) -> None:
    ((first,), _), ((second,), _) = clock_times(one), clock_times(other)
    assert first.may_be(second) == second.may_be(first) == same


@pytest.mark.parametrize("text", ["25:10", "a ratio of 1.2:1", "10:20:30", "百分点"])
def test_what_is_no_time(text: str) -> None:
    assert clock_times(text) == ([], text)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    clock_times(plainly(text))
