"""What a report tells, the policies, and a model as the last resort."""

from __future__ import annotations

import threading
import time

import pytest

from theworld.structure import (
    ModelRepair,
    StructureParseError,
    parse_structured_output,
    parse_with_report,
)

from .structure_shapes import Item, User

BROKEN = "The name is Bob, and Bob is 30 years old."


def test_valid_json_needs_no_repair():
    report = parse_with_report('{"name": "A", "age": 1}', User)
    assert (report.strategy, report.repairs, report.truncated) == ("direct_json", (), False)
    assert report.lossless
    assert report.alternatives == ()


def test_repairs_say_where_what_was_what_became_and_why():
    report = parse_with_report('{"title": "A", "price": "1,234", "mode": "REFUND",}', Item)
    by_path = {repair.path: repair for repair in report.repairs}
    price = by_path["price",]
    assert (price.was, price.became) == ("1,234", 1234)
    assert "separators" in price.why
    assert by_path["mode",].became == "refund"
    assert report.attempts[0]["strategy"] == "direct_json"


def test_truncation_is_told():
    report = parse_with_report('{"name": "A", "age": 1, "extra": {"b": 2}, "rest": "cut o', User)
    assert report.truncated
    assert not report.lossless


def test_a_number_larger_than_any_float_is_kept():
    report = parse_with_report("{name: A, age: " + "9" * 400 + "}", User)
    assert report.value.age == 10**400 - 1
    assert report.lossless


def test_duplicate_keys_are_told():
    report = parse_with_report('{"name": "A", "name": "B", age: 1}', User)
    assert [repair.was for repair in report.repairs if repair.kind == "dropped"] == ["a name"]
    assert not report.lossless


@pytest.mark.parametrize(
    "text",
    [
        "{'name': 'A', 'age': 1}",
        '{"name": "A", "age": 1,}',
        '{"name": "A", "age": "1岁"}',
        "name: A\nage: 1",
        '{"name": "A", "age": 1',
    ],
)
def test_strict_takes_nothing_that_must_be_mended(text):
    assert parse_with_report(text, User).value == User(name="A", age=1)
    with pytest.raises(StructureParseError):
        parse_with_report(text, User, policy="strict")


def test_strict_takes_valid_json_in_a_fence_or_in_prose():
    assert parse_structured_output('```json\n{"name": "A", "age": 1}\n```', User, policy="strict").age == 1
    assert parse_structured_output('so {"name": "A", "age": 1}!', User, policy="strict").age == 1


def test_policies_are_checked():
    with pytest.raises(ValueError, match="unknown policy 'lenient'"):
        parse_with_report("{}", User, policy="lenient")
    with pytest.raises(ValueError, match="needs repair="):
        parse_with_report("{}", User, policy="repair-model")


def test_a_model_is_asked_only_when_opted_in_and_gets_the_schema():
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return '{"name": "Bob", "age": 30}'

    repair = ModelRepair(ask=ask)
    with pytest.raises(StructureParseError):
        parse_with_report(BROKEN, User, repair=repair)
    assert not prompts
    report = parse_with_report(BROKEN, User, policy="repair-model", repair=repair)
    assert report.value == User(name="Bob", age=30)
    assert (report.strategy, report.model_calls, report.repairs[0].kind) == ("model_0", 1, "model")
    assert '"required": ["name", "age"]' in prompts[0]
    assert BROKEN in prompts[0]


def test_a_model_may_not_invent_a_value():
    repair = ModelRepair(ask=lambda prompt: '{"name": "Bob", "age": 31}', attempts=2)
    with pytest.raises(StructureParseError) as caught:
        parse_with_report(BROKEN, User, policy="repair-model", repair=repair)
    last = caught.value.attempts[-1]
    assert last["strategy"] == "model_1"
    assert "age = 31 does not occur in the content" in last["error"]


def test_a_failing_slow_or_wordless_model_is_one_failed_attempt():
    def fail(prompt: str) -> str:
        raise ConnectionError("no network")

    release = threading.Event()
    slow = ModelRepair(ask=lambda prompt: str(release.wait(60)), timeout_s=0.05)
    for repair, reason in (
        (ModelRepair(ask=fail), "no network"),
        (slow, "no answer within 0.05 s"),
        (ModelRepair(ask=lambda prompt: None), "the model failed"),
        (ModelRepair(ask=lambda prompt: "", max_tokens=10), "more than 10 tokens allow"),
    ):
        began = time.monotonic()
        with pytest.raises(StructureParseError, match="attempts failed") as caught:
            parse_with_report(BROKEN, User, policy="repair-model", repair=repair)
        assert reason in caught.value.attempts[-1]["error"]
        assert time.monotonic() - began < 20
    release.set()


def test_calls_per_minute_are_limited_across_parses():
    calls: list[str] = []
    repair = ModelRepair(ask=lambda prompt: calls.append(prompt) or "nothing", calls_per_minute=2)
    for _ in range(4):
        with pytest.raises(StructureParseError) as caught:
            parse_with_report(BROKEN, User, policy="repair-model", repair=repair)
    assert len(calls) == 2
    assert "more than 2 calls a minute" in caught.value.attempts[-1]["error"]


def test_limits_must_be_limits():
    with pytest.raises(ValueError, match=r"ModelRepair\.attempts must be positive, got 0"):
        ModelRepair(ask=str, attempts=0)
