"""Documents of the last answer have a small advantage in the turn after it."""

from __future__ import annotations

from typing import Any

import pytest

from theworld import Context, Message
from theworld.graph import Resources, build_graph
from theworld.nodes.find_conversation_documents import STAGE, nearness
from theworld.stores.protocols import Hit


@pytest.mark.parametrize(
    ("hits", "near"),
    [
        ([], {}),
        ([("a.md#3", 8.0), ("b.md#0", 4.0), ("a.md#1", 2.0)], {"a.md": 1.0, "b.md": 0.25}),
        ([("a#b.md#0", 5.0), ("c.md#0", 0.0)], {"a#b.md": 1.0}),
        ([("a.md#0", 0.0)], {}),
    ],
)
def test_a_document_is_as_near_as_its_best_note(hits: list[tuple[str, float]], near: dict[str, float]) -> None:
    assert nearness([Hit(*hit) for hit in hits]) == near


def ask(resources: Resources, *said: str, channels: list[Any] | None = None) -> dict[str, Any]:
    history = [Message("user", "Tell me more."), *(Message("assistant", text) for text in said)]
    given = {"question": "Which rules are there?", "history": history if said else []}
    context = Context(use_model=False, channels=channels)
    output: dict[str, Any] = build_graph(resources).invoke(given, context=context)
    assert output["degradations"] == []
    return output


def test_candidates_know_how_near_their_document_is_to_the_last_answer(resources: Resources) -> None:
    output = ask(resources, "Mercury is the smallest planet.", "At the observatory, staff close the dome in the rain.")
    assert STAGE in {stage.stage for stage in output["stages"]}
    near = {candidate.document_id: candidate.in_conversation for candidate in output["candidates"]}
    assert near["en/observatory-staff-guide.md"] == 1.0
    assert max(value for document, value in near.items() if "observatory" not in document) < 0.5


def test_a_first_question_has_no_last_answer(resources: Resources) -> None:
    output = ask(resources)
    assert STAGE not in {stage.stage for stage in output["stages"]}
    assert not any(candidate.in_conversation for candidate in output["candidates"])


@pytest.mark.parametrize(("channels", "runs"), [(["dense"], False), (["dense", "sparse"], True)])
def test_it_asks_the_sparse_index_only_where_that_is_chosen(
    resources: Resources, channels: list[Any], runs: bool
) -> None:
    output = ask(resources, "At the observatory, staff close the dome in the rain.", channels=channels)
    assert (STAGE in {stage.stage for stage in output["stages"]}) is runs
