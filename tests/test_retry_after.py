from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from theworld.retry_after import seconds_to_wait


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("12", 12.0),
        (" 3 ", 3.0),
        ("0.5", 0.5),
        ("soon", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 +1400", 0.0),
    ],
)
def test_seconds_to_wait(value: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(value) == seconds


@given(st.text(max_size=30))
@example("Mon, 01 Jan 2024 00:00:00 +99999999999999999999")
@example("Fri, 31 Dec 9999 23:59:59 -1400")
@example("9" * 400)
def test_any_value_is_a_wait_or_none(value: str) -> None:
    seconds = seconds_to_wait(value)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))
