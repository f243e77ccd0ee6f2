"""Which questions are answered part by part."""

from typing import Any

import pytest

from theworld.nodes.answer_parts import answer_parts, parts_finder
from theworld.questions.question import split_parts
from theworld.routing import DatabaseReader
from theworld.settings import Settings
from theworld.state import Context, QueryState

TWO_WAYS = "Who wrote Dune? What is the total credit?"


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who wrote Dune and   when was it published?", ["Who wrote Dune", "when was it published"]),
        ("《三体》的作者是谁，什么时候出版的？", ["《三体》的作者是谁", "什么时候出版的"]),
        ("Salt and pepper", []),
        (
            "I began in May. When may I leave, and how is it paid?",
            ["I began in May. When may I leave", "how is it paid"],
        ),
        ("When the engine stops, what is shown?", []),
        (
            "要备份，命令是什么？如果在网页上点，先要有什么前提",
            ["要备份，命令是什么", "如果在网页上点，先要有什么前提"],
        ),
        ("蛋能不能热？要是煎，得扎几个眼？多谢", ["蛋能不能热", "要是煎，得扎几个眼？多谢"]),
        ("2024年第一季度，哪个部门最多？", []),
        ("它的日志在哪（用 apt；Ubuntu 上怎么装 nginx）？", []),
        ("And how is it paid (How long is leave; when may I take it)?", []),
    ],
)
def test_parts(question: str, parts: list[str]) -> None:
    assert split_parts(question) == parts


@pytest.mark.parametrize(
    ("question", "choices", "split"),
    [
        (TWO_WAYS, {}, True),
        ("星槎精工的授信总额是多少？星槎精工主要生产什么产品？", {}, True),
        (TWO_WAYS, {"database": False}, False),
        (TWO_WAYS, {"router": False}, False),
        (TWO_WAYS, {"channels": ["dense"]}, False),
        ("Who wrote Dune? Who wrote Emma?", {}, False),
        ("What is the total credit? What was the total credit in 2023?", {}, False),
        ("How are you? How do I reset my password?", {}, False),
    ],
)
def test_only_parts_of_which_some_are_for_the_database_are_asked_one_by_one(
    mapped_settings: Settings, read: DatabaseReader, asked: Context, question: str, choices: dict[str, Any], split: bool
) -> None:
    context = asked.model_copy(update=choices)
    parts = split_parts(question)
    assert len(parts) == 2
    assert parts_finder(mapped_settings, read)(question, context) == (parts if split else [])
    assert parts_finder(mapped_settings, None)(question, context) == []


def test_parts_without_an_answer_are_not_called_answered() -> None:
    update = answer_parts(
        QueryState(query=TWO_WAYS),
        None,  # type: ignore[arg-type]
        find_parts=lambda query, context: split_parts(query),
        answer=lambda state, context: state.model_dump(),
    )
    assert update["result"] is None
    assert update["parts"] == []
