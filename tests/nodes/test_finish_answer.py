"""The last node."""

from __future__ import annotations

from theworld.nodes.finish_answer import finish_answer
from theworld.state import Answer, Citation, QueryState


def test_the_answer_becomes_output_and_message() -> None:
    citation = Citation(number=1, document_id="d", note_id="d#0", start=0, end=5, quote="Paris")
    answer = Answer(text="Paris", kind="entity", confidence=0.8, citations=(citation,), reason="r")
    update = finish_answer(QueryState(result=answer), None)  # type: ignore[arg-type]
    assert (update["answer"], update["kind"], update["confidence"]) == ("Paris", "entity", 0.8)
    assert update["citations"] == [citation]
    assert update["messages"][0].content == "Paris"


def test_no_result_is_still_an_answer_with_a_reason() -> None:
    update = finish_answer(QueryState(), None)  # type: ignore[arg-type]
    assert update["kind"] == "none"
    assert update["result"].reason
