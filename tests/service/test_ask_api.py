"""`/ask`: events in order, the same answer as the library's, asking back, and choosing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from service_cases import CHINESE, LOCAL, TWO_HOP, Telling
from theworld.service.app import create_app
from theworld.state import Context, QueryInput

pytestmark = pytest.mark.slow
ASK = "/api/v1/ask"


def events_of(text):
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields["event"], json.loads(fields["data"])))
    return found


def test_it_streams_stage_events_and_the_final_state(client, call):
    with client.stream("POST", ASK, json={"question": TWO_HOP}) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = events_of(reply.read().decode())
    kinds = [kind for kind, _ in events]
    assert kinds == ["stage"] * (len(events) - 1) + ["final"]
    stages = [value["stage"] for _, value in events[:-1]]
    assert stages[0] == "receive_question"
    assert stages[-1] == "finish_answer"
    final = events[-1][1]
    assert final["code"] == 0
    assert final["trace_id"] == reply.headers["x-trace-id"]
    assert final["data"]["answer"] == call(ASK, {"question": TWO_HOP, "stream": False})["answer"]


@pytest.mark.parametrize("question", [TWO_HOP, CHINESE])
def test_it_answers_as_the_library_does(service, call, question):
    direct = service.graph.invoke(QueryInput(question=question), context=Context(top_k=20))
    data = call(ASK, {"question": question, "stream": False})
    assert data["answer"] == direct["answer"]
    assert data["kind"] == direct["kind"]
    assert [c["note_id"] for c in data["candidates"]] == [c.note_id for c in direct["candidates"]]


def test_it_uses_the_history(call):
    history = [
        {"role": "user", "content": "Who was Ada Lovelace?"},
        {"role": "assistant", "content": "Ada Lovelace was an English mathematician."},
    ]
    data = call(ASK, {"question": "When was she born?", "history": history, "stream": False})
    assert "Ada Lovelace" in data["query"]


def test_an_ambiguous_reference_is_asked_back_and_the_choice_is_taken(call):
    history = [
        {"role": "user", "content": "Tell me about Ada Lovelace and Marie Curie"},
        {"role": "assistant", "content": "Ada Lovelace was a mathematician. Marie Curie was a physicist."},
    ]
    body = {"question": "What about it?", "history": history, "stream": False, "clarify": True}
    asked = call(ASK, body)
    assert asked["kind"] == "clarify"
    assert len(asked["clarification"]["options"]) == 2
    chosen = call(ASK, {**body, "choice": asked["clarification"]["options"][1]})
    for number in (2, "2"):
        assert call(ASK, {**body, "choice": number})["answer"] == chosen["answer"]
    assert chosen["kind"] != "clarify"
    assert asked["clarification"]["options"][1] in chosen["query"]


def test_an_error_in_a_stream_is_an_error_event(client):
    with client.stream("POST", ASK, json={"question": "?!"}) as reply:
        (event,) = events_of(reply.read().decode())
    assert event[0] == "error"
    assert event[1]["code"] == 1001


def test_a_client_is_told_to_forget_what_was_not_the_answer(service):
    app = create_app(replace(service, graph=Telling(service.graph)))
    with TestClient(app, **LOCAL) as client, client.stream("POST", ASK, json={"question": TWO_HOP}) as reply:
        events = events_of(reply.read().decode())
    assert events[:3] == [("token", {"text": "no"}), ("restart", {}), ("token", {"text": "maybe"})]
    assert events[-1][0] == "final"
