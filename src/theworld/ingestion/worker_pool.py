"""Several processes that run the models, each with one piece of work at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Self

from theworld.errors import ModelError
from theworld.ingestion.child import Child, ChildEndedError
from theworld.ingestion.modelling import FailedNote, NoteText, Outcome, model_notes
from theworld.ingestion.report import Stopwatch

if TYPE_CHECKING:
    from theworld.models.registry import Models
    from theworld.settings import Settings

MANY_NOTES = 400
"""From so many notes on, processes save more than the seconds that loading their models takes."""
MOST_PROCESSES = 4
"""When they are not given: each holds some 400 MB of models."""
CHUNK_NOTES = 16
"""Notes handed to a process at once."""
MOST_DEATHS = 8
"""So many processes may die; then it is not the notes that kill them."""

_KILLED = "the process that worked on it was killed, twice (by the system for want of memory, for instance)"


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
