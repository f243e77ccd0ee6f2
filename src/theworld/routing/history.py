"""What logged feedback says of the paths; remembered for a while, because routing must not wait for a ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from theworld.deadline import Deadline, run_within
from theworld.routing.strategies import Choice

SECONDS_REMEMBERED = 60.0
TENANTS_REMEMBERED = 1000
LONGEST_MS = 200.0
"""What a question may wait for the source; what comes later counts for the next ones."""
ATTEMPTS_THAT_COUNT = 20
"""Logged requests of a path before its history says anything."""
_PRIOR = (2.0, 1.0)
"""Successes and failures that every path is credited with beforehand."""


class RouteHistory(Protocol):
    """How often each path led to an answer that was accepted, from logged feedback."""

    def route_outcomes(self, tenant: str) -> Mapping[str, tuple[int, int]]:
        """Return path -> (successes, attempts)."""


def with_history(choice: Choice, outcomes: Mapping[str, tuple[int, int]]) -> Choice:
    """Return the choice with its confidence lowered by as much as its path has done worse than `hybrid`."""
    tried, wide = outcomes.get(choice.path, (0, 0)), outcomes.get("hybrid", (0, 0))
    if choice.path in {"hybrid", "none"} or min(tried[1], wide[1]) < ATTEMPTS_THAT_COUNT:
        return choice
    own, other = ((successes + _PRIOR[0]) / (attempts + sum(_PRIOR)) for successes, attempts in (tried, wide))
    said = f"history: {choice.path} succeeded {tried[0]} of {tried[1]} times, hybrid {wide[0]} of {wide[1]}"
    confidence = max(0.0, min(1.0, choice.confidence - max(0.0, other - own)))
    return choice._replace(confidence=confidence, reasons=(*choice.reasons, said))


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
