"""Fuse the channels' lists into candidates with their text and hops; mentions are read later, of those kept."""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.runtime import Runtime

from theworld.degrading import degrading
from theworld.errors import RetrievalUnavailableError
from theworld.ranking.fusion import Fused, Ranking, channel_weights, fuse, fuse_minmax
from theworld.retrieval.channel import request_deadline
from theworld.retrieval.notes import NoteSource, candidate_of, read_notes, reading_deadline
from theworld.settings import Settings
from theworld.state import (
    EVIDENCE_NOTES,
    Candidate,
    Context,
    Degradation,
    EvidencePath,
    OntologyEvidence,
    QueryState,
    Update,
    context_of,
)
from theworld.stores.records import StoredNote

_READ_SHARE = 0.5
"""Of the time that is left, what reading the notes may take before a reranking: those in memory are then reranked."""


def to_candidate(
    note: StoredNote, fused: Fused, rank: int, best: float, path: EvidencePath | None, *, near: float = 0.0
) -> Candidate:
    """Return the candidate of one fused note; its relevance is its score over the best one.

    A path alternates notes and entities, so two edges make one hop; a note without a path was found directly.
    """
    hop, bridge = (1 + len(path.steps) // 2, path.steps[-1].source) if path and len(path.steps) > 1 else (1, None)
    score = {"fused_score": fused.score, "final_score": fused.score / best if best else 0.0}
    found = {"channels": fused.channels, "in_conversation": near, "fused_rank": rank, "hop": hop, "bridge": bridge}
    return candidate_of(note, **found, **score)


def fuse_by(
    method: str, rankings: Mapping[str, Ranking], weights: Mapping[str, float], depths: Mapping[str, int]
) -> list[Fused]:
    """Return the notes fused by `minmax` or `rrf`; ValueError where it cannot fuse such scores."""
    return (fuse_minmax if method == "minmax" else fuse)(rankings, weights, depths=depths)


def fuse_candidates(state: QueryState, runtime: Runtime[Context], *, notes: NoteSource, settings: Settings) -> Update:
    """Fuse what the channels found, by the chosen method, the graph as its walk earns it; keep the reranker's pool.

    Notes that a channel names and nobody has are left out, with a Degradation.
    """
    context, method = context_of(runtime), settings.retrieval.fusion.method
    rankings: dict[str, Ranking] = {channel: result.hits for channel, result in state.channel_results.items()}
    planned: dict[str, float] = {channel: plan.weight for channel, plan in state.route.channels.items()}
    ontology = state.ontology or OntologyEvidence()
    weights = channel_weights(planned, rankings, ontology.recognised)
    depths = {"graph": settings.retrieval.graph_depth} if len(rankings) > 1 else {}
    noted: list[Degradation] = []
    fused = fuse_by(method, rankings, weights, depths)
    # Reading a note takes longer than ranking it: without a reranker only those kept are read.
    pool = settings.rerank.pool if state.route.rerank else 0
    fused = fused[: max(pool, context.top_k or settings.retrieval.top_k)]
    paths = {path.note_id: path for path in (*ontology.note_paths, *state.paths)}
    ids = [f.note_id for f in fused]
    within = reading_deadline(state, context, settings, _READ_SHARE if state.route.rerank else 1.0)
    whole = request_deadline(state, context)
    read = read_notes(
        ids, notes, stage="fuse_candidates", context=context, noted=noted, within=within, whole=whole, mentions=False
    )
    stored = {note.id: note for note in read}
    known, unknown = [f for f in fused if f.note_id in stored], [f for f in fused if f.note_id not in stored]
    if unknown and not noted:
        channels = ", ".join(sorted({name for f in unknown for name in f.channels}))
        reason = f"the store has no {len(unknown)} of {len(fused)} found by {channels}, or has them no more"
        with degrading("fuse_candidates", context, noted, "notes are left out"):
            raise RetrievalUnavailableError(reason)
    candidates = []
    for rank, f in enumerate(known, start=1):
        note, path = stored[f.note_id], paths.get(f.note_id)
        near = state.conversation.get(note.document_id, 0.0)
        candidates.append(to_candidate(note, f, rank, fused[0].score, path, near=near))
    return {
        "fused": [(f.note_id, f.score) for f in known],
        "candidates": candidates,
        "evidence": candidates[:EVIDENCE_NOTES],
        "paths": [*paths.values()],
        "degradations": noted,
    }
