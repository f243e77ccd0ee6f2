"""A usual query with 50 turns takes less than a millisecond, and time grows no faster than the history."""

from __future__ import annotations

import re
import time

import pytest

from theworld import Message, ReferenceResolver

RESOLVER = ReferenceResolver()
WORD = re.compile(r"\w+")
KNOWN = 0.22  # ms
QUERIES = [
    "它支持集群吗？",
    "刚才说的复制怎么配置？",
    "你之前说的那个建议还有效吗？",
    "还有呢？",
    "中国的首都是哪里？",
    "When did she die?",
    "what else did he do there?",
    "what you said earlier about the engine",
    "What is the capital of France?",
]


def conversation(turns: int) -> list[Message]:
    history = []
    for i in range(turns):
        if i % 2:
            history += [
                Message("user", f"Redis第{i}个特性是什么？"),
                Message("assistant", f"第{i}个特性是主从复制，我建议开启。"),
            ]
        else:
            history += [
                Message("user", f"When did Ada Lovelace meet person {i}?"),
                Message("assistant", f"She met Charles Babbage at party {i} in London."),
            ]
    return history


def _known_work(history: list[Message]) -> int:
    """Do what takes KNOWN ms on a quiet machine, of the kind that a resolver does: words, dictionaries, patterns."""
    found: dict[str, int] = {}
    for message in history:
        for match in WORD.finditer(message.content.lower()):
            found[match.group()] = found.get(match.group(), 0) + len(match.group())
    return sum(found.values())


def milliseconds(query: str, history: list[Message], repeat: int) -> float:
    """Return the least CPU time of one call in ms of a quiet machine: a busy one is as slow at known work."""
    RESOLVER.resolve(query, history)
    best = known = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        for _ in range(10):
            RESOLVER.resolve(query, history)
        middle = time.process_time()
        for _ in range(10):
            _known_work(FIFTY_TURNS)
        best, known = min(best, (middle - start) * 100), min(known, (time.process_time() - middle) * 100)
    return best * min(1.0, KNOWN / known)


FIFTY_TURNS = conversation(50)


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_fifty_turns_take_less_than_a_millisecond(query: str) -> None:
    assert milliseconds(query, FIFTY_TURNS, 60) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_time_grows_at_most_linearly(query: str) -> None:
    short, long = (milliseconds(query, conversation(n), 5) for n in (500, 5000))
    assert long < 20 * short + 1.0
