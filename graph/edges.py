"""The conditional edges: where a question goes next, decided from the state alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langgraph.runtime import Runtime

from theworld.nodes.answer_from_history import asks_what_was_said
from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.split_question import FindParts
from theworld.settings import AnswerSettings
from theworld.state import Candidate, Context, QueryState, context_of
from theworld.text import entity_key, without_qualifier

CHANNEL_NODES = {"sparse": "retrieve_sparse", "dense": "retrieve_dense", "graph": "retrieve_graph"}


Choose = Callable[[QueryState, Runtime[Context]], str]


def after_resolution(find_parts: FindParts) -> Choose:
    """A question about what the assistant said is answered from the conversation; parts, one by one; others routed."""

    def choose(state: QueryState, runtime: Runtime[Context]) -> str:
        if asks_what_was_said(state.question, state.reference):
            return "answer_from_history"
        return "answer_parts" if find_parts(state.query, context_of(runtime)) else "route_query"

    return choose


def after_history(state: QueryState) -> str:
    """Where the conversation holds no answer, the documents are searched."""
    return "finish_answer" if state.result is not None else "route_query"


def after_parts(state: QueryState) -> str:
    """Parts of which none was answered leave the question whole."""
    return "finish_answer" if state.result is not None else "route_query"


def after_routing(state: QueryState) -> Sequence[str]:
    """To the database first where it is asked; else to just the chosen channels."""
    return ["query_database"] if state.route.database else to_channels(state)


def after_database(state: QueryState) -> Sequence[str]:
    """Rows that answer end the search; without them the chosen channels run."""
    return ["finish_answer"] if state.result is not None else to_channels(state)


def to_channels(state: QueryState) -> Sequence[str]:
    """To just the chosen channels; to small talk or the honest end when there is none."""
    nodes = [CHANNEL_NODES[channel] for channel in state.route.channels]
    if nodes:
        return nodes
    return ["reply_to_smalltalk" if state.route.intent == "smalltalk" else "report_no_evidence"]


def after_fusion(state: QueryState) -> str:
    """Zero candidates skip reranking, disambiguation and answering; without reranking the fused order stands."""
    if not state.candidates:
        return "report_no_evidence"
    return "rerank_candidates" if state.route.rerank else "restore_fused_order"


def after_reranking(settings: AnswerSettings) -> Callable[[QueryState], str]:
    """A reranker that failed or ran out of time leaves the fused order; notes too far from the question, no answer.

    The least relevance is on the evidence set's scale, which alone fills `covered`: no threshold crosses scales. It is
    lower where an ontology knows what the question describes: then the notes need not repeat the question. A note whose
    title the question names is never too far: what it leaves open, the answers after this look at.
    """

    def choose(state: QueryState) -> str:
        if state.rerank_outcome not in {"complete", "partial"} or not state.candidates:
            return "restore_fused_order"
        best = state.candidates[0]
        described = state.ontology is not None and bool(state.ontology.described)
        least = settings.min_relevance_zh if state.language == "zh" else settings.min_relevance_en
        least *= settings.described_share if described else 1.0
        too_far = best.covered is not None and best.final_score < least
        return "report_no_evidence" if too_far and not _names_title(state, best) else "find_entity_candidates"

    return choose


def _names_title(state: QueryState, note: Candidate) -> bool:
    key = entity_key(without_qualifier(note.title))
    return len(key) > 1 and names_in(state.understood)(key)


def after_entity_search(state: QueryState) -> str:
    """Zero candidates never reach a judge or a model."""
    return "judge_entities" if any(state.entity_candidates.values()) else "accept_no_candidates"


def after_entity_answer(*, has_model: bool) -> Choose:
    """A confident entity is the answer, and is linked; else the model, if configured and allowed; else an extract."""

    def choose(state: QueryState, runtime: Runtime[Context]) -> str:
        if state.result is not None:
            return "link_answer"
        asks = has_model and context_of(runtime).use_model and state.route.model
        return "generate_answer" if asks else "answer_with_extract"

    return choose


def after_generation(state: QueryState) -> str:
    """A model that failed or declined leaves the extract."""
    return "finish_answer" if state.result is not None else "answer_with_extract"


def after_extract(state: QueryState) -> str:
    """No sentence good enough ends in the honest answer."""
    return "finish_answer" if state.result is not None else "report_no_evidence"
