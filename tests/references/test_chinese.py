"""Chinese dialogues, hand-written: `dialogues_zh.jsonl` guided the rules, `dialogues_zh_heldout.jsonl` came after them.

A line holds `history` (user and assistant in turn), `query`, `type`, `scope`, `turns` (numbers of the turns pointed at,
from 0) and `standalone_has` (what the stand-alone query must contain). A query of type `none` must stay as it is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chinese_writing import in_traditional
from theworld import Message, ReferenceResolver
from theworld.references.topics import joined_names, topic_of
from theworld.text.tokens import simplified

DATA = Path(__file__).parent / "data"
RESOLVER = ReferenceResolver()


def talk(*texts: str) -> list[Message]:
    return [Message("user" if i % 2 == 0 else "assistant", text) for i, text in enumerate(texts)]


def judge(row: dict[str, Any]) -> dict[str, bool]:
    """Return whether kind (type and scope), source turns and stand-alone query are right.

    A pronoun or a continuation may point at any of the turns that name its antecedent; other references at all of them.
    """
    result = RESOLVER.resolve(row["query"], talk(*row["history"]))
    turns, gold = {i // 2 for i in result.source_turns}, set(row["turns"])
    follows = row["type"] in {"referential", "continuation"} and row["scope"] == "last_1_3_turns"
    alone = result.standalone_query or ""
    return {
        "kind": (result.reference_type.value, result.scope.value) == (row["type"], row["scope"]),
        "turns": bool(turns and turns <= gold) if follows else turns == gold,
        "standalone": not alone if row["type"] == "none" else all(w in alone for w in row.get("standalone_has", [])),
    }


@pytest.mark.parametrize("name", ["dialogues_zh.jsonl", "dialogues_zh_heldout.jsonl"])
def test_dialogues(name: str) -> None:
    rows = [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    judged = [judge(row) for row in rows]
    wrong = [(row["id"], row["query"], got) for row, got in zip(rows, judged, strict=True) if not all(got.values())]
    share = {key: sum(got[key] for got in judged) / len(judged) for key in ("kind", "turns", "standalone")}
    pointing = [got["turns"] for row, got in zip(rows, judged, strict=True) if row["type"] != "none"]
    assert len(rows) >= (150 if name == "dialogues_zh.jsonl" else 60)
    assert share["kind"] >= 0.95, wrong
    assert sum(pointing) / len(pointing) >= 0.90, wrong
    assert share["standalone"] >= 0.95, wrong


@pytest.mark.parametrize("said_in", ["both", "question"])
def test_dialogues_are_understood_alike_in_traditional_chinese(said_in: str) -> None:
    """With the whole dialogue in it, and with a question in it about a dialogue in simplified characters."""
    names = ("dialogues_zh.jsonl", "dialogues_zh_heldout.jsonl")
    rows = [json.loads(line) for name in names for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    different = []
    for row in rows:
        history = row["history"] if said_in == "question" else [in_traditional(text) for text in row["history"]]
        found = RESOLVER.resolve(row["query"], talk(*row["history"]))
        other = RESOLVER.resolve(in_traditional(row["query"]), talk(*history))
        first, second = (
            (r.reference_type, r.scope, r.source_turns, simplified(r.standalone_query or "")) for r in (found, other)
        )
        if first != second:
            different.append((first, second))
    assert len(different) <= 0.01 * len(rows), different


@pytest.mark.parametrize(
    ("texts", "query", "expected"),
    [
        (["Redis是什么？", "数据库"], "它支持集群吗？", "它支持集群吗（数据库；Redis是什么）？"),
        (["谁发明了电话？", "贝尔。"], "他是哪国人？", "他是哪国人（贝尔；谁发明了电话）？"),
        (["杭州有什么好玩的？", "西湖"], "那里天气怎么样？", "那里天气怎么样（西湖；杭州有什么好玩的）？"),
        (["北京的人口是多少？", "2189万"], "上海呢？", "上海（北京的人口是多少）"),
        (["2018年中国的GDP是多少？", "90万亿"], "2019年呢？", "2019年中国的GDP是多少？"),
        (["姚明身高多少？", "2米26"], "体重呢？", "姚明的体重"),
        (["PostgreSQL怎么备份？", "pg_dump"], "恢复呢？", "恢复（PostgreSQL怎么备份）"),
        (["怎么在 nginx 上部署前端？", "拷贝 dist"], "那 express 呢？", "怎么在 express 上部署前端"),
        (["推荐几个排序算法", "快速排序"], "还有呢？", "还有呢（推荐几个排序算法）？"),
        (["介紹一下臺北101", "508公尺"], "它有多高？", "它有多高（508公尺；介紹一下臺北101）？"),
        (["故宫和天坛哪个更大？", "天坛比故宫大。"], "它是什么时候建的？", "故宫是什么时候建的？"),
        (
            ["有什么好的排序算法？", "推荐使用快速排序。"],
            "它的平均复杂度是多少？",
            "它的平均复杂度是多少（推荐使用快速排序；有什么好的排序算法）？",
        ),
        (["特朗普是谁？", "政治家"], "其出生地在哪里？", "其出生地在哪里（政治家；特朗普是谁）？"),
    ],
)
def test_rewrites(texts: list[str], query: str, expected: str) -> None:
    assert RESOLVER.resolve(query, talk(*texts)).standalone_query == expected


@pytest.mark.parametrize(
    ("texts", "query", "expected"),
    [
        (
            ["缓存用什么？", "我建议使用Redis。"],
            "之前你说的那个建议还有效吗？",
            "之前你说的那个建议还有效吗（我建议使用Redis）？",
        ),
        (["有什么好的排序算法？", "快速排序"], "刚才你说的那个方案是什么？", "刚才你说的那个方案是什么（排序算法）？"),
        (["阿里巴巴哪年成立？", "2001年。"], "不对，是1999年", "不对，是1999年（阿里巴巴哪年成立）"),
        (["缓存用什么？", "Redis"], "刚才说的缓存怎么部署？", None),
        ([], "刚才说的是什么？", None),
    ],
)
def test_a_keyword_that_names_nothing_gets_what_it_refers_to(
    texts: list[str], query: str, expected: str | None
) -> None:
    assert RESOLVER.resolve(query, talk(*texts)).standalone_query == expected


def test_two_rivals_are_ambiguous_for_one_thing_not_for_both() -> None:
    history = talk("MySQL和PostgreSQL有什么区别？", "前者简单。")
    assert RESOLVER.resolve("它支持JSON吗？", history).options == ("MySQL", "PostgreSQL")
    both = RESOLVER.resolve("它们支持JSON吗？", history)
    assert (both.options, both.standalone_query) == ((), "MySQL和PostgreSQL支持JSON吗？")


def test_a_topic_label_is_the_topic() -> None:
    history = [Message("user", "说来话长", topic="富士山"), Message("assistant", "嗯")]
    assert RESOLVER.resolve("它有多高？", history).standalone_query == "它有多高（富士山）？"


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("姚明身高多少？", "姚明"),
        ("请问Redis怎么持久化？", "Redis"),
        ("熊猫吃什么？", "熊猫"),
        ("《三体》讲了什么？", "《三体》"),
        ("推荐科幻电影", "科幻电影"),
        ("什么是向量数据库？", "向量数据库"),
        ("2018年中国的GDP是多少？", "中国的GDP"),
        ("你知道马云吗？", "马云"),
        ("李白和杜甫是什么关系？", "李白和杜甫"),
        ("需要哪些材料？", ""),
        ("四会有多少人？", "四会"),
        ("？？？", ""),
        ("", ""),
    ],
)
def test_topic_of_a_question(question: str, topic: str) -> None:
    assert topic_of(question) == topic


def test_names_side_by_side() -> None:
    assert joined_names("李白和杜甫") == ("李白", "杜甫")
    assert joined_names("李白和杜甫的诗") == (), "what both have is one thing"
    assert joined_names("李白") == ()


def test_a_sentence_about_two_people_is_no_name() -> None:
    history = [Message("user", "李白和杜甫谁更有名？"), Message("assistant", "李白和杜甫都很有名。")]
    assert ReferenceResolver().resolve("他出生在哪里？", history).options == ("李白", "杜甫")


def test_a_question_in_another_language_begins_anew() -> None:
    before = talk("住宿的标准是什么？", "每晚 280 元。")
    assert RESOLVER.resolve("餐补什么时候开始减半", before).in_context is not None
    assert RESOLVER.resolve("hotel deposit", before).in_context is not None
    assert RESOLVER.resolve("What are the quiet hours?", before).in_context is None
