"""Requests on record: off the hot path, whole or not at all, bounded, pruned; and the router's history from them."""

from __future__ import annotations

import threading
import time

import pytest

from service_cases import wait_until
from theworld.errors import StoreError
from theworld.service.requests.record import FinishedRequest
from theworld.service.requests.running import Run
from theworld.service.requests.writer import BATCH, RequestWriter
from theworld.settings import Settings
from theworld.state import Context, QueryInput, RouteDecision
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.opening import open_database
from theworld.stores.ledger.request_log import RequestJournal


@pytest.fixture
def ledger(tmp_path):
    KnowledgeStore.open(tmp_path / "store", create=True).close()
    with open_database(tmp_path / "store", writable=True) as opened:
        yield opened


@pytest.fixture
def journal(ledger):
    return RequestJournal(ledger)


def asked(number, tenant="default", path="hybrid", created=None):
    run = Run(QueryInput(question=f"question {number}"), Context(tenant=tenant))
    run.state = {"question": f"question {number}", "route": RouteDecision(path=path)}
    from theworld.service.requests.running import Step
    from theworld.state import StageTrace

    run.steps.append(Step(StageTrace(stage="route_query", elapsed_ms=1.0), 0.0))
    more = {} if created is None else {"created": created}
    return FinishedRequest(tenant, f"r{number}", "t", "ask", "answer", run, Settings(), 0, "model", 1.0, **more)


def writer_over(journal, **changes):
    return RequestWriter(journal, **{"retention_days": 30, **changes})


def test_what_is_put_is_written_by_another_thread(journal):
    writer = writer_over(journal)
    for number in range(200):
        writer.put(asked(number))
    assert writer.flush()
    writer.close()
    assert [row["request_id"] for row in journal.requests("default")] == [f"r{n}" for n in range(200)]
    assert (writer.written, writer.dropped) == (200, 0)


def test_a_full_queue_drops_the_oldest_and_counts_them(journal, caplog, monkeypatch):
    monkeypatch.setattr("theworld.service.requests.writer.QUEUE", 5)
    entered, release = threading.Event(), threading.Event()

    class Slow(RequestJournal):
        def write(self, records):
            entered.set()
            release.wait(60)
            super().write(records)

    writer = writer_over(Slow(journal._ledger))
    writer.put(asked(0))
    assert entered.wait(60)
    for number in range(1, 21):
        writer.put(asked(number))  # it never waits for the ledger, which stands still
    release.set()
    writer.close()
    assert [row["request_id"] for row in journal.requests("default")] == ["r0", "r16", "r17", "r18", "r19", "r20"]
    assert writer.dropped == 15
    assert "cannot keep up" in caplog.text


def test_records_wait_for_a_quiet_moment_or_for_somebody_who_wants_them(journal, monkeypatch):
    monkeypatch.setattr("theworld.service.requests.writer.LONGEST_DELAY_S", 600.0)
    working = threading.Event()
    working.set()
    writer = writer_over(journal, busy=working.is_set)
    writer.put(asked(1))
    time.sleep(0.2)
    assert writer.written == 0
    assert writer.flush()
    assert writer.written == 1
    writer.put(asked(2))
    writer.settle("r2", tenant="default", timeout_s=60)
    assert journal.knows("r2", tenant="default")
    writer.put(asked(3))
    working.clear()
    wait_until(lambda: writer.written == 3)
    working.set()
    for number in range(4, 4 + BATCH):
        writer.put(asked(number))
    wait_until(lambda: writer.written == 3 + BATCH)
    writer.close()


def test_records_do_not_wait_for_a_quiet_moment_for_ever(journal):
    writer = writer_over(journal, busy=lambda: True)
    writer.put(asked(1))
    wait_until(lambda: writer.written == 1)
    writer.close()


def test_a_ledger_that_refuses_for_a_while_loses_nothing(journal, monkeypatch):
    monkeypatch.setattr("theworld.service.requests.writer.RETRY_S", 0.01)
    refusals = [True, True]

    class Moody(RequestJournal):
        def write(self, records):
            if refusals:
                raise StoreError("locked")
            super().write(records)

        def accepts(self):
            return not (refusals and refusals.pop())

    writer = writer_over(Moody(journal._ledger))
    for number in range(10):
        writer.put(asked(number))
    assert writer.flush()
    writer.close()
    assert len(list(journal.requests("default"))) == 10
    assert writer.dropped == 0


def test_a_record_that_cannot_be_kept_keeps_no_other_out(journal, caplog):
    entered, release = threading.Event(), threading.Event()

    class Slow(RequestJournal):
        def write(self, records):
            entered.set()
            release.wait(60)
            super().write(records)

    writer = writer_over(Slow(journal._ledger))
    for number in (0, 1, 1, 2):  # the same id twice: the table takes it once
        writer.put(asked(number))
    assert entered.wait(60)
    release.set()
    assert writer.flush()
    writer.close()
    assert [row["request_id"] for row in journal.requests("default")] == ["r0", "r1", "r2"]
    assert (writer.written, writer.dropped) == (3, 1)
    assert "cannot be put on record" in caplog.text


def test_a_transaction_that_fails_in_the_middle_leaves_nothing(journal):
    from theworld.service.requests.record import record_of

    good, bad = record_of(asked(1)), record_of(asked(2))
    bad.candidates = [{"source": "sparse", "note_id": None, "rank": 1, "score": 0.0}]
    with pytest.raises(StoreError):
        journal.write([good, bad])
    assert list(journal.requests("default")) == []


def test_retention_deletes_whole_records(journal, ledger):
    writer = writer_over(journal, retention_days=1)
    writer.put(asked(1, created=time.time() - 2 * 86_400))
    writer.put(asked(2))
    writer.flush()
    writer.close()
    journal.prune(int((time.time() - 86_400) * 1000))
    assert [row["request_id"] for row in journal.requests("default")] == ["r2"]
    with ledger.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM router_decision_log").scalar() == 1


def test_another_tenants_record_is_as_unknown_as_none(journal):
    writer = writer_over(journal)
    writer.put(asked(1, tenant="red"))
    writer.close()
    assert journal.read("r1", tenant="red") is not None
    assert journal.read("r1", tenant="blue") is None
    assert journal.read("r9", tenant="blue") is None
    assert list(journal.requests("blue")) == []


def test_section_6_the_routers_history_comes_from_logs_and_feedback(journal):
    writer = writer_over(journal)
    for number, path in enumerate(["hybrid", "hybrid", "sparse", "graph", "graph", "graph"]):
        writer.put(asked(number, path=path))
    writer.put(asked(0, tenant="other", path="hybrid"))
    writer.close()
    for request_id, verdict in [("r0", "good"), ("r1", "bad"), ("r2", "bad"), ("r2", "good"), ("r3", "bad")]:
        feedback = {"request_id": request_id, "verdict": verdict, "answers": [], "documents": [], "comment": ""}
        journal.add_feedback({**feedback, "tenant": "default", "created_ms": int(time.time() * 1000)})
    assert journal.route_outcomes("default") == {"graph": (0, 1), "hybrid": (1, 2), "sparse": (1, 1)}
    assert journal.route_outcomes("other") == {}


def test_the_tables_of_section_9_are_there(tmp_path, ledger):
    from sqlalchemy import create_engine, inspect

    wanted = {
        "graph_node", "graph_edge", "retrieval_request_log", "retrieval_candidate", "rerank_score",
        "router_decision_log", "eval_dataset", "eval_result",
    }  # fmt: skip
    engine = create_engine(f"sqlite:///{next(tmp_path.rglob('ledger.sqlite'))}")
    assert wanted <= set(inspect(engine).get_table_names())
    engine.dispose()
