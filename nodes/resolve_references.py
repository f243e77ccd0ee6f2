"""The node: what the question refers to, and the stand-alone query that retrieval uses."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from theworld.deadline import DeadlineExceededError, run_within
from theworld.questions import read_question
from theworld.references.assistance import InvalidChoiceError, ask_back, chosen_option
from theworld.references.recall import extract_stances
from theworld.references.resolver import ReferenceResolver
from theworld.retrieval.channel import request_deadline
from theworld.state import Context, Degradation, ModelUsage, QueryState, ResolvedReference, Update, context_at
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
