"""Where files are read and the models run: an engine; this one uses the local machine.

The stages are plain functions, `plan.read_file` over a file and `modelling.model_notes` over some notes, and every
engine runs these same ones. An engine writes nothing: what it makes comes back in order, to the one who writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from theworld.ingestion.modelling import NoteText, Outcome, model_notes
from theworld.ingestion.plan import PlannedDocument, Reading, read_file
from theworld.ingestion.report import IngestProgress, Stopwatch
from theworld.ingestion.sources import SourceFile
from theworld.ingestion.worker_pool import WorkerPool, processes_for

if TYPE_CHECKING:
    from theworld.models.registry import Models
    from theworld.settings import NoteSettings, Settings

BATCH_NOTES = 256
"""Notes written at once, and so lost at most when the process is killed."""
AHEAD = 2
"""Batches that processes work on while the one before them is linked and written."""

Batch = list[PlannedDocument]
Outcomes = Callable[[], list[Outcome]]
"""Waits for what became of a batch's notes."""


class LocalEngine:
    """Reads in this process; the models run in a pool of processes where that pays, else here."""

    def __init__(self, models: Models, settings: Settings, watch: Stopwatch, progress: IngestProgress) -> None:
        self._models, self._settings, self._watch, self._progress = models, settings, watch, progress
        self.processes = 1
        """How many processes run the models."""

    def read(self, files: Sequence[SourceFile], limits: NoteSettings) -> Iterator[Iterable[Reading]]:
        """Yield what is read of each file, in order, note by note."""
        return (read_file(file, limits) for file in files)

    def model(self, documents: Sequence[PlannedDocument]) -> Generator[tuple[Batch, Outcomes]]:
        """Yield batches of documents in order, each with what waits for the outcomes of its notes.

        With processes the next two are begun already.
        """
        processes = processes_for(self._settings, sum(len(document.spans) for document in documents))
        load = self._models.reloader()
        if processes == 1 or load is None:
            for batch in batches(documents):
                yield batch, self._made_here(texts_of(batch))
            return
        self.processes = processes
        with WorkerPool(load, processes, self._watch) as pool:
            begun: deque[tuple[Batch, Outcomes]] = deque()
            for batch in batches(documents):
                begun.append((batch, self._begun_in(pool, texts_of(batch))))
                if len(begun) > AHEAD:
                    yield begun.popleft()
            yield from begun

    def _made_here(self, notes: Sequence[NoteText]) -> Outcomes:
        def outcomes() -> list[Outcome]:
            made: list[Outcome] = []
            with self._watch.shared("models"):
                for first in range(0, len(notes), BATCH_NOTES):  # a document may have any number of them
                    some = notes[first : first + BATCH_NOTES]
                    made += model_notes(self._models, some, self._watch, self._advance, side_by_side=True)
            return made

        return outcomes

    def _begun_in(self, pool: WorkerPool, notes: Sequence[NoteText]) -> Outcomes:
        chunks = pool.submit(notes)

        def outcomes() -> list[Outcome]:
            found: list[Outcome] = []
            for chunk in chunks:
                found += (some := chunk.result())
                self._advance(len(some))
            return found

        return outcomes

    def _advance(self, steps: int) -> None:
        self._progress.advance("notes", steps)


def batches(documents: Sequence[PlannedDocument], size: int = BATCH_NOTES) -> Iterator[Batch]:
    """Yield documents in their order, in batches of about `size` notes; a document is never divided."""
    batch: Batch = []
    notes = 0
    for document in documents:
        if batch and notes + len(document.spans) > size:
            yield batch
            batch, notes = [], 0
        batch.append(document)
        notes += len(document.spans)
    if batch:
        yield batch


def texts_of(batch: Batch) -> list[NoteText]:
    """Return what the models see of the notes of a batch."""
    return [
        NoteText(planned.document.title, span.text, span.language, span.section, span.lead)
        for planned in batch
        for span in planned.spans
    ]
