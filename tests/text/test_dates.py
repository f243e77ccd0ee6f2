"""Dates in text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.text.dates import find_dates, find_days

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


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on the 1st of May or May 22nd", [(5, 1, 7), (5, 22, 21)]),
        ("22 Nov, Sept. 3", [(11, 22, 0), (9, 3, 8)]),
        ("十月 10月5日 值班，2025 年 1 月 2 号", [(10, 5, 3), (1, 2, 19)]),
        ("2025-10-15 13:00, 2025/1/9", [(10, 15, 0), (1, 9, 18)]),
        ("[14/09/2025, 17:36] and 03.10.24", [(9, 14, 1), (3, 10, 24), (10, 3, 24)]),
        ("v1.2.3, 10.0.13.40, March 2025, 45 May, 13月2日, 3/10", []),
    ],
)
def test_days_with_or_without_a_year(text: str, days: list[tuple[int, int, int]]) -> None:
    assert sorted(find_days(text)) == sorted(days)
