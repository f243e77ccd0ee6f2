"""A language model is asked for the path where the strategy is not sure: over HTTP, through `theworld.structure`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from langgraph.runtime import Runtime

from scripted_server import ScriptedServer, scripted_server
from theworld.models.chat import OpenAIChatModel
from theworld.nodes.route_query import Choice, Features
from theworld.nodes.route_query.node import route_query
from theworld.settings import ModelSettings, Settings
from theworld.state import Context, QueryState

QUESTION = "What became of the mill?"


class Unsure:
    """A strategy that is never sure."""

    name = "unsure"

    def __init__(self, confidence: float = 0.2) -> None:
        self.confidence = confidence

    def choose(self, query: str, features: Features) -> Choice:
        return Choice("sparse", "question", self.confidence, ("a guess",))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("theworld.nodes.route_query.node.TIMEOUT_S", 60.0)  # a busy machine is no slow model
    with scripted_server() as running:
        yield running


def ask(server: ScriptedServer, confidence: float = 0.2, question: str = QUESTION, **context: Any) -> dict[str, Any]:
    model = OpenAIChatModel(ModelSettings(name="tiny", base_url=server.url, api_key="sk-test", retries=0, timeout_s=60))
    language = "zh" if "谁" in question else "en"
    state = QueryState(question=question, query=question, language=language)
    runtime = cast("Runtime[Context]", Runtime(context=Context(**context)))
    settings = Settings(router={"ask_model": True})
    return route_query(state, runtime, settings=settings, strategy=Unsure(confidence), model=model)


def says(server: ScriptedServer, text: str) -> None:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 90, "completion_tokens": 8, "total_tokens": 98}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    server.sends(200, {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})


@pytest.mark.parametrize(
    "reply",
    [
        '{"path": "graph"}',
        '```json\n{"path": "graph",}\n```',
        '<think>It says {"path": "dense"} at first.</think> {"path": "graph"}',
        "The way is {'path': 'graph'}, I think.",
    ],
)
def test_the_models_path_is_taken_and_counted(server: ScriptedServer, reply: str) -> None:
    says(server, reply)
    update = ask(server)
    assert update["route"].path == "graph"
    assert update["route"].reasons[-1] == "tiny was asked and chose graph"
    assert (update["usage"].calls, update["degradations"]) == (1, [])
    assert set(update["route"].channels) == {"sparse", "dense", "graph"}
    (path, _, body) = server.requests[0]
    assert path == "/v1/chat/completions"
    assert QUESTION in body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("I cannot say.", "named no path"),
        ('{"path": "oracle"}', "named no path"),
        ('{"path": "sql"}', "there is no database to ask"),
    ],
)
def test_a_reply_that_names_no_way_leaves_the_strategys_and_is_told(
    server: ScriptedServer, reply: str, problem: str
) -> None:
    says(server, reply)
    update = ask(server)
    assert update["route"].path == "hybrid", "an unsure choice is widened"
    assert problem in update["degradations"][0].reason
    assert update["usage"].calls == 1


def test_a_server_that_fails_leaves_the_strategys_and_is_told(server: ScriptedServer) -> None:
    server.sends(500, {"error": {"message": "overloaded"}})
    update = ask(server)
    assert update["route"].path == "hybrid"
    assert "tiny was not able to choose a path" in update["degradations"][0].reason


def test_chinese_questions_are_asked_in_chinese(server: ScriptedServer) -> None:
    says(server, '{"path": "dense"}')
    assert ask(server, question="磨坊归谁了？")["route"].path == "dense"
    assert "问题" in server.requests[0][2]["messages"][0]["content"]


@pytest.mark.parametrize("context", [{"use_model": False}, {"tokens_left": 0}])
def test_it_is_not_asked_where_the_caller_forbids_it(server: ScriptedServer, context: dict[str, Any]) -> None:
    assert ask(server, **context)["route"].path == "hybrid"
    assert server.requests == []


def test_it_is_not_asked_where_the_strategy_is_sure(server: ScriptedServer) -> None:
    assert ask(server, confidence=0.9)["route"].path == "sparse"
    assert server.requests == []
