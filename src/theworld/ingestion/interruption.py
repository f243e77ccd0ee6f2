"""Ctrl-C: what writes nothing is left at once, a batch of usual size is finished; a second Ctrl-C stops everything."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from theworld.ingestion.report import IngestProgress, Part


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
