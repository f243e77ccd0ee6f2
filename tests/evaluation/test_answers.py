from __future__ import annotations

import pytest

from theworld.evaluation.answers import AnsweredQuery, AnswersReport, answerable_queries
from theworld.state import Answer, AnswerKind
from theworld.stores.ledger.evaluations import Query


def answered(text: str, kind: AnswerKind, *gold: str) -> AnsweredQuery:
    return AnsweredQuery(Query("q", "?", tuple(gold)), Answer(text=text, kind=kind))


def test_every_figure_as_defined() -> None:
    report = AnswersReport(
        "d",
        (
            answered("Rush", "entity", "the Rush"),  # right
            answered("Rush the band", "entity", "Rush of Fools"),  # another one: wrong
            answered("They are called Rush.", "extractive", "Rush"),  # right by containment
            answered("在歐洲研究", "generated", "歐洲"),  # right by containment
            answered("No evidence. Rush", "none", "Rush"),  # not answered, whatever the text says
        ),
    )
    found = report.as_json()
    assert list(found) == ["n", "answered", "em", "f1", "precision_answered", "by_kind"]
    assert (found["n"], found["answered"]) == (5, 4)
    assert found["em"] == pytest.approx(1 / 5)
    assert found["f1"] == pytest.approx((1 + 2 / 5 + 2 / 5 + 4 / 7) / 5, abs=1e-6)
    assert found["precision_answered"] == pytest.approx(3 / 4)
    assert list(found["by_kind"]) == ["entity", "extractive", "generated", "none"]
    assert found["by_kind"]["entity"] == {"n": 2, "em": 0.5, "f1": pytest.approx(0.7, abs=1e-6), "contains": 0.5}
    assert found["by_kind"]["none"] == {"n": 1, "em": 0.0, "f1": 0.0, "contains": 0.0}


def test_nothing_answered_is_no_division_by_zero() -> None:
    found = AnswersReport("d", (answered("?", "none", "a"),)).as_json()
    assert (found["answered"], found["precision_answered"], found["em"]) == (0, None, 0.0)


def test_queries_without_answers_are_left_out(dataset_of) -> None:
    queries = [Query("a", "x"), Query("b", "y", ("1",)), Query("c", "z", ("2",))]
    assert [query.id for query in answerable_queries(dataset_of(queries))] == ["b", "c"]
    assert [query.id for query in answerable_queries(dataset_of(queries), 1)] == ["b"]
    with pytest.raises(Exception, match="no query has answers"):
        answerable_queries(dataset_of(queries[:1]))
