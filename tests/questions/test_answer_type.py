"""Which type of answer a question expects, from the table beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from theworld.questions.question import ANY, expected_answer_type

CASES = yaml.safe_load(Path(__file__).with_name("answer_types.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("question", "expected"), CASES)
def test_expected_type(question: str, expected: str) -> None:
    assert expected_answer_type(question).name == expected


def test_dates_and_numbers_admit_no_names() -> None:
    when = expected_answer_type("When did it end?")
    assert when.admits("date")
    assert not when.admits("person")
    assert not when.admits("other")


def test_names_admit_the_untyped_and_yes_no_admits_nothing() -> None:
    assert expected_answer_type("Who was it?").admits("other")
    assert not expected_answer_type("Who was it?").admits("place")
    assert not expected_answer_type("Is it so?").admits("person")
    assert ANY.admits("place")
