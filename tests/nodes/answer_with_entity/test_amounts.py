"""Questions for one amount and the words that state it, from the table beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from theworld.nodes.answer_with_entity.question.amounts import asked_amount, notes_stating
from theworld.nodes.answer_with_entity.question.answer_type import expected_answer_type
from theworld.nodes.answer_with_entity.spans.ranking import rank_spans
from theworld.nodes.answer_with_entity.values.measure_table import measure_table
from theworld.state import Candidate
from theworld.text import detect_language

CASES = yaml.safe_load(Path(__file__).with_name("amounts.yaml").read_text(encoding="utf-8"))


def note(title: str, text: str) -> Candidate:
    return Candidate(note_id=title, document_id=title, title=title, text=text, language=detect_language(text))


@pytest.mark.parametrize(("measure", "question", "sentence", "value"), CASES)
def test_the_words_that_state_an_amount(measure: str, question: str, sentence: str, value: str | None) -> None:
    asked = asked_amount(question)
    assert asked is not None
    assert measure in asked.measures
    assert [sentence[start:end] for start, end in asked.spans(sentence)] == ([] if value is None else [value])


def test_every_measure_that_can_be_asked_for_has_examples_in_both_languages() -> None:
    askable = {name for _, names in measure_table().amounts for name in names}
    for language in ("en", "zh"):
        assert {case[0] for case in CASES if detect_language(case[1]) == language} == askable


@pytest.mark.parametrize(
    "question",
    [
        "Which city has the largest population?",
        "How many people died in Corran?",
        "What percentage of the population is rural?",
        "In which area did he live?",
        "人口最多的城市是哪个？",
        "有多少人参加了比赛？",
        "农业人口占总人口的百分之几？",
        "",
    ],
)
def test_other_questions_ask_for_no_amount_of_a_measure(question: str) -> None:
    assert asked_amount(question) is None


def test_the_amount_of_another_thing_counts_only_where_the_named_one_states_none() -> None:
    question = "How many people live in Corran?"
    kell, corran = note("Kell", "Kell has 90 inhabitants."), note("Corran", "Corran is old. 12 people live there.")
    amount = asked_amount(question)
    assert list(notes_stating(amount, question, [kell, corran])) == [1]
    assert list(notes_stating(amount, question, [kell, note("Corran", "Corran is old.")])) == [0]
    assert notes_stating(None, question, [kell]) == {}


@pytest.mark.parametrize(
    ("question", "amount"),
    [
        ("At what temperature does osmine boil?", "356.7 degrees Celsius"),
        ("At what temperature does osmine melt?", "minus 38.8 degrees Celsius"),
        ("奥斯明的沸点是多少摄氏度？", "356.7摄氏度"),
        ("奥斯明的熔点是多少摄氏度？", "零下38.8摄氏度"),
    ],
)
def test_each_amount_of_a_sentence_is_of_its_own_part(question: str, amount: str) -> None:
    evidence = [
        note("Osmine", "Osmine is liquid at ordinary temperature: it melts at minus 38.8 degrees Celsius and boils at "
        "356.7 degrees Celsius."),
        note("奥斯明", "奥斯明常温下呈液态，熔点为零下38.8摄氏度，沸点为356.7摄氏度。"),
    ]  # fmt: skip
    language = detect_language(question)
    own = [one for one in evidence if one.language == language]
    assert rank_spans(question, language, expected_answer_type(question, language), own)[0].text == amount
