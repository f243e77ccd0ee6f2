"""Where files are read and the models run: an engine; this one uses the local machine, and several of its cores.

The stages are plain functions, `plan.read_file` over a file and `model_notes` over some notes, and every engine runs
these same ones. An engine writes nothing: what it makes comes back in order, to the one who writes.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from theworld.errors import ModelError, TheWorldError
from theworld.ingestion.child import Child, ChildEndedError
from theworld.ingestion.names import as_written, without_marks
from theworld.ingestion.plan import PlannedDocument, Reading, read_file
from theworld.ingestion.report import IngestProgress, Stopwatch
from theworld.ingestion.sources import SourceFile
from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.records import embedded_text
from theworld.stores.token_codes import TokenCodes, encode_tokens
from theworld.text import Language

if TYPE_CHECKING:
    from theworld.models.registry import Models
    from theworld.settings import NoteSettings, Settings

EMBED_NOTES = 64
"""Notes embedded between two steps of the progress."""
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

_KILLED = "the process that worked on it was killed, twice (by the system for want of memory, for instance)"


@dataclass(frozen=True, slots=True)
class NoteText:
    """What the models see of a note."""

    title: str
    """Title of its document."""
    text: str
    language: Language
    section: tuple[str, ...] = ()
    lead: str = ""


@dataclass(frozen=True, slots=True)
class MadeNote:
    """What the models made of a note."""

    mentions: Sequence[Mention]
    vectors: dict[str, Embedded] = field(default_factory=dict)
    """By space, without token vectors."""
    codes: dict[str, TokenCodes] = field(default_factory=dict)
    """Token vectors by space, coded."""


@dataclass(frozen=True, slots=True)
class FailedNote:
    """A note that a model failed on."""

    reason: str


Outcome = MadeNote | FailedNote


def model_notes(
    models: Models, notes: Sequence[NoteText], watch: Stopwatch, advance: Callable[[int], None], *, side_by_side: bool
) -> list[Outcome]:
    """Return what the models make of each note, in order; one that a model fails on does not spoil the others.

    `advance` is told how many more notes are done. `side_by_side` tags in a second thread. Errors of the project (a
    model that is missing, for instance) pass through.
    """
    mentions: list[Sequence[Mention]] = [()] * len(notes)
    made: list[tuple[dict[str, Embedded], dict[str, TokenCodes]]] = [({}, {})] * len(notes)
    by_language = {
        language: [place for place, note in enumerate(notes) if note.language == language]
        for language in dict.fromkeys(note.language for note in notes)
    }

    def tag() -> None:
        with watch("tag"):
            for language, places in by_language.items():
                found = models.taggers[language].tag([without_marks(notes[place].text) for place in places])
                for place, some in zip(places, found, strict=True):
                    mentions[place] = as_written(notes[place].text, some)

    def embed() -> None:
        for language, places in by_language.items():
            embedder = models.embedders[language]
            # Notes of similar length lie side by side, for embedders that pad their batches.
            ordered = sorted(places, key=lambda place: len(notes[place].text))
            for first in range(0, len(ordered), EMBED_NOTES):
                some = ordered[first : first + EMBED_NOTES]
                texts = [
                    embedded_text(one.title, one.section, one.lead, one.text) for one in map(notes.__getitem__, some)
                ]
                with watch("embed"):
                    found = embedder.embed_passages(texts)
                with watch("codes"):
                    for place, one in zip(some, found, strict=True):
                        codes = {} if one.tokens is None else {embedder.name: encode_tokens(one.tokens)}
                        made[place] = {embedder.name: Embedded(one.vector)}, codes
                advance(len(some))

    try:
        if side_by_side:
            with ThreadPoolExecutor(1, thread_name_prefix="tagger") as pool:
                tagging = pool.submit(tag)
                embed()
                tagging.result()
        else:
            embed()
            tag()
    except TheWorldError:
        raise
    except Exception as error:  # a model's own failure on some text: anything may come
        if len(notes) == 1:
            return [FailedNote(f"a model failed on it: {type(error).__name__}: {error}")]
        one_by_one = (model_notes(models, [note], watch, advance, side_by_side=side_by_side) for note in notes)
        return [outcome for outcomes in one_by_one for outcome in outcomes]
    return [MadeNote(some, *one) for some, one in zip(mentions, made, strict=True)]


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


class WorkerPool(AbstractContextManager["WorkerPool"]):
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
            raise
        self._watch.add(seconds)
        made: list[Outcome] = outcomes
        return made

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
