"""What a job's figures rest on, and what is said of one that fails."""

from __future__ import annotations

import pytest

from theworld.errors import StoreError
from theworld.service import evaluation_jobs
from theworld.service.evaluation_jobs import METRICS, compare, why_failed
from theworld.stores.ledger.evaluations import Query


def outcome(answer: str, documents: list[str]) -> dict[str, object]:
    return {"answer": answer, "kind": "entity", "documents": documents}


def test_a_metric_of_one_question_is_compared_without_interval_and_test() -> None:
    queries = [Query("1", "Where?", answers=("Oslo",)), Query("2", "Who?", grades={"a.md": 1})]
    arms = {
        "A": [outcome("Bergen", []), outcome("", ["b.md", "a.md"])],
        "B": [outcome("Oslo", []), outcome("", ["a.md"])],
    }
    found = compare(queries, arms)["metrics"]
    assert set(found) == set(METRICS)
    assert found["em"] == {"difference": 1.0, "low": None, "high": None, "p_value": None, "n": 1}
    assert (found["mrr"]["difference"], found["mrr"]["low"]) == (0.5, None)


def test_what_failed_is_named() -> None:
    def failing(error: Exception) -> str:
        with pytest.raises(type(error)) as caught, evaluation_jobs._step("the comparison"):
            raise error
        return why_failed(caught.value)

    foreseen = failing(StoreError("the ledger failed", remedy="Look."))
    assert foreseen == "the comparison: the ledger failed. Look."
    assert failing(ValueError("x")) == "the comparison: an error that was not foreseen; the log of the service has it."
