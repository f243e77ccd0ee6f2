"""Spans that stand beside the question's words and yet answer something else."""

from __future__ import annotations

import re

import pytest

from theworld.nodes.answer_with_entity.question.amounts import is_other_measure
from theworld.nodes.answer_with_entity.spans.agents import is_done_by_asked
from theworld.state import Candidate, Mention
from theworld.text import detect_language, entity_key


@pytest.mark.parametrize(
    ("question", "text", "amount", "other"),
    [
        ("How high is Mount Kell?", "The Dunmore rises on Mount Kell and is 218 km long.", "218 km", True),
        ("How high is Mount Kell?", "Mount Kell is 902 m high; its north face is 300 m wide.", "902 m", False),
        ("What is the population of Skerry?", "Skerry covers 62 square kilometres.", "62", True),
        ("What is the population of Skerry?", "Skerry has a population of 4,830.", "4,830", False),
        ("How many bridges cross it?", "It is 218 km long.", "218 km", False),
        ("雪顶山的海拔是多少？", "白鹿河发源于雪顶山，全长218公里。", "218公里", True),
        ("雪顶山的海拔是多少？", "雪顶山海拔3120米，山道长18公里。", "3120米", False),
        ("石门市的人口是多少？", "石门市面积4800平方公里。", "4800平方公里", True),
    ],
)
def test_an_amount_of_another_measure_is_no_answer(question: str, text: str, amount: str, other: bool) -> None:
    at = text.index(amount)
    assert is_other_measure(question, text, at, at + len(amount)) == other


@pytest.mark.parametrize(
    ("question", "text", "name", "other"),
    [
        ("When was Acme founded?", "Thorne was founded in 1854 and bought by Acme in 2021.", "Acme", True),
        ("When was Acme founded?", "Acme, founded in 1921, makes lenses.", "Acme", False),
        ("When did Acme buy Thorne?", "It was bought by Acme in 2021.", "Acme", False),
        ("When was Thorne bought by Acme?", "It was bought by Acme in 2021.", "Acme", False),
        ("What was built by Acme in 1921?", "The mill was built by Acme in 1921.", "Acme", False),
        ("明光公司成立于哪一年？", "索恩厂成立于1854年，2021年被明光公司收购。", "明光公司", True),
        ("明光公司哪一年收购索恩厂？", "索恩厂成立于1854年，2021年被明光公司收购。", "明光公司", False),
        ("明光公司成立于哪一年？", "明光公司成立于1921年。", "明光公司", False),
    ],
)
def test_what_the_asked_thing_did_to_another_is_no_answer(question: str, text: str, name: str, other: bool) -> None:
    mentions = tuple(
        Mention(surface=name, type="organization", start=m.start(), end=m.end(), key=entity_key(name))
        for m in re.finditer(name, text)
    )
    note = Candidate(note_id="n", document_id="n", text=text, language=detect_language(text), mentions=mentions)
    year = re.search(r"\d{4}", text)
    assert year is not None
    assert is_done_by_asked(question, note, year.start()) == other
