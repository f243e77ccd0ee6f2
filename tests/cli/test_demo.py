"""The demo: how its answers are judged, and the whole of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from theworld.cli.demo import Turn, expectation
from theworld.demo import DemoQuestion, load_questions
from theworld.state import QueryOutput


def turn(answer: str, kind: str, *expected: str) -> Turn:
    branch = "entity" if expected else "no-evidence"
    question = DemoQuestion(id="q", language="en", branch=branch, question="?", answers=list(expected))
    return Turn(question, QueryOutput.model_validate({"answer": answer, "kind": kind}), 1.0)


@pytest.mark.parametrize(
    ("made", "right"),
    [
        (turn("Neil Peart", "entity", "Peart", "Neil Peart"), True),
        (turn("It was built in 1420.", "extractive", "1420"), True),
        (turn("始建于1420年", "extractive", "1420"), True),
        (turn("始建于1420年", "extractive", "420年"), False),
        (turn("14201", "entity", "1420"), False),
        (turn("I do not know about 1420.", "none", "1420"), False),
        (turn("Nothing was found.", "none"), True),
        (turn("Berlin", "entity"), False),
    ],
)
def test_an_answer_is_right_when_it_holds_what_is_expected_or_keeps_silent(made: Turn, right: bool) -> None:
    assert made.is_right is right


def test_expectations_in_words() -> None:
    assert expectation(turn("x", "entity", "a", "b").question) == "a or b"
    assert expectation(turn("x", "none").question) == "an honest `none`"


@pytest.mark.slow
def test_the_demo_gives_every_expected_answer_twice(cli, tmp_path: Path) -> None:
    first = cli("demo", "--store", tmp_path / "demo.store")
    assert first.code == 0, first.out[-3000:]
    again = cli("demo", "--store", tmp_path / "demo.store")
    assert again.code == 0
    assert "0 documents written" in again.out, "the store is reused"
    for question in load_questions():
        assert question.question in first.out
    assert "A conversation in one thread (en)" in first.out
    assert "A conversation in one thread (zh)" in first.out
    assert "answers as expected, 0 LLM calls." in first.out
