"""A question understood: what it refers to, whether it has parts to be answered by themselves, which way it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from theworld.deadline import DeadlineExceededError, run_within
from theworld.degrading import degrading
from theworld.questions import read_question
from theworld.references.presentation import InvalidChoiceError, ask_back, chosen_option
from theworld.references.recall import extract_stances
from theworld.references.resolver import ReferenceResolver
from theworld.retrieval.channel import request_deadline
from theworld.retrieval.ontology import OntologyChannel
from theworld.routing import DatabaseReader, RouteHistory, Strategy, route
from theworld.routing.parts import FindParts, join_parts
from theworld.settings import Settings
from theworld.state import (
    Answer,
    Context,
    Degradation,
    Message,
    ModelUsage,
    QueryState,
    ResolvedReference,
    Update,
    context_at,
)
from theworld.text import Language


def resolve_references(state: QueryState, runtime: Runtime[Context], *, resolver: ReferenceResolver) -> Update:
    """Resolve what the question refers to and rewrite it so that it stands alone; a self-contained one passes through.

    Keeps the assistant's stances per thread. An ambiguous reference asks back with an interrupt where the caller
    wants that (`clarify`), else the best guess is taken and a note of it made. Sets `usage` only if a model was called;
    one that is late for the request's `total_deadline_ms` is not waited for.
    """
    began = time.perf_counter()
    context = context_at(state, runtime)
    stances = extract_stances(state.history, state.stances, now=context.now or datetime.now(UTC))

    def ask(antecedent: str | None, *, use_model: bool) -> ResolvedReference:
        return resolver.resolve(
            state.question, state.history, stances, now=context.now, antecedent=antecedent, use_model=use_model
        )

    started = began if context.clarify else state.request_started or began  # a question asked back may wait for days
    deadline = request_deadline(state.model_copy(update={"request_started": started}), context)
    late: Update = {}

    def resolve(antecedent: str | None = None) -> ResolvedReference:
        asks = context.use_model and resolver.llm_resolver is not None
        work = partial(ask, antecedent, use_model=context.use_model)
        try:
            return run_within(deadline if asks else None, work, name="resolve_references")
        except DeadlineExceededError as error:
            reason = f"the model was too late for the reference ({error}); the rules' reading stands"
            elapsed_ms = (time.perf_counter() - began) * 1000
            late["degradations"] = [Degradation(stage="resolve_references", reason=reason, elapsed_ms=elapsed_ms)]
            late["usage"] = ModelUsage(calls=1)
            return ask(antecedent, use_model=False)

    reference = resolve()
    language = read_question(state.question).language
    if len(reference.options) > 1 and context.clarify:
        reference = replace(resolve(_chosen(reference, language)), options=())
    elif len(reference.options) > 1:
        first, *others = reference.options
        note = f"ambiguous: took {first}; it could also be {', '.join(others)}"
        reference = replace(reference, metadata={**reference.metadata, "note": note})
    update: Update = {
        "request_started": started,
        "reference": reference,
        "query": reference.standalone_query or state.question,
        "language": language,
        "stances": stances,
    }
    if used := reference.metadata.get("llm_usage"):
        update["usage"] = ModelUsage.model_validate(used)
    return update | late


def _chosen(reference: ResolvedReference, language: Language) -> str:
    """Ask which option is meant, and again, saying what was wrong, until the reply is one or names another."""
    asked = payload = ask_back(reference, language)
    while True:
        try:
            return chosen_option(interrupt(payload), reference.options)
        except InvalidChoiceError as error:
            payload = asked | {"error": str(error), "question": f"{error}\n{asked['question']}"}


AnswerOne = Callable[[QueryState, Context], Mapping[str, Any]]
"""Answers one stand-alone query; returns the values of the state afterwards."""


def answer_parts(state: QueryState, runtime: Runtime[Context], *, find_parts: FindParts, answer: AnswerOne) -> Update:
    """Answer the parts one after the other and join them: a retrieval budget each, one budget of the request for all.

    What a part refers to ("it") is looked for in the parts before it.
    """
    context = context_at(state, runtime)
    parts = find_parts(state.query, context)
    states: list[QueryState] = []
    said: list[Message] = []
    for part in parts:
        asked = QueryState(
            question=part,
            query=part,
            language=state.language,
            history=said,
            request_started=state.request_started,
        )
        states.append(QueryState.model_validate(answer(asked, context)))
        said = [*said, Message("user", states[-1].query), Message("assistant", (states[-1].result or Answer()).text)]
    usage = sum((one.usage for one in states), ModelUsage())
    update = join_parts(parts, states)
    route_of_first = states[0].route
    reasons = tuple(f"part {i}: {one.route.path}" for i, one in enumerate(states, start=1))
    decision = route_of_first.model_copy(update={"path": "hybrid", "reasons": reasons})
    return update | {"usage": usage, "route": decision, "parts": parts if update["result"] is not None else []}


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
