"""Feedback on record reaches the router, rarely asked for, and never at the cost of a request."""

import threading
import time

import pytest

from theworld.routing import RememberedHistory
from theworld.routing import strategies as history_module


class Source:
    def __init__(self):
        self.calls = 0
        self.broken = False

    def route_outcomes(self, tenant):
        self.calls += 1
        if self.broken:
            raise ConnectionError("gone")
        return {"graph": (self.calls, 10)}


def test_it_is_asked_once_in_a_while_and_a_failure_keeps_what_was_known():
    now = [0.0]
    source = Source()
    history = RememberedHistory(source, clock=lambda: now[0])
    assert [history.route_outcomes("a") for _ in range(3)] == [{"graph": (1, 10)}] * 3
    now[0] = 61
    assert history.route_outcomes("a") == {"graph": (2, 10)}
    source.broken = True
    now[0] = 130
    assert history.route_outcomes("a") == {"graph": (2, 10)}
    assert history.route_outcomes("b") == {}
    assert source.calls == 4


def test_tenants_that_are_asked_for_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(history_module, "TENANTS_REMEMBERED", 3)
    history = RememberedHistory(Source())
    for number in range(20):
        assert history.route_outcomes(f"tenant {number}") == {"graph": (number + 1, 10)}
    assert len(history._known) <= 3
    assert history.route_outcomes("tenant 19") == {"graph": (20, 10)}, "the last ones are remembered"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_request_journal_is_such_a_source(tmp_path):
    from theworld.stores.knowledge_store import KnowledgeStore
    from theworld.stores.ledger.opening import open_database
    from theworld.stores.ledger.request_log import RequestJournal

    KnowledgeStore.open(tmp_path / "store", create=True, read_only=False).close()
    ledger = open_database(tmp_path / "store", writable=True)
    assert RememberedHistory(RequestJournal(ledger)).route_outcomes("default") == {}
    ledger.close()


@pytest.mark.slow
def test_a_source_that_hangs_is_not_waited_for():
    answer = threading.Event()

    class Hanging:
        def route_outcomes(self, tenant):
            answer.wait(60)
            return {"graph": (1, 1)}

    history = RememberedHistory(Hanging())
    begun = time.perf_counter()
    assert [history.route_outcomes("a") for _ in range(3)] == [{}, {}, {}]
    assert time.perf_counter() - begun < 30
    answer.set()
    until = time.monotonic() + 30
    while history.route_outcomes("a") != {"graph": (1, 1)}:
        assert time.monotonic() < until
        time.sleep(0.01)
