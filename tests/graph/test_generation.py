"""Generation inside the graph, over real HTTP: a scripted server that speaks the OpenAI protocol."""

import dataclasses

import pytest

from scripted_server import scripted_server
from theworld.graph import build_graph
from theworld.models.chat import OpenAIChatModel
from theworld.models.registry import Models
from theworld.settings import ModelSettings
from theworld.state import Context

pytestmark = pytest.mark.slow

QUESTION = "How did Voyager 1 overtake its twin?"


def piece(text):
    return {"id": "1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}


END = {
    "id": "1",
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
}
USAGE = {
    "id": "1",
    "object": "chat.completion.chunk",
    "choices": [],
    "usage": {"prompt_tokens": 321, "completion_tokens": 7, "total_tokens": 328},
}


@pytest.fixture
def server(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with scripted_server() as running:
        yield running


@pytest.fixture
def graph(resources, server):
    settings = ModelSettings(name="tiny", base_url=server.url, api_key="sk-test", timeout_s=60)
    models = Models(resources.models.embedders, resources.models.taggers, OpenAIChatModel(settings, retries=0))
    # Entity answers need more certainty than there is, so that every question reaches the model.
    answers = resources.settings.answers.model_copy(update={"min_confidence": 1.0, "min_evidence": 0.3})
    changed = resources.settings.model_copy(update={"answers": answers})
    return build_graph(dataclasses.replace(resources, models=models, settings=changed))


def test_the_answer_cites_its_notes_and_streams_its_tokens(graph, server):
    server.streams(piece("It flew "), piece("a faster path [1]."), END, USAGE)
    events = list(graph.stream({"question": QUESTION}, stream_mode=["custom", "values"]))
    tokens = [event["text"] for mode, event in events if mode == "custom"]
    output = events[-1][1]
    assert "".join(tokens) == "It flew a faster path [1]."
    assert (output["kind"], output["answer"]) == ("generated", "It flew a faster path [1].")
    assert (output["usage"].calls, output["usage"].prompt_tokens, output["usage"].completion_tokens) == (1, 321, 7)
    (citation,) = output["citations"]
    assert citation.note_id == output["candidates"][0].note_id
    (_, headers, body) = server.requests[0]
    assert headers["authorization"] == "Bearer sk-test"
    assert citation.quote[:40] in body["messages"][-1]["content"]


def test_an_invented_citation_is_removed_and_reported(graph, server):
    server.streams(piece("It flew faster [1][42]."), END)
    output = graph.invoke({"question": QUESTION})
    assert "[42]" not in output["answer"]
    assert any("[42]" in d.reason for d in output["degradations"])


@pytest.mark.parametrize("failure", ["refuses", "breaks", "garbage"])
def test_a_failing_model_falls_back_to_quoted_sentences(graph, server, failure):
    if failure == "refuses":
        server.sends(500, {"error": {"message": "overloaded"}})
    elif failure == "breaks":
        server.streams(piece("It fl"), done=False)
    else:
        server.sends(200, b"<html>not a model</html>", "text/html")
    output = graph.invoke({"question": QUESTION})
    assert output["kind"] == "extractive"
    assert [d.stage for d in output["degradations"]] == ["generate_answer"]
    assert "sk-test" not in output["degradations"][0].reason
    assert output["usage"].calls == 1


def test_a_caller_can_forbid_the_model(graph, server):
    output = graph.invoke({"question": QUESTION}, context=Context(use_model=False))
    assert (output["kind"], output["usage"].calls, server.requests) == ("extractive", 0, [])


def test_nothing_relevant_costs_no_call(graph, server):
    output = graph.invoke({"question": "What is the capital gains tax rate in Portugal?"})
    assert (output["kind"], server.requests) == ("none", [])
