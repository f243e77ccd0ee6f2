"""Answers of parts in one: numbered through, and a part without an answer says why."""

from __future__ import annotations

from theworld.nodes.split_question import join_parts
from theworld.state import Answer, Citation, Degradation, QueryState

LATE = Degradation(stage="retrieve_dense", reason="the dense channel was too late", elapsed_ms=1.0)


def answered(text: str, confidence: float) -> QueryState:
    citation = Citation(number=1, document_id=text, note_id=text, quote=text, start=0, end=1)
    return QueryState(
        result=Answer(text=f"{text} [1]", kind="extractive", confidence=confidence, citations=(citation,))
    )


def test_citations_are_numbered_through_and_the_least_sure_part_counts() -> None:
    update = join_parts(["Who?", "Where?"], [answered("Ada", 0.9), answered("London", 0.4)])
    result = update["result"]
    assert result.text == "Who?\nAda [1]\n\nWhere?\nLondon [2]"
    assert [citation.note_id for citation in result.citations] == ["Ada", "London"]
    assert result.confidence == 0.4


def test_a_part_that_found_no_time_is_told_from_one_without_evidence() -> None:
    cut = Answer(text="The question cannot be answered now, because the search failed: too late.", kind="none")
    states = [answered("Ada", 0.9), QueryState(result=cut, degradations=[LATE])]
    update = join_parts(["Who?", "Where?"], states)
    assert update["result"].text.endswith(
        "Where?\nThe question cannot be answered now, because the search failed: too late."
    )
    assert update["degradations"] == [LATE]


def test_no_answer_at_all_leaves_the_question_whole() -> None:
    none = QueryState(result=Answer(text="Not enough.", kind="none"))
    assert join_parts(["Who?", "Where?"], [none, none])["result"] is None
