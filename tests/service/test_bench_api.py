"""A search tried on the bench, and documents chosen: the same as live, and nothing live knows of the first."""

from __future__ import annotations

import re

import pytest

from service_cases import CHINESE, LOCAL, TWO_HOP, settings_over, wait_for_b
from theworld.service.runtime import open_service

pytestmark = pytest.mark.slow
BENCH, SEARCH = "/api/v1/retrieval/bench", "/api/v1/retrieval/search"
STRATEGY = '{"name": "B", "rerank": false}'
TRIED = {"query": TWO_HOP, "top_k": 5, "enable_rerank": False, "channels": ["sparse", "dense"]}


def counted(client) -> list[str]:
    """What Prometheus is told of all that is asked, but for the HTTP traffic of other addresses than search and ask."""
    lines = client.get("/metrics").text.splitlines()
    elsewhere = re.compile(r"process_|python_|theworld_request(s_total|_seconds_\w+){.*(bench|metrics)")
    return [line for line in lines if not line.startswith("#") and not elsewhere.match(line)]


@pytest.mark.parametrize("query", [TWO_HOP, CHINESE])
def test_it_finds_what_a_search_finds(call, query):
    tried, found = call(BENCH, {"query": query, "top_k": 5}), call(SEARCH, {"query": query, "top_k": 5})
    assert [c["note_id"] for c in tried["candidates"]] == [c["note_id"] for c in found["candidates"]]
    assert [stage["stage"] for stage in tried["stages"]] == [stage["stage"] for stage in found["stages"]]
    best = tried["candidates"][0]
    assert best["channels"]
    assert best["final_score"] == found["candidates"][0]["final_score"]
    bare = call(BENCH, {**TRIED, "query": query})
    assert set(bare["route"]["channels"]) == {"sparse", "dense"}
    assert bare["rerank_outcome"] == "skipped"


def test_nothing_live_knows_of_it(client, call, service):
    service.writer.flush()
    call("/api/v1/ask", {"question": TWO_HOP, "stream": False})
    service.writer.flush()
    online, before = call("/api/v1/metrics/online"), counted(client)
    assert online["requests"] >= 1
    rows = len(list(service.journal.requests("default", arm=None)))
    tried = [call(BENCH, TRIED)["request_id"], call(BENCH, {"query": "hello"})["request_id"]]
    service.writer.flush()
    assert call("/api/v1/metrics/online") == online
    assert counted(client) == before
    assert len(list(service.journal.requests("default", arm=None))) == rows
    for request_id in tried:
        assert client.get(f"/api/v1/retrieval/explain/{request_id}").status_code == 404
        judged = client.post("/api/v1/feedback", json={"request_id": request_id, "verdict": "good"})
        assert judged.status_code == 404, "no golden set is made of it"
    call(SEARCH, TRIED)
    service.writer.flush()
    assert counted(client) != before, "what is counted is looked at"


def test_no_strategy_runs_beside_it(copy_of_demo, monkeypatch):
    from fastapi.testclient import TestClient

    from theworld.service.app import create_app

    beside: list[str] = []
    settings = settings_over(copy_of_demo(), ab_share=1.0, ab_strategy=STRATEGY)
    with open_service(settings, bound_to="127.0.0.1") as both, TestClient(create_app(both), **LOCAL) as client:
        monkeypatch.setattr(type(both), "_run_b", lambda _, asked: beside.append(asked.endpoint))
        assert client.post(BENCH, json=TRIED).status_code == 200
        assert client.post(SEARCH, json=TRIED).status_code == 200
        wait_for_b(both)
    assert beside == ["search"]


@pytest.mark.parametrize("body", [{"query": ""}, {"query": "x", "top_k": 0}, {"query": "x", "channels": ["nose"]}, {}])
def test_wrong_settings_are_refused_by_name(client, body):
    reply = client.post(BENCH, json=body)
    assert reply.status_code == 422
    assert reply.json()["code"] == 1001


@pytest.mark.parametrize("channels", [None, ["sparse"], ["dense"], ["graph"]])
def test_chosen_documents_are_searched_alone(call, channels):
    chosen = ["en/metropolis-film.md", "en/no-such-document.md"]
    free = call(SEARCH, {"query": TWO_HOP, "channels": channels})
    assert {c["document_id"] for c in free["candidates"]} > {chosen[0]}
    found = call(SEARCH, {"query": TWO_HOP, "channels": channels, "filters": {"document_id": chosen}})
    assert {c["document_id"] for c in found["candidates"]} == {chosen[0]}
    assert found["candidates"]


def test_an_answer_from_chosen_documents_cites_them_alone(call):
    asked = {
        "question": "Who directed Metropolis?",
        "stream": False,
        "filters": {"document_id": "en/metropolis-film.md"},
    }
    answer = call("/api/v1/ask", asked)
    assert {citation["document_id"] for citation in answer["citations"]} == {"en/metropolis-film.md"}
    assert "Fritz Lang" in answer["answer"]


def test_documents_are_listed_by_their_metadata(call, client):
    two = {"documents": [
        {"id": f"filtered/{name}", "text": f"The {name} gate.", "metadata": {"gate": name, "tags": ["old", "a=b"]}}
        for name in ("north", "south", "west")
    ]}  # fmt: skip
    assert call("/api/v1/documents", two, x_tenant_id="gates")["written"] == 3

    def listed(query):
        found = call(f"/api/v1/documents?{query}", x_tenant_id="gates")
        assert found["total"] == len(found["documents"])
        return [item["id"].removeprefix("filtered/") for item in found["documents"]]

    assert listed("filter=gate%3Dnorth") == ["north"]
    assert listed("filter=gate%3Dnorth&filter=gate%3Dwest&filter=tags%3Da%3Db") == ["north", "west"]
    assert listed("filter=gate%3Dnorth&search=south") == []
    assert listed("filter=document_id%3Dfiltered/south") == ["south"]
    assert listed("filter=nothing%3D") == []
    wrong = client.get("/api/v1/documents?filter=gate", headers={"Accept-Language": "en"})
    assert wrong.status_code == 422
    assert "'gate' is not of the form key=value" in wrong.json()["message"]
