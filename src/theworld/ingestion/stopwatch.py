"""Wall-clock seconds by part of the work."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Adds up the seconds of named parts. Thread-safe; parts may overlap."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        self._under_way: dict[str, int] = defaultdict(int)
        self._begun: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Measure a part; at the same time in several threads, it counts in each."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.add(part, perf_counter() - begin)

    def add(self, part: str, seconds: float) -> None:
        """Add what was measured elsewhere."""
        with self._lock:
            self.seconds[part] += seconds

    @contextmanager
    def shared(self, part: str) -> Iterator[None]:
        """Measure the time in which at least one thread is at a part."""
        with self._lock:
            self._under_way[part] += 1
            if self._under_way[part] == 1:
                self._begun[part] = perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._under_way[part] -= 1
                if not self._under_way[part]:
                    self.seconds[part] += perf_counter() - self._begun[part]
