"""Right and wrong answers as a person judges them (the tables of fixtures): the agreement, and each kind alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.evaluation.judging import is_right

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
