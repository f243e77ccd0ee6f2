"""Where nodes read notes from: without mentions for the whole pool, with them for the few that are kept.

A note has some twenty mentions, objects that take longer to make than everything else about it: those of notes that
reranking drops are never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.degrading import degrading
from theworld.errors import StoreError
from theworld.retrieval.channel import request_deadline, retrieval_deadline
from theworld.settings import Settings
from theworld.state import Candidate, Context, Degradation, QueryState
from theworld.stores.records import StoredNote

_OF_NOTE = (
    *("document_id", "title", "section", "kind", "lead", "text", "start", "end", "ordinal", "language", "source"),
    "mentions",
)
_LEAST_SHARE = 0.1
"""Of all the time, what reading has even after channels and a reranking that used it up."""


class NoteSource(Protocol):
    """Gives notes by id."""

    def notes(
        self, note_ids: Sequence[str], *, tenant: str, mentions: bool = True, within: Deadline | None = None
    ) -> list[StoredNote]:
        """Return the notes that exist, in the order asked; EngineUnavailableError when they cannot be read in time."""

    def remembered(self, note_ids: Sequence[str], *, tenant: str, mentions: bool = True) -> list[StoredNote]:
        """Return those that need not be read."""


class TextSource(NoteSource, Protocol):
    """Gives notes by id, and what stands between them in their documents."""

    def text(self, document_id: str, start: int, end: int, *, tenant: str, within: Deadline | None = None) -> str:
        """Return document.text[start:end]; EngineUnavailableError when it cannot be read in time."""


def reading_deadline(state: QueryState, context: Context, settings: Settings, share: float = 1.0) -> Deadline:
    """Return how long reading notes may take: a share of what is left, and some time in any case."""
    whole = retrieval_deadline(state, context, settings.retrieval)
    return Deadline.after(max(share * whole.remaining_ms(), whole.budget_ms * _LEAST_SHARE))


def read_notes(
    ids: Sequence[str],
    notes: NoteSource,
    *,
    stage: str,
    context: Context,
    noted: list[Degradation],
    within: Deadline,
    whole: Deadline | None = None,
    mentions: bool = True,
) -> list[StoredNote]:
    """Return the notes that exist; where they cannot be read in time those in memory, with a Degradation in `noted`.

    The source is told `within`, and keeps to it; one that does not is left when the request is over, `whole`.
    """
    tenant = context.tenant

    def reason(error: Exception) -> str:
        kept = len(notes.remembered(ids, tenant=tenant, mentions=mentions))
        what = "notes and their mentions" if mentions else "notes"
        return f"the {what} cannot be read, {kept} of {len(ids)} are in memory: {error}"

    with degrading(stage, context, noted, reason, catching=(StoreError, DeadlineExceededError)):
        read = partial(notes.notes, ids, tenant=tenant, mentions=mentions, within=within)
        return run_within(whole, read, name="read notes")
    return notes.remembered(ids, tenant=tenant, mentions=mentions)


def candidate_of(note: StoredNote, **found: Any) -> Candidate:
    """Return a note as a candidate, with what was found out about it."""
    return Candidate(note_id=note.id, **{name: getattr(note, name) for name in _OF_NOTE}, **found)


def with_mentions(
    candidates: Sequence[Candidate],
    notes: NoteSource,
    state: QueryState,
    context: Context,
    settings: Settings,
    *,
    stage: str,
    noted: list[Degradation],
) -> list[Candidate]:
    """Return the candidates with their mentions, as far as they can be read in what is left (see `read_notes`).

    Mentions have offsets: a note whose text has changed since it was found gets none.
    """
    ids = [candidate.note_id for candidate in candidates]
    within, whole = reading_deadline(state, context, settings), request_deadline(state, context)
    read = read_notes(ids, notes, stage=stage, context=context, noted=noted, within=within, whole=whole)
    mentions = {(note.id, note.text): note.mentions for note in read}
    return [c.model_copy(update={"mentions": mentions.get((c.note_id, c.text), c.mentions)}) for c in candidates]
