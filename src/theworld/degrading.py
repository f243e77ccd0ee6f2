"""What a node can do without: its failure is noted as a Degradation, or raised where the caller is strict."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from langgraph.errors import GraphBubbleUp

from theworld.errors import (
    ModelError,
    RetrievalUnavailableError,
    StoreClosedError,
    StoreError,
    TheWorldError,
    WikidataUnavailableError,
)
from theworld.state import Context, Degradation

_OWN = (StoreError, ModelError, WikidataUnavailableError, RetrievalUnavailableError)
"""Errors that say of themselves what is not available."""


class degrading:  # noqa: N801 - a context manager, called like a function
    """Add what the block raises to `noted`, with the milliseconds until then; what follows the block goes on without.

    `reason` is reported before the error, or makes the whole of it from the error. With `context.strict` a StoreError,
    ModelError or WikidataUnavailableError is raised as it is, any other as RetrievalUnavailableError of the stage.
    Interrupts always pass, and that the store is closed. What was noted is kept as `error`.
    """

    def __init__(
        self,
        stage: str,
        context: Context,
        noted: list[Degradation],
        reason: str | Callable[[Exception], str],
        *,
        catching: type[Exception] | tuple[type[Exception], ...] = Exception,
    ) -> None:
        self._stage, self._strict, self._noted = stage, context.strict, noted
        self._reason, self._catching = reason, catching
        self._began = time.perf_counter()
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        """Begin the block."""
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        """Return whether the block's error is noted."""
        if isinstance(error, GraphBubbleUp | StoreClosedError) or not isinstance(error, self._catching):
            return False
        reason = self._reason(error) if callable(self._reason) else f"{self._reason}: {said(error)}"
        if self._strict and isinstance(error, _OWN):
            return False
        if self._strict:
            raise RetrievalUnavailableError(
                reason, where=self._stage, remedy="Fix it, or ask without `strict`."
            ) from error
        self.error = error
        elapsed = (time.perf_counter() - self._began) * 1000
        self._noted.append(Degradation(stage=self._stage, reason=reason, elapsed_ms=elapsed))
        return True


def said(error: Exception) -> str:
    """Return what an error says, with its class where it is none of ours."""
    return str(error) if isinstance(error, TheWorldError) else f"{type(error).__name__}: {error}"
