"""The last node."""

from __future__ import annotations

from theworld.nodes.finish_answer import finish_answer
from theworld.nodes.receive_question import history_of
from theworld.state import Answer, Citation, EvidencePath, Passage, QueryState


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


def test_messages_show_all_of_an_answer_and_history_what_is_remembered_of_it() -> None:
    shown = Passage(number=1, document_id="d", note_id="d#0", title="Ada", place="Ada", text="She.", start=0, end=4)
    answer = Answer(text="Unsure\n\nAda [1]\nShe.\n\nSee also: B", kind="extractive", passages=(shown,))
    update = finish_answer(QueryState(result=answer, question="Who?"), None)  # type: ignore[arg-type]
    (message,) = update["messages"]
    assert message.content == answer.text
    assert [one.content for one in update["history"]] == ["Who?", "“Ada”: She."]
    assert [one.content for one in history_of([message])] == ["“Ada”: She."], "a thread's messages are read so too"


def test_each_path_is_told_once() -> None:
    paths = [EvidencePath(note_id=note_id, text="A —mentions→ B") for note_id in ("b#0", "b#1")]
    update = finish_answer(QueryState(result=Answer(text="x"), paths=paths), None)  # type: ignore[arg-type]
    assert update["paths"] == paths[:1]
