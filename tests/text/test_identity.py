"""Identity keys and titles without their qualifiers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.text import entity_key, without_qualifier


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("The Beatles", "beatles"),
        ("ＡＢＣ", "abc"),
        ("Beyonce\u0301", "beyonce"),
        ("Straße", "strasse"),
        ("臺灣", "台湾"),
        ("北京·大学", "北京大学"),
        ("北京 大学", "北京大学"),
        ("“Up”", "up"),
        ("C++", "c++"),
        ("Ada Lovelace's", "ada lovelace"),
        ("\u202eAda\u202c", "ada"),
        ("!", ""),
    ],
)
def test_keys(name: str, key: str) -> None:
    assert entity_key(name) == key


@given(st.text(max_size=30))
def test_a_long_name_has_the_same_key_as_a_short_one_would(name: str) -> None:
    padded = name + " " * 500
    assert entity_key(padded) == entity_key(name)


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Up (film)", "Up"),
        ("Up（电影） ", "Up"),
        ("Up (film) (2009)", "Up (film)"),
        ("(film)", "(film)"),
        ("Up (film", "Up (film"),
        ("Up (a (b))", "Up (a (b))"),
        ("  Up  ", "Up"),
        ("", ""),
    ],
)
def test_titles_without_their_qualifier(title: str, bare: str) -> None:
    assert without_qualifier(title) == bare


@pytest.mark.parametrize("title", [" " * 200_000 + "x", "(" * 200_000, "a (" * 100_000, "(" + " " * 200_000])
def test_no_title_takes_long(title: str) -> None:
    begun = time.perf_counter()
    without_qualifier(title)
    assert time.perf_counter() - begun < 10  # minutes, if not in linear time
