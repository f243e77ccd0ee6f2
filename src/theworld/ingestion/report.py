"""What an ingestion tells its caller: while it runs, and when it is over."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal, Protocol

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
