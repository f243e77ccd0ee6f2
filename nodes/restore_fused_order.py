"""After a reranker that failed or ran out of time: the fused order, on its own scale."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.questions import read_question
from theworld.ranking.ontology_order import about_described_first
from theworld.retrieval.notes import NoteSource, with_mentions
from theworld.settings import Settings
from theworld.state import EVIDENCE_NOTES, Candidate, Context, Degradation, QueryState, Update, context_of


def in_fused_order(candidates: list[Candidate], limit: int) -> list[Candidate]:
    """Return candidates by fused rank, relevance being the fused score over the best one; no rerank score is kept."""
    ordered = sorted(candidates, key=lambda c: (c.fused_rank or len(candidates) + 1, c.note_id))[:limit]
    best = max((c.fused_score or 0.0 for c in ordered), default=0.0)
    unranked = {"rerank_rank": None, "rerank_score": None}
    return [
        c.model_copy(update=unranked | {"final_score": (c.fused_score or 0.0) / best if best else 0.0}) for c in ordered
    ]


def restore_fused_order(
    state: QueryState, runtime: Runtime[Context], *, notes: NoteSource, settings: Settings
) -> Update:
    """Put the candidates back into fused order; the evidence is its top, notes about what is described first."""
    context = context_of(runtime)
    kept = in_fused_order(state.candidates, context.top_k or settings.retrieval.top_k)
    noted: list[Degradation] = []
    candidates = with_mentions(kept, notes, state, context, settings, stage="restore_fused_order", noted=noted)
    evidence = candidates
    if state.ontology is not None and state.ontology.described:
        question = read_question(state.query, state.language)
        evidence = about_described_first(candidates, question, state.ontology)
    evidence = evidence[:EVIDENCE_NOTES]
    return {"candidates": candidates, "evidence": evidence, "degradations": noted}
