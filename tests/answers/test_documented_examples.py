"""The EFSA specification's formula and constants on any notes; its examples are in tests/seeds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.answers import efsa
from theworld.answers.efsa import compute_cov_cons, efsa_answer


@pytest.mark.parametrize(
    ("constant", "value", "answer"),
    [
        ("HOP_DECAY", 0.1, "Near"),
        ("COV_WEIGHT", 9.0, "Near"),
        ("CONS_WEIGHT", 9.0, "Said"),
        ("DIVERSITY_REWARD", 9.0, "Wide"),
    ],
)
def test_each_constant_may_be_set_and_decides(
    monkeypatch: pytest.MonkeyPatch, constant: str, value: float, answer: str
) -> None:
    notes = [
        {"entities": ["Near", "P"], "final_score": 0.50, "doc_id": "a", "content": ""},
        {"entities": ["Said"], "final_score": 0.50, "doc_id": "b", "content": "about P"},
        {"entities": ["Wide"], "final_score": 0.25, "doc_id": "c", "content": ""},
        {"entities": ["Wide"], "final_score": 0.25, "doc_id": "d", "content": ""},
        {"entities": ["Far"], "final_score": 0.80, "hop_no": 2, "doc_id": "e", "content": ""},
    ]
    assert efsa_answer(notes, "?", None, ["P"])[0] == "Far"
    monkeypatch.setattr(efsa, constant, value)
    assert efsa_answer(notes, "?", None, ["P"])[0] == answer


NAMES = ["ada", "boole", "curie", "darwin", "euler"]
NOTES = st.lists(
    st.fixed_dictionaries(
        {
            "entities": st.lists(st.sampled_from(NAMES), unique=True, max_size=4),
            "final_score": st.floats(0.01, 1.0),
            "hop_no": st.integers(1, 4),
            "doc_id": st.sampled_from(["a", "b", "c", "d", "e"]),
            "content": st.sampled_from(["", "of ada", "with curie and euler"]),
        }
    ),
    max_size=8,
)


def by_the_documents_formula(notes: list[dict[str, Any]], bridge: str, path: list[str]) -> dict[str, float]:
    """Return every entity's score as the document writes it."""
    score: dict[str, float] = {}
    docs: dict[str, set[str]] = {}
    for note in notes:
        cov = len(set(path) & set(note["entities"])) / len(path) if path else 0
        cons = int(any(name in note["content"] for name in path))
        w_note = note["final_score"] * (0.85 ** (note["hop_no"] - 1)) * (1 + 0.10 * cov + 0.05 * cons)
        for e in note["entities"]:
            score[e] = score.get(e, 0.0) + w_note
            docs.setdefault(e, set()).add(note["doc_id"])
    for e in score:
        score[e] *= 1 + 0.03 * min(max(len(docs[e]) - 1, 0), 3)
    return {e: value for e, value in score.items() if e != bridge and e not in path}


@given(NOTES, st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
def test_default_arguments_answer_by_the_formula_alone(
    notes: list[dict[str, Any]], bridge: str, path: list[str]
) -> None:
    expected = by_the_documents_formula(notes, bridge, path)
    answer, _ = efsa_answer(notes, "What?", bridge, path)
    if answer is None:
        assert not expected
    else:
        assert expected[answer] == pytest.approx(max(expected.values()), rel=1e-9)


@given(NOTES, st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
def test_coverage_and_consistency_by_the_document(notes: list[dict[str, Any]], path: list[str]) -> None:
    for note in notes:
        cov, cons = compute_cov_cons(note, path)
        assert cov == (len(set(path) & set(note["entities"])) / len(path) if path else 0.0)
        assert cons == int(any(name in note["content"] for name in path))
