"""Time limits on connections whose driver has none: the socket of a late one is shut, so its caller gets an error."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol


class HasSocket(Protocol):
    """A connection of a driver."""

    def fileno(self) -> int:
        """Return the number of the socket."""


class Limit:
    """One piece of work under a limit."""

    def __init__(self, connection: HasSocket) -> None:
        self._connection: HasSocket | None = connection
        self._lock = threading.Lock()
        self.passed = False
        """Whether it was late and its socket was shut."""

    def cut(self) -> None:
        """Shut the socket unless the work has ended; the thread that waits on it closes it."""
        with self._lock:
            if self._connection is not None:
                self.passed = True
                # A connection that is closed already has no number, and raises its driver's own error.
                with suppress(Exception), socket.socket(fileno=os.dup(self._connection.fileno())) as one:
                    one.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Leave the connection to whoever uses it next."""
        with self._lock:
            self._connection = None


@contextmanager
def time_limit(connection: HasSocket, seconds: float) -> Iterator[Limit]:
    """Shut the connection's socket unless the block is left in time."""
    limit = Limit(connection)
    timer = threading.Timer(seconds, limit.cut)
    timer.daemon = True
    timer.start()
    try:
        yield limit
    finally:
        timer.cancel()
        limit.end()
