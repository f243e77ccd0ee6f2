"""One deadline per request, handed down: what is left of it, and work that must not be waited for longer.

Also how long a server asks to wait.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

BACKGROUND_DEADLINE_MS = 60_000
"""Deadline where results must not depend on how busy the machine is: evaluation, replay, warm-up."""


class DeadlineExceededError(Exception):
    """The work did not finish within what was left of the deadline."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of this process's `time.perf_counter`, as a start and a budget."""

    started: float
    """`time.perf_counter()` when the budget began."""
    budget_ms: float
    """Milliseconds granted from there."""

    @classmethod
    def after(cls, budget_ms: float) -> Deadline:
        """Return a deadline that begins now."""
        return cls(time.perf_counter(), budget_ms)

    def spent_ms(self) -> float:
        """Milliseconds since the start."""
        return (time.perf_counter() - self.started) * 1000

    def remaining_ms(self) -> float:
        """Milliseconds left, never negative."""
        return max(0.0, self.budget_ms - self.spent_ms())

    @property
    def expired(self) -> bool:
        """True when nothing is left."""
        return self.remaining_ms() <= 0

    def ending_with(self, other: Deadline | None) -> Deadline:
        """Return this deadline, cut to where the other ends if that is earlier; None never ends."""
        if other is None:
            return self
        until = other.started * 1000 + other.budget_ms - self.started * 1000
        return Deadline(self.started, max(0.0, min(self.budget_ms, until)))

    def check(self) -> None:
        """Raise DeadlineExceededError when nothing is left: to be called between the steps of one piece of work."""
        if self.expired:
            raise DeadlineExceededError(f"nothing left of {self.budget_ms:.0f} ms")


def begin(work: Callable[[], T], *, name: str) -> Future[T]:
    """Begin work in a daemon thread of its own: nobody has to wait for it, and it cannot hold up the exit."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def run_within(deadline: Deadline | None, work: Callable[[], T], *, name: str) -> T:
    """Return what `work` returns, or raise DeadlineExceededError as soon as the deadline has passed; None never does.

    Late work is abandoned, never waited for (see `begin`). What it raises in time is raised here.
    """
    if deadline is None:
        return work()
    remaining = deadline.remaining_ms()
    if remaining <= 0:
        raise DeadlineExceededError(f"no time left of {deadline.budget_ms:.0f} ms")
    running = begin(work, name=name)
    if not wait([running], remaining / 1000).done:
        raise DeadlineExceededError(f"not done after {remaining:.0f} ms")
    return running.result()


def iterate_within(deadline: Deadline, pieces: Callable[[], Iterable[T]], *, name: str) -> Iterator[T]:
    """Yield what `pieces` yields as it comes, or raise DeadlineExceededError as soon as the deadline has passed.

    Late work is abandoned as by `run_within`. What it raises in time is raised here; it knows the caller's context.
    """
    come: SimpleQueue[T | Future[None]] = SimpleQueue()
    left = threading.Event()

    def pass_on() -> None:
        for piece in pieces():
            if left.is_set():
                return
            come.put(piece)

    running = begin(partial(copy_context().run, pass_on), name=name)
    running.add_done_callback(come.put)
    try:
        while (piece := come.get(timeout=deadline.remaining_ms() / 1000)) is not running:
            yield piece  # type: ignore[misc]  # not the end
        running.result()
    except Empty:
        raise DeadlineExceededError(f"not done after {deadline.budget_ms:.0f} ms") from None
    finally:
        left.set()


def seconds_to_wait(value: str | None) -> float | None:
    """Return the seconds that a `Retry-After` header asks to wait, never negative; None when it names no time.

    It holds seconds or a date (RFC 9110, section 10.2.3). Fractions of a second, which the standard does not know, are
    read too: model servers send them.
    """
    if not value:
        return None
    with suppress(ValueError):
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
