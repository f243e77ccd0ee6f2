"""Section 10.2.3: switching an A/B strategy never touches the main path; both arms are on record."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, TWO_HOP, settings_over, wait_for_b
from theworld.service.app import create_app
from theworld.service.requests.explanation import as_text, explain
from theworld.service.requests.replay import replay
from theworld.service.runtime import open_service

pytestmark = pytest.mark.slow
ASK = {"question": TWO_HOP, "stream": False}
STRATEGY = '{"name": "no-rerank", "rerank": false, "settings": {"retrieval": {"fusion": {"method": "rrf"}}}}'


@pytest.fixture(scope="module")
def alone(copy_of_demo):
    """A service without a second strategy, to which no other test has written."""
    with open_service(settings_over(copy_of_demo()), bound_to="127.0.0.1") as service:
        yield service


@pytest.fixture(scope="module")
def both(copy_of_demo):
    settings = settings_over(copy_of_demo(), ab_share=1.0, ab_strategy=STRATEGY)
    with open_service(settings, bound_to="127.0.0.1") as service:
        yield service


def answer(service):
    with TestClient(create_app(service), **LOCAL) as client:
        reply = client.post("/api/v1/ask", json=ASK)
    assert reply.status_code == 200
    return reply.json()["data"]


def same(data):
    return {k: v for k, v in data.items() if k not in {"request_id", "elapsed_ms", "stages"}}


def test_section_10_2_both_arms_are_logged_and_the_callers_answer_is_the_main_ones(alone, both):
    data = answer(both)
    assert same(data) == same(answer(alone))
    wait_for_b(both)
    both.writer.flush()
    (other,) = both.journal.arms(data["request_id"], tenant="default")
    record = both.journal.read(other, tenant="default")
    assert (record.request["arm"], record.request["parent"]) == ("no-rerank", data["request_id"])
    assert record.route["decision"]["rerank"] is False
    assert record.request["outcome"]["fusion"]["settings"]["method"] == "rrf"
    main = both.journal.read(data["request_id"], tenant="default")
    assert main.request["outcome"]["fusion"]["settings"]["method"] == "minmax"
    told = as_text(explain(main, arms=[other]), "en")
    assert told.endswith(f"Beside it, to compare: request {other}")
    assert f"Run beside request {data['request_id']}" in as_text(explain(record), "en")
    assert replay(record, both.resources).exact, "strategy B replays as strategy B"
    counted = {row["request_id"] for row in both.journal.requests("default")}
    assert data["request_id"] in counted
    assert other not in counted, "metrics count the main arm"


def test_section_10_2_a_strategy_that_fails_leaves_the_main_path_untouched(alone, both):
    class Broken:
        def stream(self, *_args, **_kwargs):
            raise RuntimeError("strategy B is broken")

    broken = replace(both)
    broken.__dict__["graph_b"] = Broken()
    data = answer(broken)
    assert same(data) == same(answer(alone))
    wait_for_b(broken)
    broken.writer.flush()
    (other,) = both.journal.arms(data["request_id"], tenant="default")
    assert both.journal.read(other, tenant="default").request["status"] == "error"


def test_section_10_2_a_strategy_that_hangs_is_not_waited_for(alone, both):
    release, entered = threading.Event(), threading.Event()

    class Hanging:
        def stream(self, *_args, **_kwargs):
            entered.set()
            release.wait(60)
            return iter(())

    hanging = replace(both)
    hanging.__dict__["graph_b"] = Hanging()
    try:
        with TestClient(create_app(hanging), **LOCAL) as client:
            for _ in range(12):  # more than may wait
                assert client.post("/api/v1/retrieval/route", json={"query": TWO_HOP}).status_code == 200
        assert entered.wait(60)
        assert hanging.metrics.shadow.labels("left_out")._value.get() > 0
    finally:
        release.set()
    wait_for_b(hanging)
