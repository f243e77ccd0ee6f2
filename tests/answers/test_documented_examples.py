"""The EFSA specification word for word: its examples, its formula, its constants, called with default arguments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.answers import efsa
from theworld.answers.efsa import compute_cov_cons, efsa_answer, efsa_answer_with_fallback


def test_basic_use(capsys: pytest.CaptureFixture[str]) -> None:
    candidates = [
        {
            "entities": ["Steve Hillage", "Miquette Giraudy"],
            "final_score": 0.85,
            "hop_no": 1,
            "doc_id": "doc1",
            "paragraph_idxs": [1],
            "content": "...",
        },
    ]
    answer, support_idxs = efsa_answer_with_fallback(
        candidates=candidates,
        query="Who is Steve Hillage's partner?",
        bridge_entity="Steve Hillage",
        path_entities=["Steve Hillage", "System 7"],
        topN=20,
    )
    if answer:
        print(f"EFSA Answer: {answer}")
        print(f"Support: {support_idxs}")
    else:
        print("EFSA failed, use fallback method")
    assert capsys.readouterr().out == "EFSA Answer: Miquette Giraudy\nSupport: [1]\n"


@pytest.mark.parametrize("found", [True, False])
def test_use_in_a_query_processor(found: bool) -> None:
    query = "Who is Steve Hillage's partner?"
    selected_notes: list[dict[str, Any]] = [
        {
            "entities": ["Steve Hillage", "System 7"],
            "final_score": 0.85,
            "doc_id": "doc1",
            "paragraph_idxs": [1],
            "bridge_entity": "Steve Hillage",
            "bridge_path": ["Steve Hillage", "System 7"],
        },
        {
            "entities": ["Miquette Giraudy"] if found else [],
            "final_score": 0.7,
            "doc_id": "doc2",
            "paragraph_idxs": [2],
        },
    ]
    bridge_entities = [n.get("bridge_entity") for n in selected_notes if n.get("bridge_entity")]
    path_entities = [e for n in selected_notes for e in n.get("bridge_path", [])]
    answer, support_idxs = efsa_answer_with_fallback(
        candidates=selected_notes,
        query=query,
        bridge_entity=bridge_entities[0] if bridge_entities else None,
        path_entities=list(set(path_entities))[-2:],
        topN=20,
    )
    assert (answer, support_idxs) == (("Miquette Giraudy", [2]) if found else (None, []))


def test_the_constants_have_their_documented_values() -> None:
    assert (efsa.HOP_DECAY, efsa.COV_WEIGHT, efsa.CONS_WEIGHT, efsa.DIVERSITY_REWARD) == (0.85, 0.10, 0.05, 0.03)


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


def test_only_the_first_notes_count() -> None:
    notes = [{"entities": [name], "final_score": score} for name, score in (("A", 0.2), ("B", 0.9))]
    assert efsa_answer(notes, "?", topN=1)[0] == "A"
    assert efsa_answer(notes, "?")[0] == "B"
    many = [{"entities": ["A"], "final_score": 0.1}] * 20 + [{"entities": ["B"], "final_score": 1.0}] * 9
    assert efsa_answer(many, "?")[0] == "A"


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
