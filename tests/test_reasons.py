"""What the state says in English is read in Chinese: `reasons.yaml` has a row for it, and the row is found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from theworld.packages import load_table, reason_in

ROOT = Path(__file__).resolve().parents[1]
ROWS = load_table("theworld", "reasons.yaml")
SAYING = {"UnclearError", "Choice", "append", "degrading", "_degradation"}
"""What is called with a sentence for the state; keywords `reason` and `why` hold others."""
COMPOSED = {
    *("x of an answer: x", "x may be x", "x (a `table` with `counts`)", "the caller x for the database"),
    *("read from x statementx over the database", "what x is has only been guessed x; confirm it in the mapping"),
}
"""Sentences whose parts are sentences too, or plurals: their rows are written out."""
PLACES = ("nodes", "src/theworld/routing", "src/theworld/sql/questions")
_HOLE = re.compile(r"\{(\w+)\}")


def filled(text: str) -> str:
    return _HOLE.sub(lambda hole: f"<{hole[1]}>", text)


@pytest.mark.parametrize("key", ROWS)
def test_each_row_is_found_by_what_it_says(key: str) -> None:
    row = ROWS[key]
    assert set(row) == {"en", "zh"}
    assert reason_in("zh", filled(row["en"])) == filled(row["zh"]), "an earlier row fits it too"
    assert reason_in("en", filled(row["en"])) == filled(row["en"])


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("open question: '怎么', no name", "开放式提问：“怎么”，没有名称"),
        ("seeds: 6 notes, entities: none", "起点：6 条段落，无实体"),
        ("seeds: 3 notes, entities: 劳动合同, 约定", "起点：3 条段落，实体：劳动合同, 约定"),
        (
            "extractive: the best notes hold what is asked with probability 0.51",
            "段落：最佳段落包含所问内容的概率为 0.51",
        ),
        (
            "part 1: read from 1 statement over the database; part 2: nothing was found",
            "第 1 部分：由 1 条数据库语句读出；第 2 部分：没有找到任何内容",
        ),
        (
            "the dense channel was too late (not done after 900 ms) and is left out",
            "语义通道超时（900 毫秒内未完成），未采用",
        ),
        ("a reason of somebody's own strategy", "a reason of somebody's own strategy"),
        ("a reason of one's own; and another", "a reason of one's own; and another"),
        (
            "Did you mean b.md? Else `theworld list` shows the ids there are; --search TEXT narrows them.",
            "是否指 b.md？否则：`theworld list` 列出已有的文档；--search TEXT 可缩小范围。",
        ),
        ("small talk needs no retrieval; 100% mine", "闲聊无需检索；100% mine"),
    ],
)
def test_what_is_filled_in_stays_and_parts_are_looked_up(english: str, chinese: str) -> None:
    assert reason_in("zh", english) == chinese


def test_a_name_is_told_as_it_is_called_in_chinese() -> None:
    said = reason_in("zh", "order detail has no column of time of its own", {"order detail": "订单明细"})
    assert said == "“订单明细”没有自己的时间列"


def sentences() -> Iterator[str]:
    """Yield each sentence written for the state, `x` in the place of what is filled in."""
    for file in sorted(file for place in PLACES for file in (ROOT / place).rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            owner = getattr(getattr(call.func, "value", None), "id", "")
            said = [word.value for word in call.keywords if word.arg in {"reason", "why"}]
            if name in SAYING and (name != "append" or owner == "reasons"):
                said += call.args
            for text in (one for given in said for one in (given.elts if isinstance(given, ast.Tuple) else [given])):
                written = sentence_of(text)
                if " " in written.replace("x", "").strip():
                    yield f"{written}: x" if name == "degrading" else written


def sentence_of(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return ""


def test_every_sentence_of_nodes_router_and_database_has_a_row() -> None:
    found = set(sentences())
    assert len(found) > 80
    rules = {text for text in found if f"x {text}" in {row["en"].replace("{word}", "x") for row in ROWS.values()}}
    known = [re.compile(_HOLE.sub(".+?", re.sub(r"[()|.?*+]", r"\\\g<0>", row["en"]))) for row in ROWS.values()]
    assert not [text for text in found - rules - COMPOSED if not any(row.fullmatch(text) for row in known)]
