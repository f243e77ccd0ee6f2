from __future__ import annotations

from quality_measures.first_answers import FirstAnswers

from theworld.evaluation.answers import AnsweredQuery, AnswersReport
from theworld.state import Answer, AnswerKind
from theworld.stores.ledger.evaluations import Query

TWO, ONE = {"a": 1, "b": 1}, {"a": 1}


def report(*answers: tuple[str, AnswerKind, dict[str, int]]) -> AnswersReport:
    queries = [Query(str(i), "?", ("Rush",), grades=grades) for i, (_, _, grades) in enumerate(answers)]
    given = [Answer(text=text, kind=kind) for text, kind, _ in answers]
    return AnswersReport("d", tuple(map(AnsweredQuery, queries, given)))


def test_an_answer_is_right_when_it_holds_the_gold_and_only_relational_questions_count() -> None:
    own = report(("Rush", "entity", TWO), ("They were Rush.", "extractive", TWO), ("Yes", "entity", ONE))
    baseline = report(("Genesis", "entity", TWO), ("No evidence: Rush", "none", TWO), ("Rush", "entity", ONE))
    answers = FirstAnswers(own, baseline)
    assert answers.gain().mean == (2 - 1) / 3
    relational = answers.relational()
    assert [result.query.id for result in relational.baseline.results] == ["0", "1"]
    assert (relational.gain().mean, relational.gain().n) == (1.0, 2)
