"""Late work is abandoned on time, what it raises in time is raised to the caller; waits that a server asks for."""

import math
import threading
import time
from contextvars import ContextVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from theworld.deadline import Deadline, DeadlineExceededError, iterate_within, run_within, seconds_to_wait


def test_returns_the_value():
    assert run_within(Deadline.after(1000), lambda: 42, name="quick") == 42


def test_raises_what_the_work_raises():
    def fail() -> None:
        raise KeyError("no such note")

    with pytest.raises(KeyError, match="no such note"):
        run_within(Deadline.after(1000), fail, name="failing")


def test_late_work_is_not_waited_for():
    release = threading.Event()
    begun = time.perf_counter()
    with pytest.raises(DeadlineExceededError, match="not done after"):
        run_within(Deadline.after(30), lambda: release.wait(60), name="late")
    assert time.perf_counter() - begun < 20
    release.set()


def test_nothing_starts_after_the_deadline():
    ran = []
    with pytest.raises(DeadlineExceededError, match="no time left"):
        run_within(Deadline(time.perf_counter() - 1, 100), lambda: ran.append(1), name="never")
    assert not ran


def test_pieces_come_as_they_are_made_and_late_ones_are_not_waited_for():
    release, begun = threading.Event(), time.perf_counter()

    def pieces():
        yield 1
        yield threading.current_thread().name
        release.wait(60)
        yield 3

    came = iterate_within(Deadline.after(2_000), pieces, name="pieces")
    assert [next(came), next(came)] == [1, "pieces"]
    with pytest.raises(DeadlineExceededError, match="not done after 2000 ms"):
        next(came)
    assert time.perf_counter() - begun < 20
    release.set()
    assert list(iterate_within(Deadline.after(60_000), lambda: iter("ab"), name="pieces")) == ["a", "b"]


def test_pieces_know_the_callers_context_and_raise_what_is_raised():
    known = ContextVar("known", default="nothing")
    known.set("this")

    def pieces():
        yield known.get()
        raise KeyError("no such piece")

    came = iterate_within(Deadline.after(60_000), pieces, name="pieces")
    assert next(came) == "this"
    with pytest.raises(KeyError, match="no such piece"):
        next(came)


def test_remaining_never_negative():
    assert Deadline(time.perf_counter() - 1, 100).remaining_ms() == 0
    assert Deadline(time.perf_counter() - 1, 100).expired


def test_a_check_between_steps_ends_late_work():
    Deadline.after(60_000).check()
    with pytest.raises(DeadlineExceededError, match="nothing left of 100 ms"):
        Deadline(time.perf_counter() - 1, 100).check()


@pytest.mark.parametrize(
    ("other", "budget"),
    [
        (None, 100),
        (Deadline(10.0, 50), 50),
        (Deadline(10.0, 500), 100),
        (Deadline(9.9, 150), 50),
        (Deadline(0.0, 9), 0),
    ],
)
def test_a_deadline_ends_with_the_one_it_is_part_of(other, budget):
    cut = Deadline(10.0, 100).ending_with(other)
    assert cut.started == 10.0
    assert cut.budget_ms == pytest.approx(budget)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("12", 12.0),
        (" 3 ", 3.0),
        ("0.5", 0.5),
        ("soon", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 +1400", 0.0),
    ],
)
def test_seconds_to_wait(value, seconds):
    assert seconds_to_wait(value) == seconds


@given(st.text(max_size=30))
@example("Mon, 01 Jan 2024 00:00:00 +99999999999999999999")
@example("Fri, 31 Dec 9999 23:59:59 -1400")
@example("9" * 400)
def test_any_value_is_a_wait_or_none(value):
    seconds = seconds_to_wait(value)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))
