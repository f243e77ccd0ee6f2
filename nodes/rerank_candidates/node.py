"""Rerank the candidates with what is left of the deadline."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence

from langgraph.runtime import Runtime

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.errors import RetrievalUnavailableError
from theworld.nodes.note_source import NoteSource, reading_deadline, with_mentions
from theworld.nodes.rerank_candidates.contract import Reranker, Reranking
from theworld.nodes.rerank_candidates.ontology_order import about_described_first, keep_fused_tail
from theworld.nodes.retrieval_channel import retrieval_deadline
from theworld.settings import Settings
from theworld.state import Candidate, Context, Degradation, QueryState, Update, context_of

RESERVE = 0.1
"""Share of what is left that a reranker does not get, so that it can still say what it has scored, at most 50 ms."""
_LONGEST_RESERVE_MS = 50.0


def rerank_within(
    reranker: Reranker, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
) -> Reranking:
    """Return what the reranker makes of the candidates, on time whatever it does; one that raises or hangs is left."""
    reserve = min(_LONGEST_RESERVE_MS, RESERVE * deadline.remaining_ms())
    own = Deadline(deadline.started, deadline.budget_ms - reserve)

    def work() -> Reranking:
        found = reranker.rerank(query, candidates, top_k=top_k, tenant=tenant, deadline=own)
        return checked(found, candidates, top_k)

    try:
        return run_within(deadline, work, name="rerank_candidates")
    except DeadlineExceededError as error:
        return Reranking((), "timeout", f"{error}; the fused order is kept")
    except Exception as error:  # a reranker of one's own may break the contract
        return Reranking((), "error", f"failed, the fused order is kept: {type(error).__name__}: {error}")


def checked(reranking: Reranking, candidates: Sequence[Candidate], top_k: int) -> Reranking:
    """Return the reranking, or an error in its place when it breaks the contract.

    It must not name unknown notes or one twice, its scores must be relevances and never increase, and it must cover
    what it says: everything when complete, the first `top_k` candidates when partial.
    """
    if reranking.outcome in {"timeout", "error"}:
        return Reranking((), reranking.outcome, reranking.reason or "it gave no reason")
    broken = _broken(reranking, candidates, top_k)
    return Reranking((), "error", f"it {broken}; the fused order is kept") if broken else reranking


def _broken(reranking: Reranking, candidates: Sequence[Candidate], top_k: int) -> str:
    if reranking.outcome not in {"complete", "partial"}:
        return f"returned the unknown outcome {reranking.outcome!r}"
    known, ids = [c.note_id for c in candidates], [r.note_id for r in reranking.ranked]
    if len(set(ids)) < len(ids) or not set(known).issuperset(ids):
        return "returned unknown or doubled notes"
    if not all(math.isfinite(r.score) and 0.0 <= r.relevance <= 1.0 for r in reranking.ranked):
        return "returned scores that are no relevance"
    if any(a.score < b.score or a.relevance < b.relevance for a, b in itertools.pairwise(reranking.ranked)):
        return "returned scores that contradict its order"
    needed = known if reranking.outcome == "complete" else known[:top_k]
    if not set(ids).issuperset(needed):
        return f"scored {len(ids)} of {len(known)} notes and not the first {len(needed)}"
    return ""


def apply_ranking(candidates: list[Candidate], reranking: Reranking) -> list[Candidate]:
    """Return the candidates in the reranker's order; those it did not score follow in fused order."""
    by_id = {candidate.note_id: candidate for candidate in candidates}
    ordered = []
    for rank, ranked in enumerate(reranking.ranked, start=1):
        update = {
            "rerank_rank": rank,
            "rerank_score": ranked.score,
            "final_score": ranked.relevance,
            "covered": ranked.covered,
        }
        ordered.append(by_id.pop(ranked.note_id).model_copy(update=update))
    floor = ordered[-1].final_score if ordered else 1.0
    rest = [c.model_copy(update={"final_score": min(c.final_score, floor)}) for c in by_id.values()]
    return ordered + rest


def rerank_candidates(
    state: QueryState, runtime: Runtime[Context], *, reranker: Reranker, notes: NoteSource, settings: Settings
) -> Update:
    """Order the candidates as a set of evidence; on timeout or error leave them as they were and say so."""
    context = context_of(runtime)
    top_k = context.top_k or settings.retrieval.top_k
    deadline = retrieval_deadline(state, context, settings.retrieval)
    begun = time.perf_counter()
    pool = state.candidates[: max(settings.rerank.pool, top_k)]
    reranking = rerank_within(reranker, state.meant, pool, top_k=top_k, tenant=context.tenant, deadline=deadline)
    update: Update = {"rerank_outcome": reranking.outcome}
    if reranking.outcome != "complete":
        if context.strict:
            raise RetrievalUnavailableError(
                reranking.reason, where="rerank_candidates", remedy="Raise the deadline, or ask without `strict`."
            )
        elapsed = (time.perf_counter() - begun) * 1000
        reason = f"{reranker.name}: {reranking.reason}"
        update["degradations"] = [Degradation(stage="rerank_candidates", reason=reason, elapsed_ms=elapsed)]
    if reranking.outcome in {"complete", "partial"}:
        candidates = apply_ranking(pool, reranking)
        if state.ontology is not None:
            if state.ontology.described:
                candidates = about_described_first(candidates, state.understood, state.ontology, state.language)
            candidates = keep_fused_tail(candidates, settings.answers.evidence_notes)
        within = reading_deadline(state, context, settings)
        candidates, degraded = with_mentions(
            candidates[:top_k], notes, stage="rerank_candidates", context=context, within=within
        )
        update |= {"candidates": candidates, "evidence": candidates[: settings.answers.evidence_notes]}
        if degraded:
            update["degradations"] = [*update.get("degradations", []), *degraded]
    return update
