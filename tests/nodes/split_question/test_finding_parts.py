"""Which questions are answered part by part."""

from typing import Any

import pytest

from theworld.nodes.route_query import Rules
from theworld.nodes.split_question import answer_parts, parts_finder, split_parts
from theworld.settings import Settings
from theworld.state import Context, QueryState

TWO_WAYS = "Who wrote Dune? What will the weather be like tomorrow?"


class Failing:
    """A strategy of one's own."""

    name = "own"

    def choose(self, query: str, features: object) -> Any:
        """Fail."""
        raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who wrote Dune and   when was it published?", ["Who wrote Dune", "when was it published"]),
        ("《三体》的作者是谁，什么时候出版的？", ["《三体》的作者是谁", "什么时候出版的"]),
        ("Salt and pepper", []),
    ],
)
def test_parts(question: str, parts: list[str]) -> None:
    assert split_parts(question) == parts


def test_a_strategy_that_fails_leaves_the_question_whole() -> None:
    assert parts_finder(Settings(), Rules(), None)(TWO_WAYS, Context())
    assert parts_finder(Settings(), Failing(), None)(TWO_WAYS, Context()) == []


def test_parts_without_an_answer_are_not_called_answered() -> None:
    update = answer_parts(
        QueryState(query=TWO_WAYS),
        None,  # type: ignore[arg-type]
        find_parts=lambda query, context: split_parts(query),
        answer=lambda state, context: state.model_dump(),
    )
    assert update["result"] is None
    assert update["parts"] == []
