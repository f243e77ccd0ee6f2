"""What of the ontology a question speaks of, by a table of questions in both languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.demo.credit import load_credit_ontology
from theworld.ontology import Lookup, Ref
from theworld.ontology.matching import Matcher, number_constraints
from theworld.questions import read_question


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(Lookup(load_credit_ontology()))


# Question -> elements with their words; a value as `class.attribute=value`.
NAMED = [
    (
        "关联企业近30天授信变化与交易波动",
        "affiliated_with:关联企业 credit_change:授信变化 transaction_volatility:交易波动",
    ),
    (
        "Which affiliated companies had credit changes and payment volatility?",
        "affiliated_with:affiliated companies|credit_change:credit changes|transaction_volatility:payment volatility",
    ),
    ("谁为苇岸包装提供担保？", "company_reedbank_packaging:苇岸包装 guarantees:提供担保"),
    (
        "Who is the guarantor of Reedbank Packaging?",
        "guarantees:guarantor|company_reedbank_packaging:Reedbank Packaging",
    ),
    ("评级为BB的公司", "rating:评级 rating.grade=BB:BB company:公司"),
    ("观察名单上的企业", "company.status=watch:观察名单 company:企业"),
    ("企业的授信被冻结", "company:企业 credit_line:授信 credit_line.status=frozen:冻结"),
    ("被冻结的客户", "company.status=frozen:冻结 company:客户"),
    ("ＦＡＲＳＡＩＬ bank的支行", "bank_farsail:ＦＡＲＳＡＩＬ bank branch:支行"),
    ("the client's suppliers", "company:client's|supplies:suppliers"),
    ("a new bank", "bank:bank"),
    ("今天天气怎么样", ""),
    ("", ""),
]


@pytest.mark.parametrize(("question", "expected"), NAMED)
def test_what_is_named_is_recognised_with_its_place(matcher: Matcher, question: str, expected: str) -> None:
    found = [match for match in matcher.match(question).matches if match.end > match.start]
    separator = "|" if "|" in expected else " "
    if question.startswith("ＦＡ"):
        assert [match.text for match in found] == ["ＦＡＲＳＡＩＬ bank", "支行"]
        return
    shown = [f"{m.ref.key}{f'={m.value}' if m.value else ''}:{m.text}" for m in found]
    assert shown == [part for part in expected.split(separator) if part]
    assert all(question[match.start : match.end] == match.text for match in found)


def test_of_overlapping_names_the_longest_stands_and_the_others_are_kept_apart(matcher: Matcher) -> None:
    result = matcher.match("交易波动")
    assert [match.ref for match in result.matches] == [Ref("Capability", "transaction_volatility")]
    assert [match.ref for match in result.nested] == [Ref("OntologyClass", "transaction")]


def test_a_number_belongs_to_the_numeric_attribute_beside_it(matcher: Matcher) -> None:
    found = matcher.match("注册资本超过5000万元且额度不低于1亿元的企业").ranges
    assert [(r.comparison, r.low.value, r.attribute and r.attribute.key) for r in found] == [
        ("more_than", 5e7, "company.registered_capital"),
        ("at_least", 1e8, "credit_line.limit_amount"),
    ]
    (one,) = matcher.match("companies with at least 20 million of registered capital").ranges
    assert one.attribute == Ref("Attribute", "company.registered_capital")
    assert matcher.match("at least 3 of them").ranges[0].attribute is None


def test_times_hide_what_is_inside_them_and_need_a_now(matcher: Matcher) -> None:
    question = "近30天授信变化超过5家"
    result = matcher.match(question, now=datetime(2024, 12, 31, tzinfo=UTC))
    assert [str(time.start)[:10] for time in result.times] == ["2024-12-02"]
    assert [question[one.start : one.end] for one in result.ranges] == ["超过5家"]
    assert not matcher.match(question).times


@given(st.text(max_size=60))
def test_any_text_is_matched_within_its_bounds(matcher: Matcher, question: str) -> None:
    result = matcher.match(question)
    assert result == matcher.match(question)
    for match in (*result.matches, *result.nested):
        assert 0 <= match.start <= match.end <= len(question)
        assert 0 < match.score <= 1


NUMBERS = [
    ("超过5000万元", "more_than 50000000"),
    ("不低于1亿", "at_least 100000000"),
    ("at least 10 million", "at_least 10000000"),
    ("no more than 12 guarantees", "at_most 12"),
    ("under CNY 1,200.5", "less_than 1200.5"),
    ("between 10 and 20 million yuan", "between 10000000 20000000"),
    ("持股比例在20%到50%之间", "between 20 50"),
    ("5000万以上", "at_least 50000000"),
    ("100万以下", "less_than 1000000"),
    ("exactly 7", "equal 7"),
    ("10 and 20", ""),
    ("近30天", ""),
    ("CL-018", ""),
    ("moreover 3 banks", ""),
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_comparisons_with_numbers(text: str, expected: str) -> None:
    found = []
    for one in number_constraints(read_question(text)):
        limits = [one.low, *([one.high] if one.high else [])]
        found.append(" ".join([one.comparison, *(f"{limit.value:.10g}" for limit in limits)]))
    assert "; ".join(found) == expected
