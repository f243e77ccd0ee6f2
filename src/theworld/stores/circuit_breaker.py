"""Servers that do not answer: waited for no longer than a query has time, and left alone when they keep failing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.errors import EngineUnavailableError, TheWorldError
from theworld.settings import ServerSettings

T = TypeVar("T")

_FIRST_PROBE_S = 0.05


class CircuitBreaker:
    """Counts the failures in a row of one server; when there are too many, calls are refused at once.

    While it refuses, a thread of its own asks whether the server answers, first soon and then less and less often, at
    least every `probe_s` seconds, so that no query has to try it. Thread-safe. Source: Nygard, Release It!, 2007.
    """

    def __init__(self, name: str, settings: ServerSettings, probe: Callable[[], object]) -> None:
        """Guard the server called `name`; `probe` returns when it answers, and raises otherwise."""
        self._name, self._limit, self._probe_s, self._probe = name, settings.failures, settings.probe_s, probe
        self._lock = threading.Lock()
        self._failed = 0
        self._reason: str | None = None
        self._closed = threading.Event()

    @property
    def reason(self) -> str | None:
        """Why the server is left alone; None while it is asked."""
        return self._reason

    def call(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, under `guard`."""
        with self.guard():
            return work()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let the block run; EngineUnavailableError at once while the server is left alone.

        Only an EngineUnavailableError counts as a failure: a server that refuses one request is alive.
        """
        reason = self._reason
        if reason is not None:
            raise EngineUnavailableError(
                f"it failed {self._limit} times in a row and is left alone until it answers again; the last: {reason}",
                where=self._name,
            )
        try:
            yield
        except EngineUnavailableError as error:
            self._count(error.what)
            raise
        with self._lock:
            self._failed = 0

    def _count(self, what: str) -> None:
        with self._lock:
            self._failed += 1
            if self._failed < self._limit or self._reason is not None or self._closed.is_set():
                return
            self._reason = what
        threading.Thread(target=self._watch, name=f"probe {self._name}", daemon=True).start()

    def _watch(self) -> None:
        """Ask until the server answers."""
        wait = min(_FIRST_PROBE_S, self._probe_s)
        while not self._closed.wait(wait):
            try:
                self._probe()
            except TheWorldError:
                wait = min(2 * wait, self._probe_s)
                continue
            with self._lock:
                self._failed, self._reason = 0, None
            return

    def close(self) -> None:
        """Stop asking."""
        self._closed.set()


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
