"""Golden sets: provenance, repetitions, contradictions, leaks, strata; the same set in any order."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from theworld.service.golden import build_golden_set
from theworld.stores.ledger.evaluations import Query


def judged(number, question, answers=("Vienna",), documents=("d",), language="en", intent="question", verdict="good"):
    grades, provenance = dict.fromkeys(documents, 1), {"request_id": f"r{number:03}", "verdict": verdict}
    return Query(f"r{number:03}", question, tuple(answers), f"{language}/{intent}", grades, provenance)


def texts(found):
    return [item.text for item in found[0]]


def test_it_keeps_where_a_question_comes_from():
    found = build_golden_set([judged(1, "Where was he born?", verdict="bad")])
    assert found[0][0].provenance == {"request_id": "r001", "verdict": "bad", "also": []}


def test_repetitions_are_one_question_in_both_languages():
    found = build_golden_set(
        [
            judged(1, "Where was Fritz Lang born?"),
            judged(2, "where was fritz lang born ?"),
            judged(3, "天一阁是由谁主持建造的？", answers=["范钦"], language="zh"),
            judged(4, "天一阁是由谁主持建造的", answers=["范钦"], language="zh"),
            judged(5, "Where was Ada Lovelace born?", answers=["London"]),
        ]
    )
    assert [item.provenance["also"] for item in found[0]] == [["r002"], ["r004"], []]
    assert found[1] == {"repeated": 2}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            "What was the whole revenue of the company in the third quarter of the year 2019?",
            "What was the whole revenue of the company in the third quarter of the year 2020?",
            False,
        ),
        (
            "In which year did the famous painter of the large red house move to Vienna for good?",
            "In which year did the famous painter of the large red house move to Graz for good?",
            False,
        ),
        (
            "in which year did the famous painter of the large red house move to vienna for good",
            "In which year did the famous painter of the large red house move to Vienna for good, please?",
            True,
        ),
        (
            "这家公司在华东地区的信贷业务部门去年第三季度一共新增了多少家客户呢请告诉我",
            "这家公司在华东地区的信贷业务部门去年第四季度一共新增了多少家客户呢请告诉我",
            False,
        ),
    ],
)
def test_long_questions_that_differ_in_a_number_or_a_name_are_two(one, other, same):
    found = build_golden_set([judged(1, one, answers=["1901"]), judged(2, other, answers=["1902"])])
    assert found[1] == ({"contradicted": 2} if same else {})
    assert len(found[0]) == (0 if same else 2)


def test_users_who_contradict_each_other_leave_no_question():
    found = build_golden_set([judged(1, "Where was he born?"), judged(2, "Where was he born?", answers=["Graz"])])
    assert (texts(found), found[1]) == ([], {"contradicted": 2})


def test_leaks_are_left_out():
    found = build_golden_set(
        [
            judged(1, "Is Vienna where he was born?"),
            judged(2, "Known from the training set?"),
            judged(3, "Stands in a document?"),
            judged(4, "How old is he?", answers=["42"]),
        ],
        known=["known from the training set"],
        in_corpus=lambda question: question.startswith("Stands"),
    )
    assert (texts(found), found[1]) == (["How old is he?"], {"leaked": 3})


def test_without_gold_there_is_nothing_to_learn():
    found = build_golden_set([judged(1, "Where?", answers=(), documents=(), verdict="bad")])
    assert found[1] == {"without_gold": 1}


def test_small_strata_are_not_lost_and_the_order_of_requests_does_not_matter():
    nouns = ["Danube", "comet", "pavilion", "telescope", "rover", "canal", "algebra", "film", "river", "observatory"]
    items = [judged(n, f"What about the {noun}?") for n, noun in enumerate(nouns)]
    items.append(judged(90, "故宫在哪里？", answers=["北京"], language="zh", intent="detail"))
    sets = []
    for seed in range(3):
        shuffled = items[:]
        random.Random(seed).shuffle(shuffled)
        sets.append(build_golden_set(shuffled, size=4))
    assert sets[0] == sets[1] == sets[2]
    assert Counter(item.type for item in sets[0][0]) == {"en/question": 3, "zh/detail": 1}
    assert sets[0][1] == {"over_size": 7}
