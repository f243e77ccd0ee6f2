"""The deadline of the whole request: it began when the question came in, and every part's own time ends with it."""

from __future__ import annotations

import time

from theworld.deadline import Deadline
from theworld.state import Context, QueryState


def request_deadline(state: QueryState, context: Context) -> Deadline | None:
    """Return the context's `total_deadline_ms` from the moment the question came in, None without a limit.

    A state of no graph run has no such moment; then it begins now.
    """
    if context.total_deadline_ms is None:
        return None
    return Deadline(state.request_started or time.perf_counter(), context.total_deadline_ms)


def within_request(timeout_s: float, state: QueryState, context: Context) -> float:
    """Return seconds, cut to what is left of the request."""
    whole = request_deadline(state, context)
    return timeout_s if whole is None else min(timeout_s, whole.remaining_ms() / 1000)
