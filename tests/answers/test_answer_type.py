"""Which type of answer a question expects, from the table beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from theworld.answers.answer_type import ANY, expected_answer_type

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


@pytest.mark.parametrize(
    ("question", "organizations"),
    [
        ("Who built the lighthouse?", True),
        ("Who originally owned the mill?", True),
        ("By whom was the bridge designed?", True),
        ("Who is the paper published by?", True),
        ("Who is the publisher of the paper?", True),
        ("谁建造了灯塔？", True),
        ("這座燈塔由誰興建？", True),
        ("报纸由谁出版？", True),
        ("Who is the man that built the lighthouse keeper's daughter a boat?", False),
        ("Who was born in the lighthouse?", False),
        ("Who played the keeper?", False),
        ("谁是灯塔的看守人？", False),
        ("哪位工程师建造了灯塔？", False),
    ],
)
def test_who_makes_or_owns_may_be_an_organisation_but_never_a_place(question: str, organizations: bool) -> None:
    expected = expected_answer_type(question)
    assert expected.name == "person"
    assert expected.admits("person")
    assert expected.admits("organization") == organizations
    assert not expected.admits("place")
