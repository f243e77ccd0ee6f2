"""EFSA: the specification's formula, its example, its ties and its refusals."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld import compute_cov_cons, efsa_answer, efsa_answer_with_fallback
from theworld.answers.efsa import trace_efsa
from theworld.answers.efsa_input import InvalidNoteError, read_notes

EXAMPLE = [
    {
        "entities": ["Steve Hillage", "Miquette Giraudy", "System 7"],
        "final_score": 0.85,
        "hop_no": 1,
        "doc_id": "doc1",
        "paragraph_idxs": [1],
        "title": "Steve Hillage biography",
        "content": "Steve Hillage is a guitarist who collaborated with Miquette Giraudy.",
    },
    {
        "entities": ["Miquette Giraudy", "System 7", "electronic music"],
        "final_score": 0.78,
        "hop_no": 2,
        "doc_id": "doc2",
        "paragraph_idxs": [2],
        "title": "Miquette Giraudy profile",
        "content": "Miquette Giraudy is known for her work in electronic music.",
    },
]
QUERY = "Who is Steve Hillage's partner?"


def test_the_specifications_example() -> None:
    answer, support = efsa_answer_with_fallback(
        candidates=EXAMPLE,
        query=QUERY,
        bridge_entity="Steve Hillage",
        path_entities=["Steve Hillage", "System 7"],
        topN=20,
    )
    assert (answer, support) == ("Miquette Giraudy", [1, 2])


def test_every_factor_of_the_formula() -> None:
    trace = trace_efsa(read_notes(EXAMPLE, 20), QUERY, "Steve Hillage", ["Steve Hillage", "System 7"])
    best = trace.ranking[0]
    first = 0.85 * 1 * (1 + 0.10 * 1.0 + 0.05 * 1)
    second = 0.78 * 0.85 * (1 + 0.10 * 0.5 + 0.05 * 0)
    assert [part.weight for part in best.contributions] == pytest.approx([first, second])
    assert best.score == pytest.approx((first + second) * 1.03)
    assert trace.excluded == {"steve hillage": "bridge", "system 7": "path"}


@pytest.mark.parametrize(
    ("entities", "text", "path", "expected"),
    [
        (["A b", "C"], "about a b", ["A B", "D"], (0.5, 1)),
        (["Ａ b"], "nothing", ["a b"], (1.0, 0)),
        (["adjust"], "we adjust it", ["just"], (0.0, 0)),
        (["北京大学"], "他在北京大学读书", ["北京大学"], (1.0, 1)),
        (["x"], "x", [], (0.0, 0)),
        (["x"], "x", None, (0.0, 0)),
    ],
)
def test_coverage_and_consistency(entities: list[str], text: str, path: list[str] | None, expected: object) -> None:
    assert compute_cov_cons({"entities": entities, "content": text}, path) == expected


def test_diversity_stops_growing_at_three_further_documents() -> None:
    notes = [{"entities": ["E"], "final_score": 0.5, "doc_id": str(index)} for index in range(6)]
    assert trace_efsa(read_notes(notes, 20), "?").ranking[0].score == pytest.approx(3.0 * 1.09)


@pytest.mark.parametrize("query", ["What did MARIE  CURIE find?", "Ｍarie Curie?", "Marie Curie's husband?"])
def test_the_querys_own_entities_never_answer(query: str) -> None:
    notes = [{"entities": ["Marie Curie", "Pierre Curie"], "final_score": 0.9}]
    assert efsa_answer(notes, query)[0] == "Pierre Curie"


def test_aliases_are_one_entity() -> None:
    notes = [
        {"entities": ["NYC"], "final_score": 0.6, "paragraph_idxs": [4]},
        {"entities": ["Boston"], "final_score": 0.9, "paragraph_idxs": [5]},
        {"entities": ["New York City"], "final_score": 0.6, "paragraph_idxs": [6]},
    ]
    assert efsa_answer(notes, "?")[0] == "Boston"
    assert efsa_answer(notes, "?", aliases={"NYC": "New York City"}) == ("NYC", [4, 6])
    assert efsa_answer(notes, "?", "New York City", aliases={"NYC": "New York City"})[0] == "Boston"


def test_ties_go_to_more_evidence_then_more_documents_then_the_first() -> None:
    more = [
        {"entities": ["One"], "final_score": 0.8, "doc_id": "a"},
        {"entities": ["Two"], "final_score": 0.4, "doc_id": "b"},
        {"entities": ["Two"], "final_score": 0.4, "doc_id": "b"},
    ]
    assert efsa_answer(more, "?")[0] == "Two"
    assert efsa_answer([{"entities": ["B", "A"], "final_score": 0.4}], "?")[0] == "B"


@pytest.mark.slow
def test_same_answer_in_any_process() -> None:
    code = """
from theworld import efsa_answer
for entities in [f"E{i}" for i in range(30)], {f"E{i}" for i in range(30)}:
    print(efsa_answer([{"entities": entities, "final_score": .5}], "?"))"""
    for seed in range(2):
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == "('E0', [])\n('E0', [])\n"


def test_paragraph_indexes_may_be_an_arrays() -> None:
    note = {"entities": ["A"], "final_score": 0.5, "paragraph_idxs": [np.int64(3), 1]}
    answer, support = efsa_answer([note], "?")
    assert (answer, support, [type(index) for index in support]) == ("A", [3, 1], [int, int])


@pytest.mark.parametrize("candidates", [[], None, [{}], [{"entities": []}], [{"entities": ["A"], "final_score": 0}]])
def test_nothing_to_answer_with(candidates: list[dict[str, object]] | None) -> None:
    assert efsa_answer_with_fallback(candidates, "?") == (None, [])


def test_abstains_below_share_and_margin() -> None:
    notes = [{"entities": ["A", "B", "C"], "final_score": 0.9}, {"entities": ["A"], "final_score": 0.1}]
    assert efsa_answer(notes, "?")[0] == "A"
    assert efsa_answer(notes, "?", min_share=0.5) == (None, [])
    assert efsa_answer(notes, "?", min_margin=0.2) == (None, [])


def test_the_gate_vetoes_and_never_invents() -> None:
    notes = [{"entities": ["A", "B"], "final_score": 0.9}]
    assert efsa_answer(notes, "?", allowed=lambda key, _name: key == "b")[0] == "B"
    assert efsa_answer(notes, "?", allowed=lambda _key, _name: False) == (None, [])


@pytest.mark.parametrize(("logits", "score"), [(False, 2.0), (True, 1 / (1 + math.exp(-2)))])
def test_scores_are_used_as_given_unless_declared_as_logits(logits: bool, score: float) -> None:
    trace = trace_efsa(read_notes([{"entities": ["A"], "final_score": 2.0}], 20, logits=logits), "?")
    assert trace.ranking[0].score == pytest.approx(score)


@pytest.mark.parametrize(
    ("note", "field"),
    [
        ({"final_score": "high"}, "final_score"),
        ({"final_score": float("nan")}, "final_score"),
        ({"hop_no": [1]}, "hop_no"),
        ({"entities": "Paris"}, "entities"),
        ({"entities": [object()]}, "entities"),
        ({"entities": 3}, "entities"),
        ({"paragraph_idxs": "1"}, "paragraph_idxs"),
        ({"paragraph_idxs": [1, None]}, "paragraph_idxs"),
    ],
)
def test_a_wrong_field_is_named(note: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidNoteError, match=rf"candidates\[0\].*{field}"):
        efsa_answer([note], "?")


def test_a_note_that_is_no_dict_is_named() -> None:
    with pytest.raises(InvalidNoteError, match=r"candidates\[1\]"):
        efsa_answer([{}, "text"], "?")  # type: ignore[list-item]


NAMES = st.sampled_from(["Ada", "Alan Turing", "北京", "System 7", "é", "x"])
NOTES = st.lists(
    st.fixed_dictionaries(
        {"entities": st.lists(NAMES), "final_score": st.floats(0, 1), "hop_no": st.integers(1, 4)},
        optional={"doc_id": st.sampled_from(["a", "b"]), "paragraph_idxs": st.lists(st.integers(0, 9))},
    ),
    max_size=6,
)


@given(NOTES, NAMES)
def test_the_answer_is_an_entity_of_the_notes_and_never_the_bridge(notes: list[dict[str, object]], bridge: str) -> None:
    answer, support = efsa_answer(notes, "What?", bridge)
    names = {name for note in notes for name in note["entities"]}  # type: ignore[attr-defined]
    assert answer is None or (answer in names and answer != bridge)
    assert len(support) == len(set(support))
    assert (answer, support) == efsa_answer(notes, "What?", bridge)
