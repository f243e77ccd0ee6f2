"""Decide which way a question goes; the budget of retrieval begins here."""

from __future__ import annotations

import time
from functools import partial

from langgraph.runtime import Runtime

from theworld.degrading import degrading
from theworld.retrieval.ontology import OntologyChannel
from theworld.routing import DatabaseReader, RouteHistory, Strategy, route
from theworld.settings import Settings
from theworld.state import Context, Degradation, QueryState, Update, context_at


def route_query(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    settings: Settings,
    strategy: Strategy,
    database: DatabaseReader | None = None,
    history: RouteHistory | None = None,
    ontology: OntologyChannel | None = None,
) -> Update:
    """Choose path, channels and weights; start the clock of retrieval, in which the look for news counts.

    A strategy that fails leaves every way to be tried, as with the router off, and a Degradation says so.
    """
    begun = time.perf_counter()
    context = context_at(state, runtime)
    view = database(state.query, context) if database is not None else None
    there = ontology is not None and ontology.present
    decide = partial(route, settings=settings, strategy=strategy, database=view, ontology=there)
    looked = sum(stage.elapsed_ms for stage in state.stages if stage.stage == "receive_question")
    noted: list[Degradation] = []
    decision = None
    # What may fail is a strategy of one's own, or the log it learns from.
    with degrading("route_query", context, noted, f"every way is tried, because {strategy.name} failed"):
        outcomes = history.route_outcomes(context.tenant) if history is not None else {}
        decision = decide(state.query, context, outcomes=outcomes)
    if decision is None:
        decision = decide(state.query, context.model_copy(update={"router": False}))
    return {"retrieval_started": begun - looked / 1000, "route": decision, "degradations": noted}
