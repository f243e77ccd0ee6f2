"""Time limits on connections whose driver has none: the socket of a late one is shut, so its caller gets an error."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


class HasSocket(Protocol):
    """A connection of a driver."""

    def fileno(self) -> int:
        """Return the number of the socket."""


@dataclass(slots=True)
class Limit:
    """One piece of work under a limit."""

    connection: HasSocket | None
    seconds: float
    passed: bool = False
    """Whether it was late and its socket was shut."""


class TimeLimits:
    """Watches the work of any number of threads with one of its own, which ends with `close`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Limit]] = []
        self._numbers = itertools.count()
        self._watcher: threading.Thread | None = None
        self._closed = False

    @contextlib.contextmanager
    def on(self, connection: HasSocket, seconds: float) -> Iterator[Limit]:
        """Shut the connection's socket unless the block is left in time."""
        limit = Limit(connection, seconds)
        end = time.monotonic() + seconds
        with self._changed:
            heapq.heappush(self._waiting, (end, next(self._numbers), limit))
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="time limits", daemon=True)
                self._watcher.start()
            elif self._waiting[0][2] is limit:
                self._changed.notify()
        try:
            yield limit
        finally:
            with self._changed:
                limit.connection = None

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                while self._waiting and self._waiting[0][2].connection is None:
                    heapq.heappop(self._waiting)
                if not self._waiting:
                    self._changed.wait()
                    continue
                end, _, limit = self._waiting[0]
                left = end - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                elif limit.connection is not None:
                    heapq.heappop(self._waiting)
                    limit.passed = True
                    _shut(limit.connection)

    def close(self) -> None:
        """Watch no more."""
        with self._changed:
            self._closed = True
            self._changed.notify()


def _shut(connection: HasSocket) -> None:
    """Shut a socket that another thread waits on; that thread closes it."""
    # A connection that is closed already has no number, and raises its driver's own error.
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as one:
        one.shutdown(socket.SHUT_RDWR)
