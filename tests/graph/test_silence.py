"""Questions that the demo's documents do not answer, beside questions that they do, without a model."""

from __future__ import annotations

import pytest

from theworld.graph import Resources, build_graph

UNANSWERED = [
    "Who composed the opera about Ada Lovelace?",
    "How many children did Charles Babbage have?",
    "Which airline flies to Vienna?",
    "What is the price of a ticket to the Jet Propulsion Laboratory?",
    "谁设计了杭州的地铁？",
    "嫦娥七号什么时候发射？",
    "黄金的沸点是多少？",
    "哪家航空公司飞往杭州？",
]
ANSWERED = [
    ("What is Mercury used for?", "barometers"),
    ("沈括写了什么书？", "梦溪笔谈"),
    ("宁波在哪个省？", "浙江省"),
]


@pytest.mark.parametrize("question", UNANSWERED)
def test_what_no_document_says_is_silent_or_unsure(resources: Resources, question: str) -> None:
    output = build_graph(resources).invoke({"question": question})
    assert output["kind"] in {"none", "extractive"}
    assert output["result"].sureness in {"none", "unsure"}


@pytest.mark.parametrize(("question", "held"), ANSWERED)
def test_what_a_document_says_is_shown(resources: Resources, question: str, held: str) -> None:
    output = build_graph(resources).invoke({"question": question})
    assert output["kind"] in {"extractive", "entity"}
    assert held in output["answer"]
    assert output["result"].sureness in {"likely", "sure"}


def test_an_amount_is_answered_with_its_unit(resources: Resources) -> None:
    output = build_graph(resources).invoke({"question": "嫦娥五号带回了多少月壤？"})
    assert (output["kind"], output["result"].short) == ("entity", "1731克")
    assert output["answer"].startswith("1731克\n\n"), "the passage stands below"
    assert output["confidence"] >= resources.settings.answers.min_confidence
