"""Several references at once, and the turns a named topic chooses."""

from __future__ import annotations

import pytest

from theworld import Message, ReferenceResolver
from theworld.references.topics import overlap, topic_in, topic_tokens

HISTORY = [
    Message("user", "缓存方案怎么做？"),
    Message("assistant", "用Redis做二级缓存。"),
    Message("user", "数据库选什么？"),
    Message("assistant", "PostgreSQL比较稳。"),
    Message("user", "Which queue should we take?"),
    Message("assistant", "Kafka."),
]


def test_two_references_each_with_its_own_turns() -> None:
    query = "刚才说的缓存方案和上次那个数据库"
    result = ReferenceResolver().resolve(query, HISTORY)
    assert [(m.keyword, m.source_turns) for m in result.matches] == [("刚才", (0, 1)), ("上次", (2, 3))]
    assert [query[slice(*m.span)] for m in result.matches] == ["刚才", "上次"]
    assert result.matches[0].content == "用户: 缓存方案怎么做？\n助手: 用Redis做二级缓存。"
    assert result.source_turns == [0, 1]


def test_the_topic_may_stand_before_the_reference() -> None:
    assert ReferenceResolver().resolve("数据库我们上次怎么定的", HISTORY).source_turns == [2, 3]
    assert ReferenceResolver().resolve("what about the queue last time?", HISTORY).source_turns == [4, 5]


def test_an_unknown_topic_leaves_the_window() -> None:
    result = ReferenceResolver().resolve("刚才说的量子力学", HISTORY)
    assert result.source_turns == [0, 1, 2, 3, 4, 5]
    assert result.metadata["reason"] == "the last 3 turns"


def test_a_topic_outside_the_window_is_still_found_and_that_is_said() -> None:
    history = HISTORY + [Message(r, f"{r}{i}") for i in range(5) for r in ("user", "assistant")]
    result = ReferenceResolver().resolve("刚才说的缓存", history)
    assert result.source_turns == [0, 1]
    assert "earlier than the last 3" in result.metadata["reason"]


def test_a_label_named_in_the_query_wins_over_the_latest() -> None:
    history = [
        Message("user", "x", topic="缓存设计"),
        *[Message("assistant", f"a{i}") for i in range(5)],
        Message("user", "y", topic="部署"),
    ]
    assert ReferenceResolver().resolve("缓存那件事", history).source_turns == [0, 1, 2]
    assert ReferenceResolver().resolve("那件事", history).source_turns == [4, 5, 6]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("说的缓存", {"缓存"}),
        ("那个方案是什么", set()),
        ("you said about it", set()),
        ("the queue", {"queue"}),
        ("", set()),
    ],
)
def test_topic_tokens(phrase: str, expected: set[str]) -> None:
    assert topic_tokens(phrase) == expected


def test_overlap_counts_single_ideographs() -> None:
    assert overlap(frozenset({"狗"}), "我的狗不吃饭") == 1.0
    assert overlap(frozenset({"狗"}), "猫") == 0.0
    assert overlap(frozenset(), "anything") == 0.0


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("我建议使用Redis作为缓存层", "redis"),
        ("The best vector database for this is Qdrant.", "vector database"),
        ("嗯", "嗯"),
    ],
)
def test_topic_of_a_text(text: str, topic: str) -> None:
    assert topic in topic_in(text).lower()


@pytest.mark.parametrize(
    ("question", "about_chat", "next_one", "query"),
    [
        ("阿里云盘令牌哪里拿？", "你还记得我最开始问什么吗", "它多久过期？", "它多久过期（阿里云盘令牌哪里拿）"),
        ("How long is parental leave?", "Do you remember what I asked first?", "Is it paid?", "parental leave"),
    ],
)
def test_a_question_about_the_chat_is_no_context(question: str, about_chat: str, next_one: str, query: str) -> None:
    history = [Message("user", question), Message("assistant", "..."), Message("user", about_chat)]
    resolved = ReferenceResolver().resolve(next_one, [*history, Message("assistant", question)])
    assert query in (resolved.standalone_query or "")
    assert about_chat.rstrip("?") not in (resolved.standalone_query or "")
