"""Dates in text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.text.dates import find_dates

CASES = yaml.safe_load((Path(__file__).parent / "data" / "dates.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_dates(text: str, expected: list[list[int]]) -> None:
    assert [list(date.moment) for date in find_dates(text)] == expected


@given(st.text(max_size=200))
def test_spans_are_inside_and_do_not_overlap(text: str) -> None:
    end = 0
    for date in find_dates(text):
        assert end <= date.start < date.end <= len(text)
        end = date.end
