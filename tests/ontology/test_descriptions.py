"""What a question describes is resolved by the facts, from the inside out, in both languages."""

from __future__ import annotations

import pytest

from chinese_writing import in_traditional
from theworld.demo.credit import load_credit_ontology
from theworld.ontology import Lookup, parse_ontology
from theworld.ontology.descriptions import DescriptionReader
from theworld.ontology.lookup import Fact, Facts
from theworld.ontology.matching import Matcher
from theworld.text import detect_language


@pytest.fixture(scope="module")
def reader() -> DescriptionReader:
    lookup = Lookup(load_credit_ontology())
    return DescriptionReader(lookup, Matcher(lookup))


@pytest.mark.parametrize(
    ("question", "understood"),
    [
        ("白松纸浆的担保人何时成立？", "云麓新材何时成立？"),
        ("When was the guarantor of Palepine Pulp founded?", "When was Cloudfoot Materials founded?"),
        ("When was Palepine Pulp's guarantor founded?", "When was Cloudfoot Materials founded?"),
        ("被白松纸浆担保的企业怎样了？", "苇岸包装怎样了？"),
        ("白松纸浆担保的企业怎样了？", "苇岸包装怎样了？"),
        ("为白松纸浆担保的企业怎样了？", "云麓新材怎样了？"),
        ("What befell the company that Palepine Pulp guarantees?", "What befell Reedbank Packaging?"),
        ("What befell the company that guarantees Palepine Pulp?", "What befell Cloudfoot Materials?"),
        ("What befell the company guaranteed by Palepine Pulp?", "What befell Reedbank Packaging?"),
        ("从铜蕨矿业采购的化工企业有什么风险？", "云麓新材有什么风险？"),
        ("What risk is there at the ceramics company?", "What risk is there at Willowkiln Ceramics?"),
        ("软件企业的额度有多大？", "灯鱼软件的额度有多大？"),
        ("岩昼建设担保的企业的供应对象怎样了？", "柳窑陶瓷的供应对象怎样了？"),
        ("苇岸包装的控股股东的控股股东有什么变化？", "云麓控股有什么变化？"),
        ("What changed at the parent of the parent of Reedbank Packaging?", "What changed at Cloudfoot Holding?"),
    ],
)
def test_a_description_is_replaced_by_what_it_stands_for(
    reader: DescriptionReader, question: str, understood: str
) -> None:
    assert reader.read(question, detect_language(question)).question == understood
    assert reader.read(in_traditional(question), detect_language(question)).question == understood


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("谁控股潮门码头？", ["company_bluegull_shipping"]),
        ("潮门码头由谁控股？", ["company_bluegull_shipping"]),
        ("Who controls Tidegate Terminals?", ["company_bluegull_shipping"]),
        ("潮门码头位于哪座城市？", ["region_farcape"]),
        ("In which city is Tidegate Terminals?", ["region_farcape"]),
        ("Who controls the company that guarantees Foxbell Retail?", ["company_bluegull_shipping"]),
    ],
)
def test_what_the_facts_say_whole_is_answered(reader: DescriptionReader, question: str, answer: list[str]) -> None:
    for asked in (question, in_traditional(question)):
        reading = reader.read(asked, detect_language(asked))
        assert reading.answered
        assert list(reading.described[-1].samples) == answer


@pytest.mark.parametrize(
    "question",
    [
        "哪家企业去年控股潮门码头并赚了钱？",
        "Which company of Amberplain defaulted?",
        "东屿市哪家机械企业的授信最近上调？",
        "Who founded the company that guarantees Foxbell Retail?",
    ],
)
def test_what_asks_for_more_than_the_facts_say_is_not(reader: DescriptionReader, question: str) -> None:
    assert not reader.read(question, detect_language(question)).answered


@pytest.mark.parametrize(
    "question",
    ["九桥贸易的授信变化", "How is the weather in Eastisle?", "担保是什么意思？", "", "What does a guarantor do?"],
)
def test_nothing_described_leaves_the_question_as_it_is(reader: DescriptionReader, question: str) -> None:
    reading = reader.read(question, detect_language(question))
    assert reading.question == question
    assert not reading.described


def test_several_are_told_and_not_put_in_the_place_of_one(reader: DescriptionReader) -> None:
    reading = reader.read("珀原市的企业里谁违约了？", "zh")
    assert reading.question == "珀原市的企业里谁违约了？"
    assert {"company_duskhill_solar", "company_copperfern_mining"} <= set(reading.described[-1].samples)
    assert all(fact.relation == "located_in" for fact in reading.described[-1].facts)


def test_words_in_between_choose_among_several(reader: DescriptionReader) -> None:
    suppliers = {"company_reedbank_packaging", "company_bluegull_coldchain"}
    both = reader.read("盐鹤食品的供应商怎样了？", "zh").described[-1].samples
    cartons = reader.read("盐鹤食品的纸箱供应商怎样了？", "zh").described[-1].samples
    assert set(both) == suppliers
    assert list(cartons) == ["company_reedbank_packaging"]


def test_the_fact_is_told_with_its_direction(reader: DescriptionReader) -> None:
    (described,) = reader.read("白松纸浆的担保人怎样了？", "zh").described
    assert described.facts == (Fact("company_cloudfoot_materials", "guarantees", "company_palepine_pulp"),)


def test_symmetric_relations_hold_both_ways_and_circles_end() -> None:
    ontology = parse_ontology(
        """
        id: t
        classes: [{id: firm, labels: {en: [firm]}}]
        relations:
          - {id: partner, labels: {en: [partners with]}, roles: {source: {en: [partner]}, target: {en: [partner]}},
             source: firm, target: firm, symmetric: true}
        samples:
          - {id: a, class: firm, labels: {en: [Alder Works]}, facts: {partner: [b]}}
          - {id: b, class: firm, labels: {en: [Birch Works]}, facts: {partner: [a]}}
        """
    )
    lookup = Lookup(ontology)
    facts = Facts(lookup)
    assert list(facts.at("source", "partner", "a")) == ["b"]
    assert list(facts.at("target", "partner", "a")) == ["b"]
    text = "What makes the partner of the partner of the partner of the partner of Alder Works rich?"
    reading = DescriptionReader(lookup, Matcher(lookup)).read(text, "en")
    assert reading.question == "What makes the partner of Birch Works rich?"


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("潮门码头的注册资本是多少？", "company.registered_capital"),
        ("白松纸浆的担保人的注册资本是多少？", "company.registered_capital"),
        ("What is the registered capital of the guarantor of Palepine Pulp?", "company.registered_capital"),
        ("柳窑陶瓷是什么时候成立的？", "company.founded_on"),
        ("When was Willowkiln Ceramics founded?", "company.founded_on"),
    ],
)
def test_a_value_that_is_stated_is_answered(reader: DescriptionReader, question: str, attribute: str) -> None:
    reading = reader.read(question, detect_language(question))
    assert reading.answered
    assert reading.described[-1].attribute == attribute


@pytest.mark.parametrize("question", ["潮门码头的注册资本增加了多少？", "潮门码头的额度是多少？", "注册资本是多少？"])
def test_a_value_that_is_not_stated_or_not_all_is_not(reader: DescriptionReader, question: str) -> None:
    assert not reader.read(question, "zh").answered
