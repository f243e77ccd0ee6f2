"""The stored request again: byte for byte on an unchanged store, else the differences, stage by stage."""

from __future__ import annotations

import pytest

from service_cases import CHINESE, LOCAL, TWO_HOP, data_of, settings_over
from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.demo import load_questions
from theworld.ingestion import SourceDocument
from theworld.service.documents import DocumentWriter
from theworld.service.requests.explanation import fused_again
from theworld.service.requests.replay import replay
from theworld.service.runtime import open_service

pytestmark = pytest.mark.slow


def record_of(service, request_id):
    service.writer.settle(request_id, tenant="default")
    record = service.journal.read(request_id, tenant="default")
    assert record is not None
    return record


PATIENT = {"deadline_ms": BACKGROUND_DEADLINE_MS}
"""A busy machine misses the usual deadline at times, and a request that fell back is not what its replay is."""

BODIES = [
    ("ask", {"question": TWO_HOP}),
    ("ask", {"question": CHINESE, "top_k": 3}),
    ("ask", {"question": "When was she born?", "history": [{"role": "user", "content": "Who was Marie Curie?"}]}),
    ("ask", {"question": "What did I ask yesterday?", "history": [
        {"role": "user", "content": "Who was Marie Curie?", "timestamp": "2026-01-02T03:04:05Z"}]}),
    ("ask", {"question": "What about it?", "clarify": True, "choice": "1", "history": [
        {"role": "user", "content": "Tell me about Ada Lovelace and Marie Curie"},
        {"role": "assistant", "content": "Ada Lovelace was a mathematician. Marie Curie was a physicist."}]}),
    ("ask", {"question": "Who stayed behind?", "history": [
        {"role": "user", "content": "What happened at Apollo 11?"}, {"role": "assistant", "content": "..."}]}),
    ("ask", {"question": "hello"}),
    ("retrieval/search", {"query": "南仁东与FAST", "enable_graph": False, "filters": {"nothing": "here"}}),
    ("retrieval/search", {"query": TWO_HOP, "enable_rerank": False}),
    ("retrieval/route", {"query": TWO_HOP}),
    ("retrieval/rerank", {"query": TWO_HOP, "documents": [{"id": "a", "text": "Fritz Lang was born in Vienna."}]}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body"), BODIES, ids=[f"{p}-{i}" for i, (p, _) in enumerate(BODIES)])
def test_a_request_replays_byte_for_byte(service, call, path, body):
    more = {"ask": PATIENT | {"stream": False}, "retrieval/route": {}}.get(path, PATIENT)
    data = call(f"/api/v1/{path}", body | more)
    found = replay(record_of(service, data["request_id"]), service.resources, service.graph)
    assert found.differences == {}
    assert found.exact
    assert all(found.stages.values())


def test_a_question_in_context_is_explained_by_the_search_that_was_kept(service, call):
    history = [{"role": "user", "content": "What happened at Apollo 11?"}, {"role": "assistant", "content": "..."}]
    body = {"question": "Who stayed behind?", "history": history, "stream": False, **PATIENT}
    data = call("/api/v1/ask", body)
    record = record_of(service, data["request_id"])
    assert data["query"] == record.request["query"] == "Who stayed behind (Apollo 11)?"
    again = replay(record, service.resources, service.graph)
    fused = [(note.note_id, note.score) for note in fused_again(record)]
    assert again.exact
    assert fused == again.run.state["fused"]


def test_the_demos_questions_replay_byte_for_byte(service, call):
    asked = [{"question": q.question, "stream": False, **PATIENT} for q in load_questions()]
    ids = [call("/api/v1/ask", body)["request_id"] for body in asked]
    found = [replay(record_of(service, i), service.resources, service.graph) for i in ids]
    assert [one.differences for one in found if not one.exact] == []


def test_what_a_changed_store_does_is_told_stage_by_stage(copy_of_demo):
    from fastapi.testclient import TestClient

    from theworld.service.app import create_app

    settings = settings_over(copy_of_demo())
    with open_service(settings, bound_to="127.0.0.1") as service:
        with TestClient(create_app(service), **LOCAL) as client:
            request_id = data_of(client.post("/api/v1/ask", json={"question": TWO_HOP, "stream": False}))["request_id"]
        record = record_of(service, request_id)
        writer = DocumentWriter(settings, service.resources.models)
        text = "The director of the film Metropolis was born in the city of Graz, some claim."
        writer.put([(SourceDocument("Metropolis director", text, "new"), "posted")], tenant="default")
        writer.close()
        found = replay(record, service.resources, service.graph)
    assert not found.exact
    assert not found.stages["channels"]
    assert found.stages["reference"]
    assert any("store has changed" in cause for cause in found.causes)
    assert any("new#0" in difference for difference in found.differences["channels"])
