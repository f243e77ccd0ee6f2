"""Waiting for servers no longer than a query has time: what is late goes on by itself, and is named."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.errors import EngineUnavailableError

T = TypeVar("T")


class TimeoutGuard:
    """Runs one kind of work under deadlines; while a late one still hangs, nobody waits for another. Thread-safe."""

    def __init__(self, name: str, where: Callable[[], str]) -> None:
        """Name the threads, and tell whose answer is being waited for."""
        self._name, self._where = name, where
        self._lock = threading.Lock()
        self._late = 0

    def run(self, work: Callable[[], T], within: Deadline) -> T:
        """Return what the work returns; EngineUnavailableError at the deadline, or at once while a late one hangs."""
        if self._late:
            raise EngineUnavailableError("it has not answered yet; the last look still waits.", where=self._where())
        ended = late = False

        def watched() -> T:
            nonlocal ended
            try:
                return work()
            finally:
                with self._lock:
                    ended = True
                    self._late -= late

        try:
            return run_within(within, watched, name=self._name)
        except DeadlineExceededError as error:
            with self._lock:
                late = not ended
                self._late += late
            raise EngineUnavailableError(f"it did not answer in time: {error}.", where=self._where()) from error
