"""Values as models write them, fitted to types: a table anyone can extend, and what must be refused."""

from __future__ import annotations

import json
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, StrictInt, TypeAdapter

from theworld.structure import StructureParseError, parse_structured_output, parse_with_report

from .structure_shapes import SHAPES, Defaults, Item, Mode, Tree, User

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "models.jsonl").read_text(encoding="utf-8").splitlines()
]


def dumped(value: Any, shape: Any) -> Any:
    return TypeAdapter(shape).dump_python(value, mode="json", exclude_unset=True)


@pytest.mark.parametrize("case", CASES, ids=[f"{case['shape']}: {case['text'][:50]}" for case in CASES])
def test_text_becomes_object(case):
    shape = SHAPES[case["shape"]]
    if "value" not in case:
        with pytest.raises(StructureParseError):
            parse_with_report(case["text"], shape)
        return
    report = parse_with_report(case["text"], shape)
    assert dumped(report.value, shape) == case["value"]
    assert case.get("repairs", []) == [repair.kind for repair in report.repairs]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234", 1234), ("1,234,567.89", 1234567.89), ("１２３", 123), ("$1,299.00", 1299.0), ("-5", -5), ("−5", -5),
        ("1.2万", 12000), ("3 million", 3_000_000), ("30 days", 30), ("25岁", 25), ("50%", 50), ("5k", 5000),
        ("1.234,56", 1234.56), ("1 000 000", 1_000_000), ("12,34,567", 1234567), ("¥88", 88), ("**7**", 7),
    ],
)  # fmt: skip
def test_numbers_that_lose_nothing(text, number):
    assert parse_structured_output(json.dumps({"n": text}), dict[str, float]) == {"n": number}


@pytest.mark.parametrize(
    "text",
    ["about 5", "5-10", "5 or 6", "over 5", "1,5", "12,3456", "5 apples and 3", "", "five", "1/2", "5?", "~5", "10 20"],
)
def test_numbers_that_would_lose_something_are_refused(text):
    with pytest.raises(StructureParseError):
        parse_structured_output(json.dumps({"n": text}), dict[str, float])


def test_different_units_in_one_list_are_refused():
    with pytest.raises(StructureParseError):
        parse_structured_output('["5 kg", "300 g"]', list[int])
    assert parse_structured_output('["5 kg", "300 kg"]', list[int]) == [5, 300]


def test_words_for_truth_and_dates():
    assert parse_structured_output('["Yes.", "否", "是", "✓"]', list[bool]) == [True, False, True, True]
    days = json.dumps(["2024年1月5日", "Jan 5, 2024", "5 January 2024"])
    assert parse_structured_output(days, list[date]) == [date(2024, 1, 5)] * 3
    assert parse_structured_output('["2024/1/5 9:30"]', list[datetime])[0].isoformat() == "2024-01-05T09:30:00"
    for text, shape in (('["maybe"]', list[bool]), ('["不清楚"]', list[bool]), ('["01/05/2024"]', list[date])):
        with pytest.raises(StructureParseError):
            parse_structured_output(text, shape)


def test_enum_by_label_but_not_by_negation():
    assert parse_structured_output('The category is "Cancel Order".', Mode) is Mode.CANCEL_ORDER
    assert parse_structured_output("类别：Technical support", Mode) is Mode.SUPPORT
    for text in ("This is not a refund", "refund or cancel order", "不是 refund"):
        with pytest.raises(StructureParseError):
            parse_structured_output(text, Mode)


def test_enum_members_by_name_and_numbers_by_literal():
    class Level(Enum):
        LOW = 1
        HIGH = 2

    assert parse_structured_output('{"a": "high"}', dict[str, Level]) == {"a": Level.HIGH}
    assert parse_structured_output('{"a": "2"}', dict[str, Literal[1, 2]]) == {"a": 2}


def test_self_referencing_models_end():
    text = '{"label": "a", "children": [' * 60 + "]}" * 60
    tree = parse_structured_output(text.replace("[]", ""), Tree)
    assert tree.label == "a"
    assert not parse_with_report('{"label": "a", "children": [' * 3000, Tree).lossless


def test_all_default_models_refuse_unrelated_objects():
    for text in ('{"unrelated": 1}', "function f() {}", 'see {"a": {"b": 2}}'):
        with pytest.raises(StructureParseError):
            parse_structured_output(text, Defaults)
    assert parse_structured_output("{}", Defaults) == Defaults()
    assert parse_structured_output('{"unrelated": 1} {"port": 8}', Defaults) == Defaults(port=8)


def test_the_fullest_fragment_wins_then_the_last():
    text = 'Example: {"title": "X"}. Mine: {title: "Y", price: 5, sold: true}. Or {"title": "Z"}'
    report = parse_with_report(text, Item)
    assert report.value.title == "Y"
    assert [alternative.value.title for alternative in report.alternatives] == ["Z", "X"]
    assert parse_structured_output('{"name": "a", "age": 1} {"name": "b", "age": 2}', User).name == "b"


def test_the_answer_after_thinking_wins():
    text = '<think>{"name": "draft", "age": 1}</think>{"name": "final", "age": 2}'
    assert parse_structured_output(text, User).name == "final"
    assert parse_structured_output('<think>{"name": "only", "age": 1}</think> done', User).name == "only"


def test_a_candidate_that_keeps_everything_beats_nested_ones():
    text = '{"label": "root", "children": [{"label": "leaf", "children": []},],}'
    assert parse_structured_output(text, Tree).children[0].label == "leaf"
    assert parse_with_report(text, Tree).value.label == "root"


class Obeyed(BaseModel):
    model_config = ConfigDict(strict=True)
    name: str = ""
    age: int = 0
    ages: list[int] = []


class Outer(BaseModel):
    inner: Obeyed | None = None
    count: StrictInt = 0
    lax: int = 0


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (Obeyed, '{"name": "A", "age": "30"}'),
        (Obeyed, '{name: A, age: "三十"}'),
        (Obeyed, '{"name": 5, "age": 30}'),
        (Obeyed, '{"name": "A", "ages": ["1"]}'),
        (Obeyed, '```yaml\nname: A\nage: "30"\n```'),
        (Outer, '{"inner": {"name": "A", "age": "30"}}'),
        (Outer, '{"count": "3"}'),
    ],
)
def test_a_strict_type_takes_no_other(shape, text):
    with pytest.raises(StructureParseError):
        parse_structured_output(text, shape)


def test_strictness_forbids_neither_repairs_of_syntax_nor_the_fitting_of_other_fields():
    assert parse_structured_output("{name: 'A', age: 30,}", Obeyed) == Obeyed(name="A", age=30)
    assert parse_structured_output('{"count": 3, "lax": "1,000"}', Outer) == Outer(count=3, lax=1000)
