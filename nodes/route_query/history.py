"""What logged feedback says of the paths, remembered for a while: routing must not wait for a ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from theworld.deadline import Deadline, run_within
from theworld.nodes.route_query.strategies import RouteHistory

SECONDS_REMEMBERED = 60.0
TENANTS_REMEMBERED = 1000
LONGEST_MS = 200.0
"""What a question may wait for the source; what comes later counts for the next ones."""


class RememberedHistory:
    """Asks a source at most once a minute and tenant; one that fails leaves what was known. Thread-safe."""

    def __init__(
        self,
        source: RouteHistory,
        *,
        seconds: float = SECONDS_REMEMBERED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._seconds, self._clock = source, seconds, clock
        self._known: dict[str, tuple[float, Mapping[str, tuple[int, int]]]] = {}
        self._lock = threading.Lock()

    def route_outcomes(self, tenant: str) -> Mapping[str, tuple[int, int]]:
        """Return path -> (successes, attempts)."""
        now = self._clock()
        with self._lock:
            asked, known = self._known.get(tenant, (float("-inf"), {}))
            if now - asked < self._seconds:
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
