"""What logged feedback says of the paths; remembered for a while, because routing must not wait for a ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from theworld.deadline import Deadline, run_within

SECONDS_REMEMBERED = 60.0
TENANTS_REMEMBERED = 1000
LONGEST_MS = 200.0
"""What a question may wait for the source; what comes later counts for the next ones."""


class RouteHistory(Protocol):
    """How often each path led to an answer that was accepted, from logged feedback."""

    def route_outcomes(self, tenant: str) -> Mapping[str, tuple[int, int]]:
        """Return path -> (successes, attempts)."""


class RememberedHistory:
    """Asks a source at most once a minute and tenant; one that fails leaves what was known. Thread-safe."""

    def __init__(self, source: RouteHistory, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._source, self._clock = source, clock
        self._known: dict[str, tuple[float, Mapping[str, tuple[int, int]]]] = {}
        self._lock = threading.Lock()

    def route_outcomes(self, tenant: str) -> Mapping[str, tuple[int, int]]:
        """Return path -> (successes, attempts)."""
        now = self._clock()
        with self._lock:
            asked, known = self._known.get(tenant, (float("-inf"), {}))
            if now - asked < SECONDS_REMEMBERED:
                return known
            if len(self._known) >= TENANTS_REMEMBERED:
                self._known.clear()
            self._known[tenant] = (now, known)

        def ask() -> Mapping[str, tuple[int, int]]:
            found = self._source.route_outcomes(tenant)
            with self._lock:
                self._known[tenant] = (now, found)
            return found

        try:
            return run_within(Deadline.after(LONGEST_MS), ask, name="read route outcomes")
        except Exception:  # a ledger that cannot be read, or hangs, must not end a request
            return known
