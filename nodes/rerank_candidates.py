"""The node: rerank the candidates with what is left of the deadline."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.degrading import degrading
from theworld.errors import RetrievalUnavailableError
from theworld.questions import read_question
from theworld.ranking.contract import (
    Reranker,
    about_described_first,
    apply_ranking,
    keep_fused_tail,
    newest_first,
    rerank_within,
)
from theworld.retrieval.channel import retrieval_deadline
from theworld.retrieval.notes import NoteSource, with_mentions
from theworld.settings import Settings
from theworld.state import EVIDENCE_NOTES, Context, Degradation, QueryState, Update, context_at

STAGE = "rerank_candidates"


def rerank_candidates(
    state: QueryState, runtime: Runtime[Context], *, reranker: Reranker, notes: NoteSource, settings: Settings
) -> Update:
    """Order the candidates as a set of evidence; on timeout or error leave them as they were and say so."""
    context = context_at(state, runtime)
    top_k = context.top_k or settings.retrieval.top_k
    deadline = retrieval_deadline(state, context, settings.retrieval)
    pool = state.candidates[: max(settings.rerank.pool, top_k)]
    noted: list[Degradation] = []
    with degrading(
        STAGE, context, noted, lambda _: f"{reranker.name}: {reranking.reason}", catching=RetrievalUnavailableError
    ):
        reranking = rerank_within(reranker, state.query, pool, top_k=top_k, tenant=context.tenant, deadline=deadline)
        if reranking.outcome != "complete":
            raise RetrievalUnavailableError(
                reranking.reason, where=STAGE, remedy="Raise the deadline, or ask without `strict`."
            )
    update: Update = {"rerank_outcome": reranking.outcome, "degradations": noted, "stages": list(reranking.stages)}
    if reranking.outcome in {"complete", "partial"}:
        candidates = apply_ranking(pool, reranking)
        question = read_question(state.query, state.language)
        if state.ontology is not None:
            if state.ontology.described:
                candidates = about_described_first(candidates, question, state.ontology)
            candidates = keep_fused_tail(candidates, EVIDENCE_NOTES)
        periods = question.times(context.now) if context.now else ()
        years = {str(one.start.year) for one in periods if one.start and one.unit == "year"}  # last year
        candidates = newest_first(candidates, years.union(question.tokens))
        candidates = with_mentions(candidates[:top_k], notes, state, context, settings, stage=STAGE, noted=noted)
        update |= {"candidates": candidates, "evidence": candidates[:EVIDENCE_NOTES]}
    return update
