"""Periods named in questions, by a table; what precedes a period; and texts that must not break the reader."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.text.time_ranges import find_time_ranges

NOW = datetime(2025, 6, 12, 15, 0, tzinfo=ZoneInfo("Asia/Shanghai"))
TABLE = yaml.load((Path(__file__).parent / "data" / "time_ranges.yaml").read_text("utf-8"), Loader=yaml.BaseLoader)


def days(found):
    return f"{found.start and found.start.date()} .. {found.end and found.end.date()}"


@pytest.mark.parametrize(("text", "expected"), [(text, periods) for text, *periods in TABLE])
def test_periods(text, expected):
    found = find_time_ranges(text, NOW)
    assert [days(r) for r in found] == expected
    assert all(r.start is None or r.start.tzinfo is NOW.tzinfo for r in found)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("近30天", "2025-04-14 .. 2025-05-14"),
        ("last quarter", "2024-10-01 .. 2025-01-01"),
        ("2024年3月", "2024-02-01 .. 2024-03-01"),
        ("in 2024", "2023-01-01 .. 2024-01-01"),
        ("近三个月", "2024-12-13 .. 2025-03-13"),
    ],
)
def test_the_period_before(text, before):
    (found,) = find_time_ranges(text, NOW)
    assert days(found.before()) == before
    assert found.before().end == found.start


def test_the_same_period_a_year_before():
    (found,) = find_time_ranges("2024年2月", NOW)
    assert days(found.a_year_before()) == "2023-02-01 .. 2023-03-01"


def test_the_zone_decides_what_today_is():
    moment = datetime(2025, 6, 12, 23, 0, tzinfo=UTC)
    assert days(find_time_ranges("今天", moment)[0]) == "2025-06-12 .. 2025-06-13"
    assert days(find_time_ranges("今天", moment.astimezone(ZoneInfo("Asia/Shanghai")))[0]) == "2025-06-13 .. 2025-06-14"


@given(st.text("0123456789年月日天近上个季度前qh -/到至之since lastMarchquarter", max_size=60))
def test_any_text_gives_ordered_ranges_in_place(text):
    found = find_time_ranges(text, NOW)
    assert all(0 <= r.place[0] < r.place[1] <= len(text) for r in found)
    assert all(r.start is None or r.end is None or r.start < r.end for r in found)
    assert all(a.place[0] <= b.place[0] for a, b in pairwise(found))


@given(st.integers(1, 400))
def test_rolling_days_hold_that_many_days(count):
    (found,) = find_time_ranges(f"近{count}天", NOW)
    assert found.end - found.start == timedelta(days=count)
