"""The view shows every step in words."""

from __future__ import annotations

from theworld import Message, ReferenceResolver
from theworld.references import describe

HISTORY = [Message("user", "Redis是什么？"), Message("assistant", "一种内存数据库。" * 20)]


def test_every_step_is_shown() -> None:
    shown = describe(
        ReferenceResolver().resolve("刚才说的，它支持集群吗？", HISTORY), "刚才说的，它支持集群吗？", HISTORY
    )
    for part in (
        "刚才",
        "它",
        "[0] user: Redis是什么？",
        "…",
        "temporal / last_1_3_turns",
        "confidence",
        "recall 3 turns",
        "它支持集群吗（一种内存数据库；Redis是什么）",
    ):
        assert part in shown
    assert max(len(line) for line in shown.splitlines()) < 160


def test_nothing_found_and_ambiguity() -> None:
    resolver = ReferenceResolver()
    assert "(unchanged)" in describe(resolver.resolve("中国的首都是哪里？"), "中国的首都是哪里？")
    history = [Message("user", "Compare MySQL and PostgreSQL"), Message("assistant", "ok")]
    assert "1. MySQL  2. PostgreSQL" in describe(resolver.resolve("Is it free?", history), "Is it free?", history)
    assert describe(resolver.resolve(""), "")
