"""The reference-resolver specification, statement by statement."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import theworld
from theworld import (
    Message,
    ReferenceResolver,
    ReferenceResolverConfig,
    ReferenceScope,
    ReferenceType,
    ResolvedReference,
    create_reference_resolver,
)

SORTING = [
    Message(role="user", content="有什么好的排序算法？"),
    Message(role="assistant", content="推荐使用快速排序..."),
    Message(role="user", content="还有呢？"),
    Message(role="assistant", content="归并排序也不错..."),
]


def turns(count: int, *, chinese: bool = False) -> list[Message]:
    words = ("问", "答") if chinese else ("q", "a")
    return [
        Message(role, f"{word}{i}")
        for i in range(count)
        for role, word in zip(("user", "assistant"), words, strict=True)
    ]


def test_public_names() -> None:
    names = "ReferenceType ReferenceScope Message ResolvedReference ReferenceResolverConfig ReferenceResolver"
    assert {*names.split(), "create_reference_resolver"} <= set(theworld.__all__)


def test_enumerations() -> None:
    assert {ReferenceType(v) for v in ("temporal", "referential", "stance", "none")} <= set(ReferenceType)
    scopes = [
        "last_1_3_turns",
        "last_5_10_turns",
        "current_session",
        "last_shared_topic",
        "assistant_last_stance",
        "custom",
    ]
    assert [ReferenceScope(v) for v in scopes] == list(ReferenceScope)


def test_message_fields_and_defaults() -> None:
    message = Message(role="user", content="hi")
    assert (message.timestamp, message.turn_id, message.topic) == (None, None, None)
    full = Message("user", "hi", datetime(2025, 1, 1, tzinfo=UTC), "t1", "greeting")
    assert (full.turn_id, full.topic) == ("t1", "greeting")


def test_result_fields() -> None:
    result = ReferenceResolver().resolve("刚才说的是什么", SORTING)
    assert isinstance(result, ResolvedReference)
    assert result.reference_type is ReferenceType.TEMPORAL
    assert result.scope is ReferenceScope.LAST_1_3_TURNS
    assert isinstance(result.resolved_content, str)
    assert 0 < result.confidence <= 1
    assert result.source_turns == [0, 1, 2, 3]
    assert result.matched_keyword == "刚才"
    assert result.metadata["language"] == "cn"
    assert result.metadata["recall_turns"] == result.recall_turns == 3


def test_config_defaults() -> None:
    config = ReferenceResolverConfig()
    numbers = (config.last_few_turns, config.recent_turns, config.session_max_turns)
    assert numbers == (3, 10, 50)
    assert config.use_llm_fallback is False
    assert config.llm_fallback_threshold == 0.5


TABLE_CN = {
    "刚刚": ("last_1_3_turns", "temporal"),
    "刚才": ("last_1_3_turns", "temporal"),
    "最近": ("current_session", "temporal"),
    "那件事": ("last_shared_topic", "referential"),
    "那个问题": ("last_shared_topic", "referential"),
    "那个话题": ("last_shared_topic", "referential"),
    "之前你说的": ("assistant_last_stance", "stance"),
    "你上次说": ("assistant_last_stance", "stance"),
    "你之前提到": ("assistant_last_stance", "stance"),
    "上次": ("last_5_10_turns", "temporal"),
    "前几天": ("last_5_10_turns", "temporal"),
}
TABLE_EN = {
    "just now": ("last_1_3_turns", "temporal"),
    "just": ("last_1_3_turns", "temporal"),
    "recently": ("current_session", "temporal"),
    "that thing": ("last_shared_topic", "referential"),
    "you said earlier": ("assistant_last_stance", "stance"),
    "last time": ("last_5_10_turns", "temporal"),
}


@pytest.mark.parametrize(("keyword", "expected"), [*TABLE_CN.items(), *TABLE_EN.items()])
def test_every_keyword_of_both_tables(keyword: str, expected: tuple[str, str]) -> None:
    chinese = keyword in TABLE_CN
    query = f"{keyword}怎么样" if chinese else f"hm, {keyword} really?"
    result = ReferenceResolver().resolve(query)
    assert (result.scope.value, result.reference_type.value) == expected
    assert result.matched_keyword == keyword
    config = ReferenceResolverConfig()
    table = config.reference_mappings_cn if chinese else config.reference_mappings_en
    assert table[keyword] == {"scope": expected[0], "type": expected[1]}


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "　"])
def test_an_empty_query_refers_to_nothing(query: str) -> None:
    result = ReferenceResolver().resolve(query, SORTING)
    assert (result.reference_type, result.scope) == (ReferenceType.NONE, ReferenceScope.CUSTOM)
    assert result.recall_turns is None


def test_no_match_refers_to_nothing_and_is_sure_of_it() -> None:
    result = ReferenceResolver().resolve("中国的首都是哪里？", SORTING)
    assert (result.reference_type, result.scope) == (ReferenceType.NONE, ReferenceScope.CUSTOM)
    assert result.matches == ()
    assert 0.9 < result.confidence < 1


def test_without_history_a_keyword_still_tells_the_scope() -> None:
    result = ReferenceResolver().resolve("刚才说的是什么")
    assert (result.resolved_content, result.source_turns, result.recall_turns) == (None, [], 3)


@pytest.mark.parametrize(
    ("query", "messages", "recall"),
    [("刚才说了什么", 6, 3), ("上次说了什么", 20, 10), ("最近说了什么", 100, 50)],
)
def test_windows_recall_two_messages_a_turn(query: str, messages: int, recall: int) -> None:
    history = turns(60, chinese=True)
    result = ReferenceResolver().resolve(query, history)
    assert result.source_turns == list(range(120 - messages, 120))
    assert result.recall_turns == recall
    assert result.resolved_content == "\n".join(
        f"{'用户' if m.role == 'user' else '助手'}: {m.content}" for m in history[-messages:]
    )


def test_labels_follow_the_language() -> None:
    content = ReferenceResolver().resolve("what was said just now?", turns(1)).resolved_content
    assert content == "User: q0\nAssistant: a0"


def test_shared_topic_takes_two_messages_around_the_last_label() -> None:
    history = [Message(m.role, m.content, topic="缓存" if i == 5 else None) for i, m in enumerate(turns(6))]
    result = ReferenceResolver().resolve("那件事怎么样了", history)
    assert result.source_turns == [3, 4, 5, 6, 7]
    assert result.recall_turns == 6
    assert "缓存" in result.metadata["reason"]


def test_shared_topic_without_labels_falls_back_to_the_last_turns_and_says_so() -> None:
    result = ReferenceResolver().resolve("那件事怎么样了", turns(6))
    assert result.source_turns == [6, 7, 8, 9, 10, 11]
    assert result.metadata["reason"] == "no topic label; the last turns"


def test_stance_cache_first_and_the_latest_of_it() -> None:
    cache = {
        "a": {"topic": "缓存", "stance": "用Redis", "updated_at": "2025-01-01T00:00:00"},
        "b": {"topic": "语言", "stance": "用Python", "updated_at": "2025-02-01T00:00:00"},
    }
    history = [Message("assistant", "我认为应该用Go")]
    assert ReferenceResolver().resolve("你上次说的对吗", history, cache).resolved_content == "关于「语言」: 用Python"
    assert ReferenceResolver().resolve("你上次说的对吗", None, cache).resolved_content == "关于「语言」: 用Python"
    assert ReferenceResolver().resolve("你上次说的缓存对吗", history, cache).resolved_content == "关于「缓存」: 用Redis"


@pytest.mark.parametrize("marker", ["我认为", "我觉得", "我建议", "我的看法是", "I think", "I believe", "I suggest"])
def test_stance_markers_are_found_from_the_back(marker: str) -> None:
    history = [
        Message("assistant", f"{marker} first"),
        Message("user", f"{marker} mine"),
        Message("assistant", f"{marker} second"),
        Message("assistant", "a fact"),
    ]
    result = ReferenceResolver().resolve("what you said earlier, again please", history)
    assert (result.resolved_content, result.source_turns) == (f"{marker} second", [2])


def test_first_worked_example() -> None:
    result = ReferenceResolver().resolve("刚才你说的那个方案是什么？", SORTING)
    assert result.reference_type == ReferenceType.TEMPORAL
    assert result.scope == ReferenceScope.LAST_1_3_TURNS
    assert result.matched_keyword == "刚才"
    assert result.recall_turns == 3
    assert result.resolved_content is not None
    assert result.resolved_content.startswith("用户: 有什么好的排序算法？\n助手: 推荐使用快速排序...\n")


def test_second_worked_example() -> None:
    history = [Message(role="assistant", content="我建议使用Redis作为缓存层"), Message(role="user", content="好的")]
    result = ReferenceResolver().resolve("之前你说的那个建议还有效吗？", history)
    assert result.reference_type == ReferenceType.STANCE
    assert result.scope == ReferenceScope.ASSISTANT_LAST_STANCE
    assert result.matched_keyword == "之前你说的"
    assert result.resolved_content == "我建议使用Redis作为缓存层"


def test_update_config_in_both_styles() -> None:
    resolver = ReferenceResolver()
    resolver.update_config(just_now_turns=5, recently_turns=20)
    assert (resolver.config.last_few_turns, resolver.config.recent_turns) == (5, 20)
    resolver.update_config(last_few_turns=6, recent_turns=21, session_max_turns=100)
    assert (resolver.config.last_few_turns, resolver.config.recent_turns, resolver.config.session_max_turns) == (
        6,
        21,
        100,
    )
    resolver.update_config(just_now_turns=7, last_few_turns=8)
    assert resolver.config.last_few_turns == 7
    assert resolver.resolve("刚才呢", turns(10)).recall_turns == 7


def test_add_mapping() -> None:
    resolver = ReferenceResolver()
    resolver.add_mapping(keyword="大前儿", scope="last_5_10_turns", ref_type="temporal", language="cn")
    result = resolver.resolve("大前儿说了什么", turns(2))
    assert (result.matched_keyword, result.scope) == ("大前儿", ReferenceScope.LAST_5_10_TURNS)
    assert ReferenceResolver().resolve("大前儿说了什么", turns(2)).matched_keyword is None
    resolver.add_mapping("前天", "last_5_10_turns", "temporal", "zh")
    assert resolver.resolve("前天说了什么").matched_keyword == "前天"


def test_custom_scope_recalls_nothing_by_itself() -> None:
    resolver = ReferenceResolver()
    resolver.add_mapping("老规矩", "custom", "referential", "cn")
    result = resolver.resolve("老规矩", turns(2))
    assert (result.scope, result.recall_turns, result.resolved_content) == (ReferenceScope.CUSTOM, None, None)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("今天天气", "cn"),
        ("hello", "en"),
        ("用Kubernetes部署", "en"),
        ("用K8s部署服务", "cn"),
        ("", "en"),
        ("a中b", "cn"),
    ],
)
def test_language_is_chinese_above_thirty_percent(text: str, language: str) -> None:
    assert ReferenceResolver()._detect_language(text) == language


def test_factory_with_the_documented_arguments(tmp_path) -> None:
    path = tmp_path / "reference_resolver.yaml"
    path.write_text("last_few_turns: 7\nrecent_turns: 8\n", encoding="utf-8")
    resolver = create_reference_resolver(config_path=str(path), last_few_turns=3, recent_turns=10, language="auto")
    assert (resolver.config.last_few_turns, resolver.config.recent_turns) == (3, 10)
    assert create_reference_resolver(path).config.last_few_turns == 7
    assert create_reference_resolver().config == ReferenceResolverConfig()


def test_turns_are_counted_by_user_messages() -> None:
    history = [
        Message("user", "q0"),
        Message("assistant", "a0"),
        Message("user", "q1"),
        Message("user", "q2"),
        Message("tool", "{}"),
        Message("assistant", "a2"),
        Message("user", "q3"),
        Message("assistant", "a3"),
    ]
    resolver = ReferenceResolver(ReferenceResolverConfig(last_few_turns=2))
    assert resolver.resolve("刚才说了什么", history).source_turns == [3, 4, 5, 6, 7]
    resolver.update_config(last_few_turns=3)
    assert resolver.resolve("刚才说了什么", history).source_turns == [2, 3, 4, 5, 6, 7]


def test_a_correction_targets_the_last_answer_never_the_cache() -> None:
    cache = {"a": {"topic": "x", "stance": "y", "updated_at": "2025"}}
    result = ReferenceResolver().resolve("不对，你上次说的不是这样", SORTING, cache)
    assert result.reference_type is ReferenceType.CORRECTION
    assert (result.source_turns, result.resolved_content) == ([3], "归并排序也不错...")
