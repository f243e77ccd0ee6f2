"""Several processes that run the models, each with one piece of work at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from theworld.errors import ModelError
from theworld.ingestion.modelling import FailedNote, NoteText, Outcome
from theworld.ingestion.stopwatch import Stopwatch
from theworld.ingestion.worker import Worker, WorkerEndedError

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
    remote = any(
        spec.strip().startswith("openai:") for spec in (settings.embedding.english, settings.embedding.chinese)
    )
    return 1 if notes < MANY_NOTES or remote else min(_cores(), MOST_PROCESSES)


def _cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class WorkerPool:
    """Hands notes to processes, a chunk at a time; the processes start with the first chunks."""

    def __init__(self, load: Callable[[], Models], processes: int, watch: Stopwatch) -> None:
        self._load, self.processes, self._watch = load, processes, watch
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="model process")
        self._free: list[Worker] = []
        self._busy: list[Worker] = []
        self._lock = threading.Lock()
        self._deaths = 0
        self._ended = False

    def submit(self, notes: Sequence[NoteText]) -> list[Future[list[Outcome]]]:
        """Begin with notes; return what will be their outcomes, chunk by chunk, in order."""
        chunks = (notes[first : first + CHUNK_NOTES] for first in range(0, len(notes), CHUNK_NOTES))
        return [self._threads.submit(self._make, chunk) for chunk in chunks]

    def pids(self) -> list[int]:
        """Return the numbers of the processes."""
        with self._lock:
            return [worker.pid for worker in (*self._free, *self._busy)]

    def _make(self, notes: Sequence[NoteText]) -> list[Outcome]:
        """Return the outcomes of notes. Notes with which a process dies twice are tried one by one."""
        for _ in range(2):
            try:
                return self._asked(notes)
            except WorkerEndedError:
                self._count_death()
        if len(notes) == 1:
            return [FailedNote(_KILLED)]
        return [outcome for note in notes for outcome in self._make([note])]

    def _asked(self, notes: Sequence[NoteText]) -> list[Outcome]:
        worker = self._taken()
        try:
            with self._watch.shared("models"):
                outcomes, seconds = worker.ask(notes)
        except WorkerEndedError:
            self._give_back(worker, alive=False)
            raise
        except BaseException:
            self._give_back(worker, alive=True)
            raise
        self._give_back(worker, alive=True)
        for part, spent in seconds.items():
            self._watch.add(part, spent)
        return outcomes

    def _taken(self) -> Worker:
        with self._lock:
            if self._ended:
                raise ModelError("stopped before this note was made")
            worker = self._free.pop() if self._free else Worker(self._load)
            self._busy.append(worker)
        return worker

    def _give_back(self, worker: Worker, *, alive: bool) -> None:
        with self._lock:
            self._busy.remove(worker)
            if alive:
                self._free.append(worker)
        if not alive:
            worker.kill()
            worker.close()

    def _count_death(self) -> None:
        with self._lock:
            self._deaths += 1
            too_many = self._deaths > MOST_DEATHS or self._ended
        if too_many:
            raise ModelError(
                f"{self._deaths} of the processes that run the models have died.",
                remedy="Look at the memory: each takes some 400 MB. THEWORLD_INGESTION__PROCESSES=1 does without them.",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes: at once after an error or a second Ctrl-C."""
        with self._lock:
            self._ended = True
            busy = list(self._busy)
        if error is not None:
            for worker in busy:
                worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._free:
            worker.close()
