"""Updates name what there is, and a new question finds nothing of an earlier one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError

from theworld.errors import InvalidQuestionError, SettingsError
from theworld.state.query import (
    Answer,
    Context,
    Degradation,
    QueryInput,
    QueryOutput,
    QueryState,
    Update,
    append,
    context_of,
    new_question,
)


def test_an_update_knows_every_key_of_state_and_output_and_no_other() -> None:
    assert set(Update.__annotations__) == {*QueryState.model_fields, *QueryOutput.model_fields}


def test_a_new_question_leaves_only_what_callers_pass() -> None:
    update = new_question()
    assert {*update, *QueryInput.model_fields} == set(QueryState.model_fields)
    left = QueryState(question="Who?", result=Answer(text="Ada", kind="entity"), retrieval_started=3.0)
    plain = {name: value for name, value in update.items() if not isinstance(value, Overwrite)}
    assert QueryState.model_validate(dict(left) | plain) == QueryState(question="Who?")


def test_what_a_reducer_adds_to_is_overwritten() -> None:
    earlier = [Degradation(stage="retrieve_dense", reason="disk gone")]
    assert append(earlier, []) == earlier
    overwritten = {name for name, value in new_question().items() if isinstance(value, Overwrite)}
    assert overwritten == {"channel_results", "stages", "degradations", "usage"}


def test_the_query_is_the_question_until_more_is_understood_of_it() -> None:
    assert QueryState(question="Who was she?").query == "Who was she?"
    assert QueryState(question="Who was she?", query="Who was Ada?").query == "Who was Ada?"


def test_no_channels_at_all_is_no_choice_of_channels() -> None:
    with pytest.raises(SettingsError, match="channels"):
        Context(channels=[])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topk": 3}, "Context: topk is no field. Did you mean top_k?"),
        ({"deadline_ms": 0}, "Context: deadline_ms is 0. It should be greater than or equal to 1."),
        ({"filters": {"year": None}}, "Context: filters.year is None. It should be a valid string."),
    ],
)
def test_a_wrong_context_is_told_in_plain_words(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as told:
        Context(**given)
    assert str(told.value) == said


def test_a_wrong_question_is_told_in_plain_words() -> None:
    with pytest.raises(InvalidQuestionError, match=r"^QueryInput: question is 5. It should be a valid string.$"):
        QueryInput(question=5)  # type: ignore[arg-type]
    with pytest.raises(ValidationError):  # of what has one as its part
        TypeAdapter(list[QueryInput]).validate_python([{"question": 5}])


def test_numbers_of_metadata_filter_as_their_text() -> None:
    assert Context(filters={"year": 1815, "of": [1, "2"]}).filters == {"year": "1815", "of": ["1", "2"]}  # type: ignore[dict-item]


def told_by(theworld: object) -> Context:
    return context_of(Runtime(context=SimpleNamespace(theworld=theworld)))  # type: ignore[arg-type]


def test_the_context_of_another_graph_may_hold_a_dict_and_nothing_else() -> None:
    assert told_by({"tenant": "acme"}) == told_by(Context(tenant="acme")) == Context(tenant="acme")
    assert context_of(Runtime(context={"theworld": {"tenant": "acme"}})).tenant == "acme"  # type: ignore[arg-type]
    assert context_of(Runtime(context=SimpleNamespace(user="me"))) == told_by(None) == Context()  # type: ignore[arg-type]
    with pytest.raises(
        SettingsError, match=r"`theworld` of the graph's context: it is 'acme'. Give a theworld.Context"
    ):
        told_by("acme")
    with pytest.raises(SettingsError, match="Did you mean tenant"):
        told_by({"tennant": "acme"})
