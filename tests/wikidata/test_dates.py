from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.wikidata.items import date_in_words

TABLE = yaml.safe_load((Path(__file__).with_name("data") / "dates.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", TABLE, ids=[f"{row['time']}/{row['precision']}" for row in TABLE])
def test_dates_in_both_languages(row: dict[str, Any]) -> None:
    assert date_in_words(row["time"], row["precision"], "en") == row["en"]
    assert date_in_words(row["time"], row["precision"], "zh") == row["zh"]


@given(st.sampled_from("+-"), st.integers(1, 9999), st.integers(0, 12), st.integers(0, 31), st.integers(-5, 20))
def test_eras_are_never_lost(sign: str, year: int, month: int, day: int, precision: int) -> None:
    time = f"{sign}{year:04d}-{month:02d}-{day:02d}T00:00:00Z"
    english, chinese = date_in_words(time, precision, "en"), date_in_words(time, precision, "zh")
    assert english is not None
    assert chinese is not None
    assert english.endswith(" BC") == chinese.replace("约", "").startswith("公元前") == (sign == "-")


@given(st.text(max_size=40), st.integers())
def test_any_text_is_a_date_or_none(time: str, precision: int) -> None:
    words = date_in_words(time, precision, "en")
    assert words is None or words
