"""A server that keeps failing is left alone and looked at less and less often; nobody waits longer than they have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

import pytest

from theworld.deadline import Deadline
from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import ServerSettings
from theworld.stores.engine_access import CircuitBreaker, TimeoutGuard

T = TypeVar("T")
PATIENT_S = 30.0


def failing() -> None:
    raise EngineUnavailableError("it is down", where="far")


def guarded(breaker: CircuitBreaker, work: Callable[[], T]) -> T:
    with breaker.guard():
        return work()


def until_closed(breaker: CircuitBreaker) -> None:
    deadline = time.monotonic() + PATIENT_S
    while breaker.reason is not None:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def opened(failures: int, probe_s: float, looks: Iterator[bool], seen: list[float]) -> CircuitBreaker:
    """Return a breaker that has failed often enough; `looks` says of each look whether the server answers."""

    def probe() -> None:
        seen.append(time.monotonic())
        if not next(looks):
            failing()

    breaker = CircuitBreaker("far", ServerSettings(failures=failures, probe_s=probe_s), probe)
    for _ in range(failures):
        with pytest.raises(EngineUnavailableError, match="it is down"):
            guarded(breaker, failing)
    return breaker


def test_it_refuses_until_the_server_answers_which_it_finds_out_soon() -> None:
    seen: list[float] = []
    with closing(opened(3, 60.0, iter([False, False, True]), seen)) as breaker:
        begun = time.monotonic()
        with pytest.raises(EngineUnavailableError, match=r"failed 3 times in a row .* it is down"):
            guarded(breaker, lambda: None)
        until_closed(breaker)
        assert time.monotonic() - begun < 60.0 / 4
        assert guarded(breaker, lambda: 5) == 5
    assert seen[2] - seen[1] > seen[1] - seen[0] - 0.05  # each pause is longer than the one before


def test_it_looks_at_least_so_often() -> None:
    seen: list[float] = []
    with closing(opened(1, 0.01, iter([*[False] * 20, True]), seen)) as breaker:
        until_closed(breaker)
    assert len(seen) == 21


def test_a_request_refused_is_no_failure_and_a_success_forgets_those_before() -> None:
    breaker = CircuitBreaker("far", ServerSettings(failures=2, probe_s=60.0), failing)

    def refused() -> None:
        raise StoreError("no such thing", where="far")

    with closing(breaker):
        for work in (failing, refused, lambda: None, failing):
            try:
                guarded(breaker, work)
            except StoreError:
                assert breaker.reason is None
        assert guarded(breaker, lambda: 1) == 1


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
