"""The node inside a graph: stand-alone query, stances per thread, asking back, and no cost for a self-contained one."""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from theworld import Context, Message, QueryState, ReferenceResolver, ReferenceResolverConfig, ReferenceType
from theworld.graph.resources import make_resolver
from theworld.nodes.resolve_references import resolve_references
from theworld.references import model_resolver
from theworld.references.assistance import InvalidChoiceError, ask_back, chosen_option
from theworld.testing import FakeChatModel

COMPARED = [Message("user", "Compare MySQL and PostgreSQL"), Message("assistant", "Both are relational.")]
VERGLEICH = [Message("user", "MySQL和PostgreSQL有什么区别？"), Message("assistant", "前者简单。")]


def graph(resolver: ReferenceResolver | None = None) -> Any:
    builder = StateGraph(QueryState, context_schema=Context)
    builder.add_node("resolve_references", partial(resolve_references, resolver=resolver or ReferenceResolver()))
    builder.add_edge(START, "resolve_references")
    builder.add_edge("resolve_references", END)
    return builder.compile(checkpointer=InMemorySaver())


def thread(name: str = "1") -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def test_a_dependent_question_is_rewritten_and_both_are_kept() -> None:
    history = [Message("user", "Redis是什么？"), Message("assistant", "内存数据库")]
    state = graph().invoke({"question": "它支持集群吗？", "history": history}, thread())
    assert (state["question"], state["query"], state["language"]) == (
        "它支持集群吗？",
        "它支持集群吗（内存数据库；Redis是什么）？",
        "zh",
    )
    assert state["reference"].reference_type is ReferenceType.REFERENTIAL
    assert state["reference"].standalone_query == state["query"]
    assert state["usage"].calls == 0


def test_a_self_contained_question_passes_through() -> None:
    update = resolve_references(
        QueryState(question="What is the capital of Italy?", history=COMPARED), None, resolver=ReferenceResolver()
    )
    assert update["query"] == "What is the capital of Italy?"
    assert update["reference"].standalone_query is None
    assert set(update) <= set(QueryState.model_fields)


def test_clarify_interrupts_with_numbered_options_and_resumes_with_the_choice() -> None:
    app = graph()
    asked = app.invoke(
        {"question": "Does it support JSON?", "history": COMPARED}, thread(), context=Context(clarify=True)
    )
    [interrupt] = asked["__interrupt__"]
    assert interrupt.value["options"] == ["MySQL", "PostgreSQL"]
    assert (
        interrupt.value["question"]
        == "What does “it” refer to? Reply with a number or a name:\n1. MySQL\n2. PostgreSQL"
    )
    done = app.invoke(Command(resume="2"), thread(), context=Context(clarify=True))
    assert done["query"] == "Does PostgreSQL support JSON?"
    assert done["reference"].options == ()


def test_clarify_asks_in_chinese() -> None:
    app = graph()
    asked = app.invoke({"question": "它支持JSON吗？", "history": VERGLEICH}, thread(), context=Context(clarify=True))
    assert (
        asked["__interrupt__"][0].value["question"] == "“它”指的是哪一个？请回复编号或名称：\n1. MySQL\n2. PostgreSQL"
    )
    assert (
        app.invoke(Command(resume="PostgreSQL"), thread(), context=Context(clarify=True))["query"]
        == "PostgreSQL支持JSON吗？"
    )


def test_without_clarify_the_best_guess_is_taken_and_noted() -> None:
    state = graph().invoke(
        {"question": "它支持JSON吗？", "history": VERGLEICH}, thread(), context=Context(clarify=False)
    )
    assert state["query"] == "MySQL支持JSON吗？"
    assert "PostgreSQL" in state["reference"].metadata["note"]


def test_stances_are_kept_per_thread() -> None:
    app = graph()
    advised = [Message("user", "缓存用什么？"), Message("assistant", "我建议使用Redis。")]
    app.invoke({"question": "好的，那预算怎么定？", "history": advised}, thread("a"))
    later = app.invoke({"question": "你上次说的还算数吗？", "history": []}, thread("a"))
    assert later["reference"].resolved_content == "关于「缓存」: 我建议使用Redis。"
    other = app.invoke({"question": "你上次说的还算数吗？", "history": []}, thread("b"))
    assert other["reference"].resolved_content is None
    assert list(other["stances"]) == []


def test_the_latest_stance_wins_although_chat_messages_carry_no_time() -> None:
    app = graph()
    history = [
        Message("user", "缓存用什么？"),
        Message("assistant", "我建议使用Redis。"),
        Message("user", "语言用什么？"),
        Message("assistant", "我建议使用Python。"),
    ]
    for _ in range(2):
        state = app.invoke({"question": "你上次说的还算数吗？", "history": history}, thread())
        assert state["reference"].resolved_content == "关于「语言」: 我建议使用Python。"
    first = {key: entry["updated_at"] for key, entry in state["stances"].items()}
    assert first["缓存"] < first["语言"]


def test_model_calls_are_counted_and_can_be_forbidden() -> None:
    asked: list[str] = []

    def model(query: str, history: Any) -> dict[str, str]:
        asked.append(query)
        return {"type": "referential", "scope": "last_1_3_turns", "standalone_query": "缓存靠谱吗？"}

    app = graph(ReferenceResolver(ReferenceResolverConfig(use_llm_fallback=True), llm_resolver=model))
    question = {"question": "那玩意儿靠谱不", "history": VERGLEICH}
    state = app.invoke(question, thread("a"))
    assert (state["usage"].calls, state["query"], asked) == (1, "缓存靠谱吗？", ["那玩意儿靠谱不"])
    state = app.invoke(question, thread("b"), context=Context(use_model=False))
    assert (state["usage"].calls, state["query"], len(asked)) == (0, "那玩意儿靠谱不", 1)


def test_a_model_too_late_for_the_request_is_not_waited_for() -> None:
    over = threading.Event()

    def model(query: str, history: Any) -> None:
        over.wait(60)

    app = graph(ReferenceResolver(ReferenceResolverConfig(use_llm_fallback=True), llm_resolver=model))
    question = {"question": "那玩意儿靠谱不", "history": VERGLEICH}
    try:
        state = app.invoke(question, thread(), context=Context(total_deadline_ms=100))
    finally:
        over.set()
    assert state["query"] == "那玩意儿靠谱不"
    assert state["usage"].calls == 1
    assert [item.stage for item in state["degradations"]] == ["resolve_references"]


def test_tokens_and_cost_of_the_models_reading_are_counted() -> None:
    model = FakeChatModel(['{"type": "referential", "scope": "last_1_3_turns"}', "no json"])
    resolver = ReferenceResolver(ReferenceResolverConfig(use_llm_fallback=True), llm_resolver=model_resolver(model))
    question = {"question": "那玩意儿靠谱不", "history": VERGLEICH}
    for name in ("read", "unreadable"):
        usage = graph(resolver).invoke(question, thread(name))["usage"]
        assert usage.calls == 1
        assert usage.prompt_tokens > 10


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        (1, "A"),
        ("2", "B"),
        ("2.", "B"),
        ("第二个", "B"),
        ("选3", "C"),
        ("b please", "B"),
        ({"choice": 3}, "C"),
        ("Something else", "Something else"),
        ("二", "B"),
    ],
)
def test_what_a_reply_means(reply: Any, chosen: str) -> None:
    assert chosen_option(reply, ["A", "B", "C"][:3] if reply != "b please" else ["A-1", "B", "C-1"]) == chosen


def test_the_question_asked_back_is_plain_data() -> None:
    reference = ReferenceResolver().resolve("Does it support JSON?", COMPARED)
    assert set(ask_back(reference, "en")) == {"kind", "question", "options"}


NO_OPTIONS = [9, "9", "0", -1, "第九个", "", " ", None, 1.5, True, [], {"choice": 4}, {"option": 1}]


@pytest.mark.parametrize("reply", NO_OPTIONS)
def test_what_is_no_option_is_an_error_that_lists_them(reply: Any) -> None:
    with pytest.raises(InvalidChoiceError, match=r"choice: .* none of the options: 1 A, 2 B, 3 C\."):
        chosen_option(reply, ["A", "B", "C"])


def test_a_reply_that_is_no_option_is_asked_for_again() -> None:
    app = graph()
    asked = {"question": "Does it support JSON?", "history": COMPARED}
    context = Context(clarify=True)
    app.invoke(asked, thread("again"), context=context)
    state = app.invoke(Command(resume="9"), thread("again"), context=context)
    (interrupted,) = state["__interrupt__"]
    assert "1 MySQL, 2 PostgreSQL" in interrupted.value["error"]
    state = app.invoke(Command(resume="2"), thread("again"), context=context)
    assert state["query"] == "Does PostgreSQL support JSON?"


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("Does it support JSON?", 1),
        ("Why would that fail?", 1),
        ("它支持 JSON 吗？", 1),
        ("Who wrote Redis and when did he do so?", 0),
        ("what did you say just now?", 0),
        ("刚才说的是什么？", 0),
    ],
)
def test_the_graphs_resolver_asks_its_model_once_where_the_rules_are_unsure(question: str, calls: int) -> None:
    stated = {"reference_type": "referential", "scope": "custom", "confidence": 0.9, "standalone_query": "MySQL?"}
    model = FakeChatModel([json.dumps(stated)])
    app = graph(make_resolver(model))
    state = app.invoke({"question": question, "history": COMPARED}, thread(question))
    assert (len(model.calls), state["usage"].calls) == (calls, calls)
    assert (state["query"] == "MySQL?") is bool(calls)
