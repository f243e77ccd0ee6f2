"""Reranking by itself: texts a caller gives, or notes of the store, as a run like any other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from theworld.deadline import Deadline
from theworld.degrading import degrading
from theworld.errors import StoreError
from theworld.graph import Resources
from theworld.nodes.receive_question import clean_question
from theworld.ranking.contract import apply_ranking, rerank_within
from theworld.retrieval.notes import read_notes
from theworld.service.requests.running import Run, Step
from theworld.state import Candidate, Context, Degradation, QueryInput, StageTrace
from theworld.stores.records import StoredNote
from theworld.text import detect_language

STAGE = "rerank_candidates"
_GIVEN = "\x1f"
"""Stands before a given text's position; no note id can hold this character."""


def rerank_given(resources: Resources, query: str, given: Sequence[dict[str, str]], context: Context) -> Run:
    """Rank the texts; an entry with `note_id` names a note of the tenant, unknown ones are left out."""
    run = Run(QueryInput(question=query), context)
    begun = time.perf_counter()
    try:
        _rerank(run, resources, query, given)
    except Exception as error:
        run.error = error
    run.elapsed_ms = (time.perf_counter() - begun) * 1000
    return run


def _rerank(run: Run, resources: Resources, query: str, given: Sequence[dict[str, str]]) -> None:
    context, begun = run.context, time.perf_counter()
    question = clean_question(query)
    deadline = Deadline.after(context.deadline_ms or resources.settings.retrieval.deadline_ms)
    notes, degraded = _stored(resources, [item["note_id"] for item in given if "note_id" in item], context, deadline)
    texts = [_of_text(place, item) for place, item in enumerate(given) if "note_id" not in item]
    candidates = [*texts, *(_of_note(note) for note in {note.id: note for note in notes}.values())]
    candidates = [c.model_copy(update={"fused_rank": rank}) for rank, c in enumerate(candidates, start=1)]
    top_k = context.top_k or resources.settings.retrieval.top_k
    reranking = rerank_within(
        resources.reranker, question, candidates, top_k=top_k, tenant=context.tenant, deadline=deadline
    )
    elapsed = (time.perf_counter() - begun) * 1000
    trace = StageTrace(stage=STAGE, elapsed_ms=elapsed, counts={"candidates": len(candidates)})
    if reranking.outcome != "complete":
        reason = reranking.reason or reranking.outcome
        degraded = [*degraded, Degradation(stage=STAGE, reason=reason, elapsed_ms=elapsed)]
    run.steps.append(Step(trace, time.time()))
    state: dict[str, Any] = {
        "question": question,
        "query": question,
        "language": detect_language(question),
        "candidates": apply_ranking(candidates, reranking)[:top_k],
        "rerank_outcome": reranking.outcome,
        "stages": [trace],
        "degradations": degraded,
    }
    run.state = state


def _stored(
    resources: Resources, ids: Sequence[str], context: Context, deadline: Deadline
) -> tuple[list[StoredNote], list[Degradation]]:
    """Return notes of the store; where a ledger on a server does not answer in half the time, those in memory."""
    if not ids:
        return [], []
    noted: list[Degradation] = []
    half = Deadline(deadline.started, deadline.budget_ms / 2)
    with degrading(STAGE, context, noted, "newly written notes could not be taken in", catching=StoreError):
        resources.store.refresh(half)
    return read_notes(ids, resources.store, stage=STAGE, context=context, noted=noted, within=half), noted


def id_of(candidate: Candidate, given: Sequence[dict[str, str]]) -> str:
    """Return the caller's id of a ranked text, or the note's."""
    if candidate.note_id.startswith(_GIVEN):
        return given[int(candidate.note_id.removeprefix(_GIVEN))]["id"]
    return candidate.note_id


def _of_text(place: int, item: dict[str, str]) -> Candidate:
    text, title = item["text"], item.get("title", "")
    return Candidate(
        note_id=f"{_GIVEN}{place}", document_id=item["id"], title=title, text=text, end=len(text),
        language=detect_language(text),
    )  # fmt: skip


def _of_note(note: StoredNote) -> Candidate:
    return Candidate(
        note_id=note.id, document_id=note.document_id, title=note.title, section=note.section, kind=note.kind,
        lead=note.lead, text=note.text, start=note.start, end=note.end, ordinal=note.ordinal, language=note.language,
        source=note.source, mentions=note.mentions,
    )  # fmt: skip
