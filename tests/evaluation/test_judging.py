"""Right and wrong answers as a person judges them (fixtures/judged_answers.tsv): the agreement, and each kind alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.evaluation.judging import is_right

FILE = Path(__file__).parent / "fixtures" / "judged_answers.tsv"
ROWS = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
LEAST_AGREEMENT = 0.98


def _judged(kind: str, shown: str, gold: str) -> str:
    return "right" if is_right(shown, gold.split("|"), short=kind == "short") else "wrong"


def test_agrees_with_a_person() -> None:
    assert len(ROWS) >= 150
    wrong = [row for row in ROWS if _judged(*row[:3]) != row[3]]
    assert len(wrong) <= (1 - LEAST_AGREEMENT) * len(ROWS), wrong


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
