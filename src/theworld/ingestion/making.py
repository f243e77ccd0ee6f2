"""Planned documents to records: what the models make of their notes, titles linked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

from theworld.errors import IngestionError
from theworld.ingestion.modelling import FailedNote, MadeNote, NoteText, Outcome, model_notes
from theworld.ingestion.names import NameIndex, join_mentions
from theworld.ingestion.notes import NoteSpan
from theworld.ingestion.plan import PlannedDocument
from theworld.ingestion.report import FailedSource, IngestProgress
from theworld.ingestion.stopwatch import Stopwatch
from theworld.ingestion.worker_pool import WorkerPool, processes_for
from theworld.state import Mention
from theworld.stores.records import DocumentRecord, NoteRecord

if TYPE_CHECKING:
    from theworld.models.registry import Models
    from theworld.settings import Settings

BATCH_NOTES = 256
"""Notes written at once, and so lost at most when the process is killed."""
AHEAD = 2
"""Batches that processes work on while the one before them is linked and written."""

Batch = list[PlannedDocument]
Outcomes = Callable[[], list[Outcome]]
"""Waits for what became of a batch's notes."""


class NoteMaker(Protocol):
    """Where the models run."""

    ahead: int
    """How many batches are begun before the first is waited for."""
    processes: int
    """How many processes run the models."""

    def begin(self, notes: Sequence[NoteText]) -> Outcomes:
        """Begin with some notes; what is returned waits for their outcomes."""


class MakerHere:
    """Runs the models in this process, when the outcomes are waited for."""

    ahead, processes = 0, 1

    def __init__(self, models: Models, watch: Stopwatch, progress: IngestProgress) -> None:
        self._models, self._watch, self._progress = models, watch, progress

    def begin(self, notes: Sequence[NoteText]) -> Outcomes:
        """Begin with some notes."""

        def outcomes() -> list[Outcome]:
            advance = _advance(self._progress)
            made: list[Outcome] = []
            with self._watch.shared("models"):
                for first in range(0, len(notes), BATCH_NOTES):  # a document may have any number of them
                    some = notes[first : first + BATCH_NOTES]
                    made += model_notes(self._models, some, self._watch, advance, side_by_side=True)
            return made

        return outcomes


class MakerElsewhere:
    """Runs the models in a pool of processes."""

    ahead = AHEAD

    def __init__(self, pool: WorkerPool, progress: IngestProgress) -> None:
        self._pool, self._progress, self.processes = pool, progress, pool.processes

    def begin(self, notes: Sequence[NoteText]) -> Outcomes:
        """Begin with some notes."""
        chunks = self._pool.submit(notes)

        def outcomes() -> list[Outcome]:
            found: list[Outcome] = []
            for chunk in chunks:
                some = chunk.result()
                self._progress.advance("notes", len(some))
                found += some
            return found

        return outcomes


@contextmanager
def note_maker(
    models: Models, settings: Settings, notes: int, watch: Stopwatch, progress: IngestProgress
) -> Iterator[NoteMaker]:
    """Enter what makes so many notes: processes where they pay and can load the same models, else this process."""
    processes, load = processes_for(settings, notes), models.reloader()
    with ExitStack() as stack:
        if processes > 1 and load is not None:
            yield MakerElsewhere(stack.enter_context(WorkerPool(load, processes, watch)), progress)
        else:
            yield MakerHere(models, watch, progress)


def made_ahead(maker: NoteMaker, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Outcomes]]:
    """Yield batches in order, each with what waits for its notes, the next ones begun already."""
    begun: deque[tuple[Batch, Outcomes]] = deque()
    for batch in batches:
        begun.append((batch, maker.begin([note for document in batch for note in note_texts(document)])))
        if len(begun) > maker.ahead:
            yield begun.popleft()
    yield from begun


def note_texts(document: PlannedDocument) -> list[NoteText]:
    """Return what the models see of a document's notes."""
    title = document.document.title
    return [NoteText(title, span.text, span.language, span.section, span.lead) for span in document.spans]


def batches(documents: Sequence[PlannedDocument], size: int = BATCH_NOTES) -> Iterator[list[PlannedDocument]]:
    """Yield documents in their order, in batches of about `size` notes; a document is never divided."""
    batch: list[PlannedDocument] = []
    notes = 0
    for document in documents:
        if batch and notes + len(document.spans) > size:
            yield batch
            batch, notes = [], 0
        batch.append(document)
        notes += len(document.spans)
    if batch:
        yield batch


class RecordMaker:
    """Makes records of what the models made; `index` holds the names of all documents."""

    def __init__(self, index: NameIndex, tenant: str, *, stop_on_error: bool) -> None:
        self._index, self._tenant, self._stop_on_error = index, tenant, stop_on_error
        self.failed: list[FailedSource] = []
        """Documents that a model failed on."""

    def records(self, batch: Batch, outcomes: Sequence[Outcome]) -> list[DocumentRecord]:
        """Return the records of a batch, in order, without the documents of which a note failed.

        Raises IngestionError for such a document when told to stop on errors.
        """
        rest = iter(outcomes)
        found = []
        for document in batch:
            own = [next(rest) for _ in document.spans]
            failures = [one for one in own if isinstance(one, FailedNote)]
            if failures:
                self._fail(document, failures[0])
            else:
                found.append(self._record(document, [one for one in own if isinstance(one, MadeNote)]))
        return found

    def _fail(self, document: PlannedDocument, failure: FailedNote) -> None:
        if self._stop_on_error:
            raise IngestionError(failure.reason, where=document.source) from failure.error
        self.failed.append(FailedSource(document.source, failure.reason))

    def _link(self, span: NoteSpan, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
        return join_mentions(span.text, mentions, self._index.find(span.text, mentions))

    def _record(self, planned: PlannedDocument, made: Sequence[MadeNote]) -> DocumentRecord:
        notes = tuple(
            NoteRecord(
                f"{planned.id}#{ordinal}",
                ordinal,
                *span,
                mentions=self._link(span, one.mentions),
                vectors=one.vectors,
                codes=one.codes,
            )
            for ordinal, (span, one) in enumerate(zip(planned.spans, made, strict=True))
        )
        return DocumentRecord(
            id=planned.id,
            title=planned.document.title,
            text=planned.document.text,
            source=planned.source,
            content_hash=planned.content_hash,
            aliases=planned.aliases,
            metadata=planned.document.metadata,
            notes=notes,
            tenant=self._tenant,
        )


def _advance(progress: IngestProgress) -> Callable[[int], None]:
    return lambda steps: progress.advance("notes", steps)
