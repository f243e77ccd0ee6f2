"""Ctrl-C: what writes nothing is left at once, a batch of usual size is finished; a second Ctrl-C stops everything."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from theworld.ingestion.report import IngestProgress, Part


class Stopped(KeyboardInterrupt):
    """Ctrl-C, where what is under way may be left."""


class Interruption:
    """While entered, the first SIGINT is noted and told. Other threads get no signals: nothing changes there."""

    def __init__(self, progress: IngestProgress) -> None:
        self._progress = progress
        self._asked = False
        self._before: Any = None
        self._active = False
        self._leaving = False
        self._inside = False

    def is_asked(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self._asked

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """While entered, Ctrl-C raises Stopped wherever it comes: nothing may be written there."""
        self._leaving = True
        try:
            yield
        finally:
            self._leaving = False

    def watching(self) -> IngestProgress:
        """Return the progress, made to raise Stopped between two steps of a part that may be left."""
        return _Watching(self._progress, self)

    def leave(self, *, between_steps: bool) -> None:
        """Say whether what is under way may be left between two steps."""
        self._inside = between_steps

    def check(self) -> None:
        """Raise Stopped when Ctrl-C was pressed and what is under way may be left."""
        if self._asked and self._inside:
            raise Stopped

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)
            self._active = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        self._restore()
        self._progress.stopping()
        if self._leaving:
            raise Stopped

    def _restore(self) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._before)
            self._active = False


class _Watching:
    """Hands everything on, and looks after each step whether to stop."""

    def __init__(self, progress: IngestProgress, interruption: Interruption) -> None:
        self._progress, self._interruption = progress, interruption

    def start(self, part: Part, total: int) -> None:
        self._progress.start(part, total)

    def advance(self, part: Part, steps: int) -> None:
        self._progress.advance(part, steps)
        self._interruption.check()

    def stopping(self) -> None:
        self._progress.stopping()
