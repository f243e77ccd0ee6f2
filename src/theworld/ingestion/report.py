"""What an ingestion tells its caller: while it runs, and when it is over; and what Ctrl-C does.

What writes nothing is left at once, a batch of usual size is finished; a second Ctrl-C stops everything.
"""

from __future__ import annotations

import signal
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, Protocol, Self

Part = Literal["read", "notes", "link", "index"]
"""The parts a progress bar shows: bytes read, notes made, older notes linked to new titles, changes indexed."""

MODELLED = ("embed", "tag", "codes")
PROJECTED = ("sparse", "dense", "graph", "ontology")
TIMED = ("read", *MODELLED, "models", "link", "ledger", *PROJECTED, "write")
"""The parts whose seconds are told; `write` is the ledger and the projections together."""


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A file, folder or line that was left out, and why."""

    path: str
    """Path of the file or folder; `path:line` for one line of a JSON-lines file."""
    reason: str
    """What is wrong and how to fix it."""


class IngestProgress(Protocol):
    """What watches an ingestion, for instance a progress bar."""

    def start(self, part: Part, total: int) -> None:
        """Begin a part of `total` steps; 0 when the number is not known."""

    def advance(self, part: Part, steps: int) -> None:
        """Go on by some steps."""

    def stopping(self) -> None:
        """Say that Ctrl-C was noticed, and what is still finished. Called from a signal handler, in the main thread."""


class Stopwatch:
    """Adds up the wall-clock seconds of named parts. Thread-safe; parts may overlap."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        self._under_way: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Measure a part; at the same time in several threads, it counts in each."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.add({part: perf_counter() - begin})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add what was measured elsewhere."""
        with self._lock:
            for part, spent in seconds.items():
                self.seconds[part] += spent

    @contextmanager
    def shared(self, part: str) -> Iterator[None]:
        """Measure the time in which at least one thread is at a part."""
        with self._lock:
            begun = self._under_way[part]
            begun.append(begun[0] if begun else perf_counter())
        try:
            yield
        finally:
            with self._lock:
                begin = begun.pop()
                if not begun:
                    self.seconds[part] += perf_counter() - begin


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one ingestion did."""

    documents: int = 0
    """Documents written, new or changed."""
    unchanged: int = 0
    """Documents that were in the store as they are."""
    remade: int = 0
    """Of `documents`, those made anew because an earlier version of the program read or divided them in another way."""
    notes: int = 0
    """Notes written."""
    linked: int = 0
    """Older notes whose links changed because titles came or went."""
    pruned: int = 0
    """Documents deleted because their source is gone."""
    gone: int = 0
    """Documents kept although their source is gone, since nobody asked for them to be deleted."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Files found to read, by their ending, "" for none; the most frequent first."""
    skipped: int = 0
    """Files of a kind that is not read."""
    skipped_kinds: Mapping[str, int] = field(default_factory=dict)
    """The same by their ending."""
    failed: list[FailedSource] = field(default_factory=list)
    """What was left out, in the order it was met."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the parts in TIMED and `total`. `embed`, `tag` and `codes` (of token vectors) are added up over all
    processes; `models` is the time in which at least one of them was at work, with several processes beside `link` and
    `write`."""
    processes: int = 1
    """How many processes ran the models."""
    interrupted: bool = False
    """True when it was stopped before the end; a rerun goes on from there."""

    @property
    def rates(self) -> dict[str, float]:
        """Notes by second of each part that took time; of `embed`, `tag` and `codes` with all processes at it alone."""
        speed = {part: self.processes if part in MODELLED else 1 for part in self.seconds}
        return {part: speed[part] * self.notes / spent for part, spent in self.seconds.items() if spent and self.notes}

    @property
    def overhead(self) -> float:
        """Time spent outside the models as a share of the time in them; 0.0 when they did not run."""
        models = self.seconds.get("models", 0.0)
        return (self.seconds.get("total", 0.0) - models) / models if models else 0.0


class IngestInterrupted(KeyboardInterrupt):
    """Ctrl-C: what had been begun was finished or left out; `report` says how far it came."""

    def __init__(self, report: IngestReport) -> None:
        self.report = report
        super().__init__(f"stopped after {report.documents} documents; run the same command again to go on")


class Stopped(KeyboardInterrupt):
    """Ctrl-C, where what is under way may be left."""


class Interruption:
    """While entered, the first SIGINT is noted and told. Other threads get no signals: nothing changes there.

    It hands a progress on, if there is one, and where `between_steps` is set, raises Stopped after the next step.
    """

    def __init__(self, progress: IngestProgress | None = None) -> None:
        self._progress = progress
        self._before: Any = None
        self._active = self._leaving = False
        self.asked = False
        """Whether Ctrl-C was pressed."""
        self.between_steps = False
        """Whether what is under way may be left between two steps."""

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """While entered, Ctrl-C raises Stopped wherever it comes: nothing may be written there."""
        self._leaving = True
        try:
            yield
        finally:
            self._leaving = False

    def start(self, part: Part, total: int) -> None:
        """Begin a part."""
        if self._progress is not None:
            self._progress.start(part, total)

    def advance(self, part: Part, steps: int) -> None:
        """Go on by some steps, or leave."""
        if self._progress is not None:
            self._progress.advance(part, steps)
        if self.asked and self.between_steps:
            raise Stopped

    def stopping(self) -> None:
        """Say that it stops."""
        if self._progress is not None:
            self._progress.stopping()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)
            self._active = True
        return self

    def __exit__(self, *_error: object) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._before)
            self._active = False

    def _ask(self, *_signal: object) -> None:
        self.asked = True
        self.__exit__()
        self.stopping()
        if self._leaving:
            raise Stopped
