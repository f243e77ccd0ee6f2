"""Stances: found in answers, kept as a cache, looked up whatever its dates look like."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from theworld import Message, ReferenceResolver, extract_stances
from theworld.references.recall import MOST_STANCES, is_stance


def test_stances_with_topic_and_time() -> None:
    said = datetime(2025, 6, 1, 8, 0, tzinfo=timezone(timedelta(hours=8)))
    history = [
        Message("user", "缓存用什么？"),
        Message("assistant", "缓存有很多种。我建议使用Redis作为缓存层。它很快。", said),
        Message("user", "我认为太贵"),
        Message("assistant", "I recommend Memcached then.", topic="budget"),
    ]
    stances = extract_stances(history)
    assert list(stances.values()) == [
        {"topic": "缓存", "stance": "我建议使用Redis作为缓存层。", "updated_at": "2025-06-01T00:00:00+00:00"},
        {"topic": "budget", "stance": "I recommend Memcached then.", "updated_at": ""},
    ]


def test_a_newer_stance_on_a_topic_replaces_the_older_one() -> None:
    first = extract_stances([Message("user", "缓存用什么？"), Message("assistant", "我建议用Redis。")])
    both = extract_stances([Message("user", "缓存用什么？"), Message("assistant", "我建议用Memcached。")], first)
    assert [entry["stance"] for entry in both.values()] == ["我建议用Memcached。"]
    assert [entry["stance"] for entry in first.values()] == ["我建议用Redis。"]


def test_extraction_is_idempotent_and_bounded() -> None:
    history = [
        Message(r, f"I suggest plan{i}." if r == "assistant" else f"plan{i}?")
        for i in range(150)
        for r in ("user", "assistant")
    ]
    once = extract_stances(history)
    assert extract_stances(history, once) == once
    assert len(once) == MOST_STANCES
    assert "plan149" in list(once.values())[-1]["stance"]


def test_no_answers_no_stances() -> None:
    assert extract_stances([]) == {}
    assert extract_stances([Message("user", "I think so"), Message("assistant", None), Message("tool", "我认为")]) == {}


@pytest.mark.parametrize(
    ("text", "expected"), [("我覺得可以", True), ("I THINK so", True), ("rethink it", False), ("事实如此", False)]
)
def test_markers(text: str, expected: bool) -> None:
    assert is_stance(text) is expected


@pytest.mark.parametrize(
    "cache",
    [
        {
            "a": {"topic": "t", "stance": "old", "updated_at": "2024-12-31"},
            "b": {"topic": "t", "stance": "new", "updated_at": "2025-01-01T00:00:00Z"},
        },
        {
            "a": {"topic": "t", "stance": "new", "updated_at": datetime(2025, 1, 1, tzinfo=UTC)},
            "b": {"topic": "t", "stance": "old", "updated_at": "2024-01-01"},
        },
        {"a": {"topic": "t", "stance": "old"}, "b": {"topic": "t", "stance": "new", "updated_at": 1735689600}},
        {
            "a": {"topic": "t", "stance": "old", "updated_at": "soon"},
            "b": {"topic": "t", "stance": "new", "updated_at": "2025-01-01"},
        },
        {"a": None, "b": "text", "c": {"topic": "t"}, "d": {"topic": "t", "stance": "new", "updated_at": None}},
        {
            "a": {"topic": "t", "stance": "new", "updated_at": "2025-01-01"},
            "b": {"topic": "t", "stance": "tie", "updated_at": "2025-01-01"},
        },
    ],
)
def test_mixed_missing_and_odd_dates(cache: dict) -> None:
    assert ReferenceResolver().resolve("你上次说什么", None, cache).resolved_content == "关于「t」: new"
    assert ReferenceResolver().resolve("what you said earlier", None, cache).resolved_content == 'About "t": new'


def test_a_stance_without_topic_is_given_as_it_is() -> None:
    assert ReferenceResolver().resolve("你上次说什么", None, {"a": {"stance": "用Go"}}).resolved_content == "用Go"


@pytest.mark.parametrize("cache", [{}, [], "x", 3, {"a": 1}])
def test_a_useless_cache_is_passed_over(cache: object) -> None:
    history = [Message("assistant", "我认为可以")]
    assert ReferenceResolver().resolve("你上次说什么", history, cache).resolved_content == "我认为可以"


def test_without_any_stance_the_last_answer_is_taken_and_that_is_said() -> None:
    history = [Message("user", "q"), Message("assistant", "水在100度沸腾")]
    result = ReferenceResolver().resolve("你上次说什么", history)
    assert (result.source_turns, result.metadata["reason"]) == ([1], "no stance found; the last answer")


def test_without_any_stance_the_turn_about_what_is_named_is_taken() -> None:
    texts = ("消费失败默认会重试多少次？", "默认值是 16 次。", "那无序消息第一次呢", "与上次间隔 10 秒。")
    history = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(texts)]
    assert ReferenceResolver().resolve("你前面说默认重试几次？", history).source_turns == [0, 1]
