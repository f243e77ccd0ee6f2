"""Ctrl-C that waits for the batch in hand; a second one stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interruption:
    """While entered, the first SIGINT is only noted. Other threads get no signals: nothing changes there."""

    def __init__(self) -> None:
        self._asked = False
        self._before: Any = None
        self._active = False

    def is_asked(self) -> bool:
        """Tell whether Ctrl-C was pressed."""
        return self._asked

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

    def _restore(self) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._before)
            self._active = False
