"""Nobody waits longer than they have, and nobody at all while one call is known to hang."""

import threading
import time

import pytest

from theworld.deadline import Deadline
from theworld.errors import EngineUnavailableError
from theworld.stores.timeout_guard import TimeoutGuard


def test_a_late_answer_is_named_then_costs_nothing_then_is_over():
    guard, answer = TimeoutGuard("look", lambda: "PostgreSQL at far:5432"), threading.Event()
    with pytest.raises(EngineUnavailableError, match="PostgreSQL at far:5432: it did not answer in time"):
        guard.run(answer.wait, Deadline.after(20))
    begun = time.perf_counter()
    with pytest.raises(EngineUnavailableError, match="has not answered yet"):
        guard.run(lambda: 1, Deadline.after(60_000))
    assert time.perf_counter() - begun < 5
    answer.set()
    until = time.monotonic() + 30
    while True:
        try:
            assert guard.run(lambda: 2, Deadline.after(60_000)) == 2
            return
        except EngineUnavailableError:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_what_the_work_raises_is_raised():
    guard = TimeoutGuard("look", lambda: "far")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            guard.run(lambda: 1 / 0, Deadline.after(60_000))
