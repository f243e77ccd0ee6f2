"""Time words: a table of expressions, and turns chosen by their timestamps."""

# ruff: noqa: DTZ001 - naive times are what is tested
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld import Message, ReferenceResolver, ReferenceResolverConfig, ReferenceScope, ReferenceType
from theworld.references.detection import find_time_words
from theworld.text.tokens import fold_in_place

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2025, 6, 12, 15, 0, tzinfo=SHANGHAI)
TABLE = yaml.load((Path(__file__).parent / "data" / "times.yaml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
RESOLVER = ReferenceResolver(ReferenceResolverConfig(timezone="Asia/Shanghai"), now=lambda: NOW)


def conversation(*days_back: float) -> list[Message]:
    history = []
    for number, days in enumerate(days_back):
        said = NOW - timedelta(days=days)
        history += [
            Message("user", f"q{number}", said),
            Message("assistant", f"a{number}", said + timedelta(minutes=1)),
        ]
    return history


@pytest.mark.parametrize(("text", "start", "end"), TABLE)
def test_table(text: str, start: str, end: str) -> None:
    [word] = find_time_words(fold_in_place(text), NOW)
    assert [f"{moment:%Y-%m-%d %H:%M}" for moment in word.interval] == [start, end]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("前天说的是什么？", [4, 5]),
        ("上周三讨论的方案", [0, 1]),
        ("上週三討論的方案", [0, 1]),
        ("三天前聊的", [2, 3]),
        ("昨天说的那个", [6, 7]),
        ("what did we discuss two days ago?", [4, 5]),
        ("what did you tell me last Wednesday?", [6, 7]),
        ("what did we say three days ago?", [2, 3]),
    ],
)
def test_timestamps_choose_the_turns(query: str, expected: list[int]) -> None:
    result = RESOLVER.resolve(query, conversation(8, 3, 2, 1, 0.1))
    assert result.reference_type is ReferenceType.TEMPORAL
    assert result.source_turns == expected
    assert "said from" in result.metadata["reason"]


def test_minutes_ago() -> None:
    history = conversation(0.5, 10 / 1440)
    result = RESOLVER.resolve("你十分钟前说的是什么", history)
    assert (result.scope, result.source_turns) == (ReferenceScope.LAST_1_3_TURNS, [2, 3])


def test_the_topic_narrows_the_time() -> None:
    said = NOW - timedelta(days=2)
    history = [
        Message("user", "缓存怎么做？", said),
        Message("assistant", "用Redis", said),
        Message("user", "数据库呢？", said),
        Message("assistant", "PostgreSQL", said),
        Message("user", "缓存要多大？", NOW),
        Message("assistant", "1G", NOW),
    ]
    assert RESOLVER.resolve("前天说的缓存是哪个？", history).source_turns == [0, 1]


def test_without_a_matching_time_the_window_is_taken_and_named() -> None:
    for history in (conversation(30, 20), [Message("user", "q"), Message("assistant", "a")]):
        result = RESOLVER.resolve("前天说的是什么？", history)
        assert result.source_turns == list(range(len(history)))
        assert "no message carries that time" in result.metadata["reason"]


def test_a_time_word_that_is_not_about_the_conversation_is_no_reference() -> None:
    for query in (
        "前天的股价是多少",
        "三年前的奥运会在哪里举办？",
        "Who won the election last Tuesday?",
        "what happened two days ago in Rome?",
    ):
        assert not [m for m in RESOLVER.resolve(query, conversation(2)).matches if m.reference_type == "temporal"]


def test_mixed_naive_aware_and_missing_timestamps() -> None:
    history = [
        Message("user", "naive", datetime(2025, 6, 10, 9, 0)),
        Message("user", "other zone", datetime(2025, 6, 9, 20, 0, tzinfo=UTC)),
        Message("user", "none"),
        Message("user", "too late", datetime(2025, 6, 10, 20, 0, tzinfo=UTC)),
    ]
    assert RESOLVER.resolve("前天说的是什么？", history).source_turns == [0, 1]


def test_now_can_be_given_per_call_and_the_zone_decides_the_day() -> None:
    history = [Message("user", "x", datetime(2025, 6, 11, 23, 0, tzinfo=UTC))]
    late = datetime(2025, 6, 12, 1, 0, tzinfo=UTC)
    assert "said from 2025-06-11" in ReferenceResolver().resolve("昨天说的", history, now=late).metadata["reason"]
    assert "no message" in RESOLVER.resolve("昨天说的", history, now=late).metadata["reason"]


@pytest.mark.parametrize(
    "text", ["2月30日说的", "0000-00-00 said", "99月99号说的", "9999年前说的", "9999 years ago we said", "周", "一周"]
)
def test_impossible_dates_are_passed_over(text: str) -> None:
    find_time_words(text, NOW)
    RESOLVER.resolve(text, conversation(1))


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)),
    st.sampled_from([row[0] for row in TABLE if "20" not in row[0]]),
)
def test_intervals_are_never_empty_and_never_begin_in_the_future(moment: datetime, text: str) -> None:
    now = moment.replace(tzinfo=SHANGHAI)
    for word in find_time_words(fold_in_place(text), now):
        start, end = word.interval
        assert start < end
        assert start <= now + timedelta(days=1)


SAID = [
    Message("user", "用什么做缓存方案？", timestamp=datetime(2026, 11, 17, 12, tzinfo=UTC)),
    Message("assistant", "建议用 Redis。", timestamp=datetime(2026, 11, 17, 12, tzinfo=UTC)),
    Message("user", "How do I deploy it?", timestamp=datetime(2026, 11, 23, 11, tzinfo=UTC)),
    Message("assistant", "With docker compose.", timestamp=datetime(2026, 11, 23, 11, tzinfo=UTC)),
]


@pytest.mark.parametrize(
    ("query", "turns"),
    [
        ("上周二的缓存方案还能用吗", [0, 1]),
        ("the deploy thing from an hour ago", [2, 3]),
        ("上周二北京下雨了吗", []),
        ("What happened last Tuesday in Paris?", []),
    ],
)
def test_times_choose_turns_without_a_verb_of_speaking_where_the_topic_was_spoken_of(query, turns):
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)
    assert ReferenceResolver(now=lambda: now).resolve(query, SAID).source_turns == turns
