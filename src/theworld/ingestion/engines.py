"""Where files are read and the models run: an engine; this one uses the local machine, and several of its cores.

The stages are plain functions, `plan.read_file` over a file and `modelling.model_notes` over some notes, and every
engine runs these same ones. An engine writes nothing: what it makes comes back in order, to the one who writes.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Self

from theworld.errors import ModelError
from theworld.ingestion.child import Child, ChildEndedError
from theworld.ingestion.modelling import FailedNote, NoteText, Outcome, model_notes
from theworld.ingestion.plan import PlannedDocument, Reading, read_file
from theworld.ingestion.report import IngestProgress, Stopwatch
from theworld.ingestion.sources import SourceFile

if TYPE_CHECKING:
    from theworld.models.registry import Models
    from theworld.settings import NoteSettings, Settings

BATCH_NOTES = 256
"""Notes written at once, and so lost at most when the process is killed."""
AHEAD = 2
"""Batches that processes work on while the one before them is linked and written."""
MANY_NOTES = 400
"""From so many notes on, processes save more than the seconds that loading their models takes."""
MOST_PROCESSES = 4
"""When they are not given: each holds some 400 MB of models."""
CHUNK_NOTES = 16
"""Notes handed to a process at once."""
MOST_DEATHS = 8
"""So many processes may die; then it is not the notes that kill them."""

Batch = list[PlannedDocument]
Outcomes = Callable[[], list[Outcome]]
"""Waits for what became of a batch's notes."""
_KILLED = "the process that worked on it was killed, twice (by the system for want of memory, for instance)"


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
                yield batch, partial(self._made_here, texts_of(batch))
            return
        self.processes = processes
        with WorkerPool(load, processes, self._watch) as pool:
            begun: deque[tuple[Batch, Outcomes]] = deque()
            for batch in batches(documents):
                begun.append((batch, partial(self._finished, pool.submit(texts_of(batch)))))
                if len(begun) > AHEAD:
                    yield begun.popleft()
            yield from begun

    def _made_here(self, notes: Sequence[NoteText]) -> list[Outcome]:
        made: list[Outcome] = []
        advance = partial(self._progress.advance, "notes")
        with self._watch.shared("models"):
            for first in range(0, len(notes), BATCH_NOTES):  # a document may have any number of them
                some = notes[first : first + BATCH_NOTES]
                made += model_notes(self._models, some, self._watch, advance, side_by_side=True)
        return made

    def _finished(self, chunks: Sequence[Future[list[Outcome]]]) -> list[Outcome]:
        found: list[Outcome] = []
        for chunk in chunks:
            found += (some := chunk.result())
            self._progress.advance("notes", len(some))
        return found


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


def processes_for(settings: Settings, notes: int) -> int:
    """Return how many processes to make notes with; 1 stands for none but this one."""
    if settings.ingestion.processes:
        return settings.ingestion.processes
    specs = settings.embedding.english, settings.embedding.chinese
    if notes < MANY_NOTES or any(spec.strip().startswith("openai:") for spec in specs):
        return 1
    affinity = getattr(os, "sched_getaffinity", None)  # the cores this process may use; not on every system
    return min(len(affinity(0)) if affinity is not None else os.cpu_count() or 1, MOST_PROCESSES)


def _modelling(load: Callable[[], Models]) -> Callable[[Sequence[NoteText]], tuple[list[Outcome], dict[str, float]]]:
    """Return what answers in a process: the outcomes of notes, and the seconds by part."""
    models = load()

    def answer(notes: Sequence[NoteText]) -> tuple[list[Outcome], dict[str, float]]:
        watch = Stopwatch()
        return model_notes(models, notes, watch, lambda _: None, side_by_side=False), dict(watch.seconds)

    return answer


class WorkerPool:
    """Hands notes to processes, a chunk at a time; the processes start with the first chunks."""

    def __init__(self, load: Callable[[], Models], processes: int, watch: Stopwatch) -> None:
        self._load, self._watch = load, watch
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="model process")
        self._own = threading.local()  # each thread asks a process of its own
        self._children: list[Child] = []
        self._lock = threading.Lock()
        self._deaths = 0
        self._ended = False

    def submit(self, notes: Sequence[NoteText]) -> list[Future[list[Outcome]]]:
        """Begin with notes; return what will be their outcomes, chunk by chunk, in order."""
        chunks = (notes[first : first + CHUNK_NOTES] for first in range(0, len(notes), CHUNK_NOTES))
        return [self._threads.submit(self._made, chunk) for chunk in chunks]

    def pids(self) -> list[int]:
        """Return the numbers of the processes."""
        with self._lock:
            return [child.process.pid for child in self._children]

    def _made(self, notes: Sequence[NoteText]) -> list[Outcome]:
        """Return the outcomes of notes. Notes with which a process dies twice are tried one by one."""
        for _ in range(2):
            try:
                return self._asked(notes)
            except ChildEndedError:
                if self._deaths > MOST_DEATHS or self._ended:
                    raise ModelError(
                        f"{self._deaths} of the processes that run the models have died.",
                        remedy="Look at the memory: each takes some 400 MB. "
                        "THEWORLD_INGESTION__PROCESSES=1 does without them.",
                    ) from None
        if len(notes) == 1:
            return [FailedNote(_KILLED)]
        return [outcome for note in notes for outcome in self._made([note])]

    def _asked(self, notes: Sequence[NoteText]) -> list[Outcome]:
        with self._lock:
            if self._ended:
                raise ModelError("stopped before this note was made")
            child: Child | None = getattr(self._own, "child", None)
            if child is None:
                child = self._own.child = Child(partial(_modelling, self._load))
                self._children.append(child)
        try:
            with self._watch.shared("models"):
                outcomes, seconds = child.ask(notes)
        except ChildEndedError:
            with self._lock:
                self._deaths += 1
                self._children.remove(child)
                self._own.child = None
            child.kill()
            child.close()
            raise
        self._watch.add(seconds)
        made: list[Outcome] = outcomes
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End the processes: at once after an error or a second Ctrl-C."""
        with self._lock:
            self._ended = True
            if error is not None:
                for child in self._children:
                    child.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for child in self._children:
            child.close()
