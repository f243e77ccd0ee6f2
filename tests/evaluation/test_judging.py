"""Right and wrong answers as a person judges them (the tables of fixtures): the agreement, each kind, and notations."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.evaluation.judging import clock_times, is_right, plainly

FIXTURES = Path(__file__).parent / "fixtures"


def _rows(name: str) -> list[list[str]]:
    lines = (FIXTURES / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


ROWS = _rows("judged_answers.tsv")


def _judged(kind: str, shown: str, gold: str) -> str:
    return "right" if is_right(shown, gold.split("|"), short=kind == "short") else "wrong"


@pytest.mark.parametrize(("name", "least"), [("judged_answers.tsv", 0.98), ("judged_answers_held_out.tsv", 0.99)])
def test_agrees_with_a_person(name: str, least: float) -> None:
    rows = _rows(name)
    assert len(rows) >= 150
    wrong = [row for row in rows if _judged(*row[:3]) != row[3]]
    assert len(wrong) <= (1 - least) * len(rows), wrong


@pytest.mark.parametrize("label", ["right", "wrong"])
def test_both_labels_and_languages_are_covered(label: str) -> None:
    some = [row for row in ROWS if row[3] == label]
    chinese = [row for row in some if any("一" <= c <= "鿿" for c in row[1] + row[2])]
    assert len(chinese) >= 10
    assert len(some) - len(chinese) >= 40


@given(st.text(min_size=1).filter(lambda text: any(c.isalnum() for c in text)))
def test_an_answer_is_its_own(text: str) -> None:
    assert is_right(text, [text], short=False)


@given(st.text(), st.text())
def test_anything_can_be_judged(shown: str, gold: str) -> None:
    assert isinstance(is_right(shown, [gold], short=True), bool)
    assert not is_right(shown, [], short=True)


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
