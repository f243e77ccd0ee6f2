"""The node: search once more, with what the question before is about, and keep what is clearly surer.

"Who do I email?" points at nothing said before, and may be about it all the same: only what is found tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from theworld.answers.sureness import FEWEST_NOTES, probability_in, sureness_of
from theworld.state import Context, QueryState, Update, context_of

LEAST_GAIN = 3.0
"""Times the odds of the first search: words of the question before are found again, whatever is asked now."""

Search = Callable[[QueryState, Context], Mapping[str, Any]]
"""Searches for a state's query, from the channels to the reranked candidates; returns the values of the state."""


def may_go_on(state: QueryState, context: Context) -> bool:
    """Return whether a question of few words found nothing sure, among so many notes that this means something."""
    dense = state.channel_results.get("dense")
    if state.reference.in_context is None or dense is None or dense.searched < FEWEST_NOTES:
        return False
    return sureness_of(probability_in(state, context)) != "sure"


def search_with_last_question(state: QueryState, runtime: Runtime[Context], *, search: Search) -> Update:
    """Search for the question in the context of the one before; where its notes are surer, they and its query stay.

    Both searches share the budget of retrieval; one that is late or loses a channel leaves what the first found, also
    in a strict context.
    """
    context, query = context_of(runtime), state.reference.in_context or state.query
    again = QueryState(
        question=state.question,
        query=query,
        language=state.language,
        reference=state.reference,
        route=state.route,
        conversation=state.conversation,
        request_started=state.request_started,
        retrieval_started=state.retrieval_started,
    )
    found = QueryState.model_validate(search(again, context.model_copy(update={"strict": False})))
    whole = found.rerank_outcome == "complete" and not found.degradations
    if not whole or _odds(probability_in(found, context)) < LEAST_GAIN * _odds(probability_in(state, context)):
        return {}
    return {
        "query": query,
        "reference": replace(state.reference, standalone_query=query),
        "channel_results": Overwrite(found.channel_results),
        "fused": found.fused,
        "candidates": found.candidates,
        "evidence": found.evidence,
        "paths": found.paths,
        "ontology": found.ontology,
        "rerank_outcome": found.rerank_outcome,
    }


def _odds(probability: float) -> float:
    return probability / max(1 - probability, 1e-9)
