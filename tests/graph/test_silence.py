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
"""Near misses: each is about something that the documents tell of. What is asked, they do not say."""
ANSWERED = [
    ("What is Mercury used for?", "barometers"),
    ("沈括写了什么书？", "梦溪笔谈"),
    ("宁波在哪个省？", "浙江省"),
    ("嫦娥五号带回了多少月壤？", "1731克"),
]


@pytest.mark.parametrize("question", UNANSWERED)
def test_what_no_document_says_gets_no_short_answer(resources: Resources, question: str) -> None:
    output = build_graph(resources).invoke({"question": question})
    assert output["kind"] in {"none", "extractive"}
    assert output["result"].short == ""


def test_half_of_what_no_document_says_is_silent_or_unsure(resources: Resources) -> None:
    """Evidence alone cannot tell a near miss about a known person; and the best BM25 grows with the store."""
    graph = build_graph(resources)
    sureness = [graph.invoke({"question": question})["result"].sureness for question in UNANSWERED]
    assert 2 * sum(one in {"none", "unsure"} for one in sureness) >= len(UNANSWERED)


@pytest.mark.parametrize(("question", "held"), ANSWERED)
def test_what_a_document_says_is_shown(resources: Resources, question: str, held: str) -> None:
    output = build_graph(resources).invoke({"question": question})
    assert output["kind"] in {"extractive", "entity"}
    assert held in output["answer"]
