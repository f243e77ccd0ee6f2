"""Answers of parts in one: numbered through, and a part without an answer says why."""

from __future__ import annotations

from theworld.nodes.answer_parts import join_parts
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


def generated(text: str, *numbers: int) -> QueryState:
    cited = tuple(
        Citation(number=number, document_id=f"{text[0]}{number}", note_id="n", start=0, end=1) for number in numbers
    )
    return QueryState(result=Answer(text=text, kind="generated", confidence=0.5, citations=cited))


def test_every_mark_still_leads_to_its_own_document() -> None:
    # A model cites in any order, and not every note.
    parts = [generated("a said [3], also [1], not [2024]", 3, 1), generated("b said [1][2]", 1, 2)]
    result = join_parts(["A?", "B?"], parts)["result"]
    assert result.text == "A?\na said [1], also [2], not [2024]\n\nB?\nb said [3][4]"
    assert [(c.number, c.document_id) for c in result.citations] == [(1, "a3"), (2, "a1"), (3, "b1"), (4, "b2")]
