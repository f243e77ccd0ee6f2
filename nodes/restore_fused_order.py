"""After a reranker that failed or ran out of time: the fused order, on its own scale."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.questions import read_question
from theworld.ranking.contract import about_described_first
from theworld.retrieval.notes import NoteSource, with_mentions
from theworld.settings import Settings
from theworld.state import EVIDENCE_NOTES, Context, Degradation, QueryState, Update, context_of


def restore_fused_order(
    state: QueryState, runtime: Runtime[Context], *, notes: NoteSource, settings: Settings
) -> Update:
    """Put the candidates back into fused order: relevance is the fused score over the best one, no rerank score stays.

    The evidence is its top, notes about what is described first.
    """
    context, last = context_of(runtime), len(state.candidates) + 1
    ordered = sorted(state.candidates, key=lambda c: (c.fused_rank or last, c.note_id))
    ordered = ordered[: context.top_k or settings.retrieval.top_k]
    best = max((c.fused_score or 0.0 for c in ordered), default=0.0)
    unranked = {"rerank_rank": None, "rerank_score": None}
    kept = [
        c.model_copy(update=unranked | {"final_score": (c.fused_score or 0.0) / best if best else 0.0}) for c in ordered
    ]
    noted: list[Degradation] = []
    candidates = with_mentions(kept, notes, state, context, settings, stage="restore_fused_order", noted=noted)
    evidence = candidates
    if state.ontology is not None and state.ontology.described:
        question = read_question(state.query, state.language)
        evidence = about_described_first(candidates, question, state.ontology)
    return {"candidates": candidates, "evidence": evidence[:EVIDENCE_NOTES], "degradations": noted}
