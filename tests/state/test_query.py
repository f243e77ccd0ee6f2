"""Updates name what there is, and a new question finds nothing of an earlier one."""

from __future__ import annotations

import pytest
from langgraph.types import Overwrite
from pydantic import ValidationError

from theworld.state.query import (
    Answer,
    Context,
    Degradation,
    QueryInput,
    QueryOutput,
    QueryState,
    Update,
    append,
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
    with pytest.raises(ValidationError, match="channels"):
        Context(channels=[])
