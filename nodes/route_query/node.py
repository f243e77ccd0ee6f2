"""Decide which way a question goes; the budget of retrieval begins here."""

from __future__ import annotations

import time

from langgraph.runtime import Runtime

from theworld.models.protocols import ChatModel
from theworld.nodes.request_deadline import within_request
from theworld.nodes.route_query.assistance import TIMEOUT_S, ask_for_path
from theworld.nodes.route_query.features import DatabaseReader
from theworld.nodes.route_query.routing import route
from theworld.nodes.route_query.strategies import RouteHistory, Strategy
from theworld.settings import Settings
from theworld.state import Context, Degradation, QueryState, Update, context_of


def route_query(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    settings: Settings,
    strategy: Strategy,
    database: DatabaseReader | None = None,
    history: RouteHistory | None = None,
    model: ChatModel | None = None,
) -> Update:
    """Choose path, channels and weights; start the clock of retrieval, in which the look for news counts.

    A strategy that fails leaves every way to be tried, as with the router off, and a Degradation says so. A language
    model is asked only where the settings say so, the caller allows it, and the strategy was not sure.
    """
    begun = time.perf_counter()
    context = context_of(runtime)
    view = database(state.query, context) if database is not None else None
    looked = sum(stage.elapsed_ms for stage in state.stages if stage.stage == "receive_question")
    update: Update = {"retrieval_started": begun - looked / 1000}
    try:
        outcomes = history.route_outcomes(context.tenant) if history is not None else {}
        decision = route(state.query, context, settings, strategy, database=view, outcomes=outcomes)
    except Exception as error:  # a strategy of one's own, or the log it learns from
        if context.strict:
            raise
        decision = route(state.query, context.model_copy(update={"router": False}), settings, strategy, database=view)
        reason = f"every way is tried, because {strategy.name} failed: {type(error).__name__}: {error}"
        elapsed = (time.perf_counter() - begun) * 1000
        return update | {
            "route": decision,
            "degradations": [Degradation(stage="route_query", reason=reason, elapsed_ms=elapsed)],
        }
    update["route"] = decision
    unsure = decision.confidence < settings.router.min_confidence
    if model is None or not (settings.router.ask_model and unsure and context.use_model and decision.model):
        return update
    seconds = within_request(TIMEOUT_S, state, context)
    asked = ask_for_path(model, state.query, state.language, decision, timeout_s=seconds)
    problems = [Degradation(stage="route_query", reason=asked.problem)] if asked.problem else []
    return update | {"route": asked.decision, "usage": asked.usage, "degradations": problems}
