"""Section 8 of the retrieval document: the endpoints of retrieval, and the switches of section 11."""

from __future__ import annotations

import pytest

from service_cases import CHINESE, TWO_HOP

pytestmark = pytest.mark.slow
SEARCH, ROUTE, RERANK = (f"/api/v1/retrieval/{name}" for name in ("search", "route", "rerank"))


def test_section_8_search_takes_the_documents_own_example(call):
    body = {"query": "关联企业近30天授信变化与交易波动", "top_k": 20, "enable_graph": True, "enable_rerank": True}
    data = call(SEARCH, body)
    assert set(data) >= {"request_id", "candidates", "route", "paths", "degradations", "rerank_outcome", "stages"}
    assert data["language"] == "zh"
    assert len(data["candidates"]) == 20


def test_section_8_route_decides_and_searches_nothing(call):
    data = call(ROUTE, {"query": TWO_HOP})
    assert data["route"]["strategy"]
    assert data["route"]["reasons"]
    assert set(data["route"]["channels"]) == {"sparse", "dense", "graph"}
    assert "candidates" not in data


def test_section_8_rerank_orders_given_texts_and_notes(call):
    texts = [
        {"id": "b", "text": "The Danube flows through Vienna."},
        {"id": "a", "text": "Metropolis is a film directed by Fritz Lang."},
    ]
    data = call(RERANK, {"query": "Who directed Metropolis?", "documents": texts})
    assert [item["id"] for item in data["results"]] == ["a", "b"]
    assert data["outcome"] == "complete"
    assert data["model_version"]
    found = call(SEARCH, {"query": TWO_HOP, "top_k": 5})
    notes = [candidate["note_id"] for candidate in found["candidates"]]
    ranked = call(RERANK, {"query": TWO_HOP, "note_ids": [*notes, "unknown#0"]})
    assert sorted(item["id"] for item in ranked["results"]) == sorted(notes)


def test_a_given_text_never_meets_a_stored_note_of_the_same_id(call):
    note = call(SEARCH, {"query": TWO_HOP, "top_k": 1})["candidates"][0]["note_id"]
    data = call(RERANK, {"query": "a lighthouse", "documents": [{"id": note, "text": "A lighthouse."}]})
    assert [(item["id"], item["covered"]) for item in data["results"]] == [(note, 1.0)]


def test_section_11_graph_rerank_and_router_can_each_be_switched_off(call):
    def channels(data):
        return set(data["route"]["channels"])

    usual = call(SEARCH, {"query": TWO_HOP})
    assert usual["rerank_outcome"] == "complete"
    no_graph = call(SEARCH, {"query": TWO_HOP, "enable_graph": False})
    assert "graph" not in channels(no_graph)
    assert "graph" not in {name for c in no_graph["candidates"] for name in c["channels"]}
    assert channels(call(ROUTE, {"query": TWO_HOP, "channels": ["sparse", "graph"], "enable_graph": False})) == {
        "sparse"
    }
    no_rerank = call(SEARCH, {"query": TWO_HOP, "enable_rerank": False})
    assert no_rerank["rerank_outcome"] == "skipped"
    assert all(c["rerank_rank"] is None for c in no_rerank["candidates"])
    greeting = {"query": "hello"}
    assert channels(call(ROUTE, greeting)) == set()
    assert channels(call(ROUTE, {**greeting, "enable_router": False})) >= {"sparse", "dense", "graph"}


def test_search_makes_no_answer_and_ask_does(call):
    stages = [stage["stage"] for stage in call(SEARCH, {"query": CHINESE})["stages"]]
    assert stages[-1] == "rerank_candidates"
    data = call("/api/v1/ask", {"question": CHINESE, "stream": False})
    assert "范钦" in data["answer"]
    assert data["citations"]
    assert data["usage"]["calls"] == 0
