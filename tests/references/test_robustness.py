"""Any history and any text resolve without raising, the same way every time."""

# ruff: noqa: DTZ001 - naive times are what is tested
from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from theworld import Message, ReferenceResolver, ReferenceType

RESOLVER = ReferenceResolver()
QUERIES = [
    "刚才说的是什么",
    "它呢？",
    "那个呢？",
    "还有呢？",
    "你之前说的建议",
    "不对",
    "what else?",
    "when did she die?",
    "and Berlin?",
    "what you said earlier",
    "that's wrong",
    "那件事",
    "前天聊的缓存",
    "昨天说的",
]
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system", "tool", "weird"]),
    content=st.one_of(
        st.none(), st.text(max_size=40), st.sampled_from(["Redis是什么？", "Who is Ada?", "我建议用Go", "🙂", "  "])
    ),
    timestamp=st.one_of(st.none(), st.datetimes(), st.datetimes(timezones=st.just(UTC))),
    topic=st.one_of(st.none(), st.text(max_size=6)),
)


@settings(max_examples=150)
@given(st.one_of(st.sampled_from(QUERIES), st.text(max_size=80)), st.lists(messages, max_size=8))
def test_nothing_raises_and_the_result_is_consistent(query: str, history: list[Message]) -> None:
    result = RESOLVER.resolve(query, history)
    assert result == RESOLVER.resolve(query, history)
    assert 0.0 <= result.confidence <= 1.0
    assert result.source_turns == sorted(set(result.source_turns))
    assert all(0 <= turn < len(history) for turn in result.source_turns)
    assert bool(result.matches) == (result.reference_type is not ReferenceType.NONE)
    for match in result.matches:
        assert 0 <= match.span[0] < match.span[1] <= len(query)
        assert all(0 <= turn < len(history) for turn in match.source_turns)
    if result.standalone_query is not None:
        assert result.matches
        assert result.standalone_query != query


@pytest.mark.parametrize("query", QUERIES)
def test_ten_thousand_messages_of_all_roles(query: str) -> None:
    roles = ["user", "assistant", "tool", "system", "user"]
    history = [Message(roles[i % 5], None if i % 7 == 0 else f"消息 message {i} Redis") for i in range(10_000)]
    result = RESOLVER.resolve(query, history)
    assert all(turn < 10_000 for turn in result.source_turns)
    assert len(result.source_turns) <= 500


@pytest.mark.slow
@pytest.mark.parametrize("filler", ["好", "a", " ", "🙂", "刚才", "just ", "(", "。", "它", "it ", "\u200b"])
def test_a_hundred_thousand_characters(filler: str) -> None:
    text = (filler * 100_000)[:100_000]
    history = [Message("user", text), Message("assistant", text)]
    assert RESOLVER.resolve(text, history).standalone_query is None
    for query in QUERIES:
        RESOLVER.resolve(query, history)


def test_only_empty_messages() -> None:
    history = [Message("user", None), Message("assistant", ""), Message("tool", "  ")]
    for query in QUERIES:
        result = RESOLVER.resolve(query, history)
        assert (result.source_turns, result.resolved_content) == ([], None)


def test_emoji_and_full_width_text() -> None:
    result = RESOLVER.resolve("😀😀刚才说的？", [Message("user", "🙂"), Message("assistant", "👍")])
    assert (result.matches[0].span, result.resolved_content) == ((2, 4), "用户: 🙂\n助手: 👍")
    assert RESOLVER.resolve(
        "ｗｈａｔ　ｅｌｓｅ？", [Message("user", "Which fruits are red?"), Message("assistant", "Apples.")]
    )


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "user", "content": "Redis是什么？"}, {"role": "assistant", "content": "数据库"}],
        [{"role": "human", "content": "Redis是什么？"}, {"role": "AI", "content": "数据库"}],
        [HumanMessage("Redis是什么？"), AIMessage("数据库")],
        [HumanMessage([{"type": "text", "text": "Redis是什么？"}]), AIMessage("数据库")],
        [
            SimpleNamespace(role="user", content="Redis是什么？"),
            SimpleNamespace(role="assistant", content="数据库", extra=1),
        ],
        (Message("user", "Redis是什么？"), Message("assistant", "数据库")),
        iter([Message("user", "Redis是什么？"), Message("assistant", "数据库")]),
    ],
)
def test_histories_of_other_shapes(history: Any) -> None:
    assert RESOLVER.resolve("它支持集群吗？", history).standalone_query == "它支持集群吗（数据库；Redis是什么）？"


def test_odd_messages_are_turned_into_text() -> None:
    history = [
        SystemMessage("be brief"),
        ToolMessage("{}", tool_call_id="1"),
        {"content": 5},
        {"role": "user", "content": {"text": "Redis是什么？"}, "timestamp": "yesterday", "turn_id": 3},
        {},
        None,
    ]
    assert RESOLVER.resolve("刚才说了什么", history).source_turns


def test_results_are_the_same_in_another_process_order() -> None:
    history = [Message("user", "MySQL和PostgreSQL有什么区别？"), Message("assistant", "前者简单。")]
    results = {repr(ReferenceResolver().resolve("它支持JSON吗？", history)) for _ in range(5)}
    assert len(results) == 1


def test_timestamps_of_all_kinds_together() -> None:
    stamps = [None, datetime(1, 1, 1), datetime(9999, 12, 31, tzinfo=UTC), datetime(2025, 1, 1)]
    history = [Message("user", str(i), stamp) for i, stamp in enumerate(stamps)]
    for query in ("昨天说的", "what we said two days ago", "what we said last year"):
        RESOLVER.resolve(query, history)


def test_a_timestamp_may_be_text_as_json_has_it() -> None:
    history = [
        {"role": "user", "content": "Let us take PostgreSQL.", "timestamp": "2024-05-08T10:00:00+08:00"},
        {"role": "assistant", "content": "Noted.", "timestamp": "2024-05-08T10:00:01Z"},
        {"role": "user", "content": "What is for lunch?", "timestamp": "not a time"},
        {"role": "assistant", "content": "Soup.", "timestamp": "2024-05-10T10:00:00"},
    ]
    result = RESOLVER.resolve("What did we talk about two days ago?", history, now=datetime(2024, 5, 10, 9, tzinfo=UTC))
    assert result.source_turns == [0, 1]


@pytest.mark.parametrize("history", ["Let us take PostgreSQL.", {"role": "user", "content": "x"}, 5])
def test_one_message_in_place_of_a_list_is_a_clear_error(history: Any) -> None:
    with pytest.raises(TypeError, match="give a list of messages"):
        RESOLVER.resolve("What did I just say?", history)


@pytest.mark.parametrize("history", [["Let us take PostgreSQL."], [""], [b"x"], [0]])
def test_texts_without_a_role_are_a_clear_error(history: Any) -> None:
    with pytest.raises(TypeError, match="give messages with `role` and `content`"):
        RESOLVER.resolve("What did I just say?", history)


@pytest.mark.parametrize("query", [5, b"just", ["just"], {"query": "just"}])
def test_a_query_is_text(query: Any) -> None:
    with pytest.raises(TypeError, match=r"query is a .*; give its text"):
        RESOLVER.resolve(query)


@pytest.mark.parametrize("role", ["human", "ai", "Assistant", "bot", "user"])
def test_roles_are_labelled_under_any_of_their_names(role: str) -> None:
    said = RESOLVER.resolve("刚才说了什么", [{"role": role, "content": "x"}]).resolved_content
    assert said == ("用户: x" if role in {"human", "user"} else "助手: x")
