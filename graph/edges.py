"""The conditional edges: where a question goes next, decided from the state alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from langgraph.runtime import Runtime

from theworld.answers import probability_in
from theworld.nodes.answer_parts import FindParts
from theworld.nodes.search_again import other_wording
from theworld.references.recall import asks_what_was_said
from theworld.references.topics import asks_of_chat_alone
from theworld.settings import AnswerSettings
from theworld.state import Channel, Context, QueryState, context_at, context_of

CHANNEL_NODES = {channel: f"retrieve_{channel}" for channel in get_args(Channel)}
SEARCHING = [*CHANNEL_NODES.values(), "find_conversation_documents"]
"""The nodes that search side by side."""
Choose = Callable[[QueryState, Runtime[Context]], str]


def after_resolution(find_parts: FindParts) -> Choose:
    """A question about what the assistant said is answered from the conversation; parts, one by one; others routed."""

    def choose(state: QueryState, runtime: Runtime[Context]) -> str:
        nothing_said = not state.history and asks_of_chat_alone(state.question)
        if nothing_said or asks_what_was_said(state.question, state.reference):
            return "answer_from_history"
        return "answer_parts" if find_parts(state.query, context_at(state, runtime)) else "route_query"

    return choose


def after_history_or_parts(state: QueryState) -> str:
    """Where the conversation holds no answer, or no part got one, the documents are searched for the whole question."""
    return "finish_answer" if state.result is not None else "route_query"


def after_routing(state: QueryState) -> Sequence[str]:
    """To the database first where it is asked; else to just the chosen channels."""
    return ["query_database"] if state.route.database else to_channels(state)


def after_database(state: QueryState) -> Sequence[str]:
    """Rows that answer end the search; without them the chosen channels run."""
    return ["finish_answer"] if state.result is not None else to_channels(state)


def to_channels(state: QueryState) -> Sequence[str]:
    """To just the chosen channels; to small talk or the honest end when there is none.

    In a conversation its documents are found too, by what the sparse channel asks, where that is chosen.
    """
    nodes = [CHANNEL_NODES[channel] for channel in state.route.channels]
    if nodes:
        goes_on = state.history and "sparse" in state.route.channels
        return [*nodes, "find_conversation_documents"] if goes_on else nodes
    return ["reply_to_smalltalk" if state.route.intent == "smalltalk" else "report_no_evidence"]


def after_fusion(state: QueryState) -> str:
    """Zero candidates skip reranking, disambiguation and answering; without reranking the fused order stands."""
    if not state.candidates:
        return "report_no_evidence"
    return "rerank_candidates" if state.route.rerank else "restore_fused_order"


def after_reranking(settings: AnswerSettings) -> Choose:
    """A reranker that failed leaves the fused order; what is not sure is searched again in another wording."""

    def choose(state: QueryState, runtime: Runtime[Context]) -> str:
        if state.rerank_outcome not in {"complete", "partial"} or not state.candidates:
            return "restore_fused_order"
        if other_wording(state, context_of(runtime)) is not None:
            return "search_again"
        return with_evidence(settings)(state, runtime)

    return choose


def with_evidence(settings: AnswerSettings) -> Choose:
    """Too little evidence reaches no judge and no model."""

    def choose(state: QueryState, runtime: Runtime[Context]) -> str:
        known = state.candidates[0].covered is not None
        little = known and probability_in(state, context_of(runtime)) < settings.min_evidence
        return "report_no_evidence" if little else "find_entity_candidates"

    return choose


def after_entity_search(state: QueryState) -> str:
    """Zero candidates never reach a judge or a model."""
    return "judge_entities" if any(state.entity_candidates.values()) else "accept_no_candidates"


def after_entity_answer(*, has_model: bool) -> Choose:
    """A confident entity is linked; else the model answers, if configured and allowed; else passages are shown."""

    def choose(state: QueryState, runtime: Runtime[Context]) -> str:
        if state.result is not None:
            return "link_answer"
        asks = has_model and context_of(runtime).use_model and state.route.model
        return "generate_answer" if asks else "answer_with_passages"

    return choose


def after_generation(state: QueryState) -> str:
    """A model that failed or declined leaves the passages."""
    return "finish_answer" if state.result is not None else "answer_with_passages"


def after_passages(state: QueryState) -> str:
    """Passages that are too unlikely to hold what is asked end in the honest answer."""
    return "finish_answer" if state.result is not None else "report_no_evidence"
