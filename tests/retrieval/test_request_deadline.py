"""The request's clock starts with its first node: what references take is missing later, and nothing outlives it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from theworld import Context, Message, QueryState, ReferenceResolver, ReferenceResolverConfig
from theworld.graph.tracing import bind
from theworld.nodes.generate_answer import generate_answer
from theworld.nodes.receive_question import receive_question
from theworld.nodes.resolve_references import resolve_references
from theworld.retrieval.channel import request_deadline, retrieval_deadline, within_request
from theworld.settings import AnswerSettings, RetrievalSettings
from theworld.state import Candidate, QueryInput
from theworld.testing import FakeChatModel

NOTE = Candidate(note_id="p", document_id="p", title="Paris", text="Paris is the capital of France.", end=31)
COMPARED = [Message("user", "Compare MySQL and PostgreSQL"), Message("assistant", "Both are relational.")]


def asked(ago_s: float, retrieval_ago_s: float = 0.0) -> QueryState:
    now = time.perf_counter()
    return QueryState(query="q", request_started=now - ago_s, retrieval_started=now - retrieval_ago_s)


def test_retrieval_keeps_its_own_budget_and_ends_with_the_request() -> None:
    settings = RetrievalSettings()
    assert settings.deadline_ms == 1200
    assert retrieval_deadline(asked(5.0), Context(), settings).budget_ms == 1200
    assert retrieval_deadline(asked(5.0), Context(total_deadline_ms=60_000), settings).budget_ms == 1200
    cut = retrieval_deadline(asked(0.7), Context(total_deadline_ms=1000), settings)
    assert cut.budget_ms == pytest.approx(300, abs=1)
    assert retrieval_deadline(asked(5.0), Context(total_deadline_ms=1000), settings).expired


def test_what_is_left_of_the_request() -> None:
    assert request_deadline(asked(1.0), Context()) is None
    assert within_request(10.0, asked(1.0), Context()) == 10.0
    assert within_request(10.0, asked(1.0), Context(total_deadline_ms=3000)) == pytest.approx(2.0, abs=0.5)
    assert within_request(10.0, QueryState(), Context(total_deadline_ms=3000)) == pytest.approx(3.0, abs=0.5)


def graph(resolver: ReferenceResolver, model: FakeChatModel) -> Any:
    """Question, references, and a model's answer over one note."""
    builder = StateGraph(QueryState, context_schema=Context, input_schema=QueryInput)
    receive = bind(receive_question, optional=False, refresh=lambda _within: None, deadline_ms=1200)
    builder.add_node("receive_question", receive, input_schema=QueryInput)
    builder.add_node("resolve_references", bind(resolve_references, resolver=resolver))
    builder.add_node("find", lambda _state: {"evidence": [NOTE], "retrieval_started": time.perf_counter()})
    builder.add_node("generate_answer", bind(generate_answer, model=model, settings=AnswerSettings()))
    steps = ["receive_question", "resolve_references", "find", "generate_answer"]
    for step, following in zip([START, *steps], [*steps, END], strict=True):
        builder.add_edge(step, following)
    return builder.compile(checkpointer=InMemorySaver())


def test_time_spent_on_references_is_missing_when_the_answer_is_written() -> None:
    def slow(query: str, history: Any) -> dict[str, str]:
        time.sleep(0.4)
        return {"type": "referential", "scope": "last_1_3_turns", "standalone_query": "Is the cache reliable?"}

    resolver = ReferenceResolver(ReferenceResolverConfig(use_llm_fallback=True), llm_resolver=slow)
    for limit, called in ((430, 0), (60_000, 1)):
        model = FakeChatModel(["Yes [1]."])
        question = {
            "question": "那玩意儿靠谱不",
            "history": [Message("user", "缓存?"), Message("assistant", "Redis。")],
        }
        thread: Any = {"configurable": {"thread_id": str(limit)}}
        state = graph(resolver, model).invoke(question, thread, context=Context(total_deadline_ms=limit))
        assert len(model.calls) == called
        assert any("no time left" in item.reason for item in state["degradations"]) == (called == 0)


@pytest.mark.slow
def test_the_time_a_user_takes_to_reply_is_nobodys() -> None:
    model = FakeChatModel(["It does [1]."])
    app, thread = graph(ReferenceResolver(), model), {"configurable": {"thread_id": "1"}}
    context = Context(clarify=True, total_deadline_ms=4000)
    asked_back = app.invoke({"question": "Does it support JSON?", "history": COMPARED}, thread, context=context)
    assert asked_back["__interrupt__"]
    time.sleep(4.1)
    done = app.invoke(Command(resume="2"), thread, context=context)
    assert done["result"].text == "It does [1]."
