"""The judge that the settings name: deterministic, or a model for close calls where one is configured and allowed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from theworld.entities import DeterministicJudge, ModelJudge
from theworld.graph.resources import make_judge
from theworld.models.registry import Models
from theworld.nodes.disambiguate_entities import judge_entities
from theworld.settings import Settings
from theworld.state import Context, EntityCandidate, QueryState, RouteDecision
from theworld.testing import FakeChatModel


@pytest.mark.parametrize(
    ("wanted", "configured", "kind"),
    [
        (False, False, DeterministicJudge),
        (False, True, DeterministicJudge),
        (True, False, DeterministicJudge),
        (True, True, ModelJudge),
    ],
)
def test_a_model_judges_only_where_it_is_configured_and_wanted(wanted: bool, configured: bool, kind: type) -> None:
    settings = Settings(wikidata={"ask_model": wanted})
    models = Models({}, {}, FakeChatModel([]) if configured else None)
    assert type(make_judge(settings, models)) is kind


@pytest.mark.parametrize(
    ("context", "route", "calls"),
    [
        (Context(), RouteDecision(), 1),
        (Context(total_deadline_ms=60_000), RouteDecision(), 1),
        (Context(use_model=False), RouteDecision(), 0),
        (Context(), RouteDecision(model=False), 0),
    ],
)
def test_a_caller_can_forbid_it(context: Context, route: RouteDecision, calls: int) -> None:
    model = FakeChatModel(['{"matched": false}'])
    judge: Any = ModelJudge(model, sure=1.1)
    sony = EntityCandidate(id="Q41187", url="https://www.wikidata.org/wiki/Q41187", label="Sony", description="company")
    state = QueryState(query="Who founded Sony?", route=route, entity_candidates={"Sony": [sony]})
    update = judge_entities(state, SimpleNamespace(context=context), judge=judge)  # type: ignore[arg-type]
    assert (len(model.calls), update["usage"].calls) == (calls, calls)
    assert (update["judgements"][0].model is None) == (calls == 0)
