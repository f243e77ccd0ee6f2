from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.evaluation.retrieval import m3_baseline

hits = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-10, 10, allow_nan=False), max_size=8).map(
    lambda scores: sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
)


def ordered(dense: list[tuple[str, float]], sparse: list[tuple[str, float]]) -> list[str]:
    return [note.note_id for note in m3_baseline(dense, sparse)]


def test_worked_example() -> None:
    dense = [("a", 0.9), ("b", 0.5), ("c", 0.1)]
    sparse = [("b", 12.0), ("d", 7.0), ("a", 2.0)]
    # a: .55*1 + .45*0 = .55; b: .55*.5 + .45*1 = .725; c: 0; d: .45*.5 = .225
    assert ordered(dense, sparse) == ["b", "a", "d", "c"]


def test_dense_outweighs_sparse_and_ties_go_by_id() -> None:
    assert ordered([("a", 1.0)], [("b", 1.0)]) == ["a", "b"]
    assert ordered([("b", 1.0), ("a", 1.0)], []) == ["a", "b"]
    assert ordered([], []) == []


def test_only_the_first_hundred_of_a_channel_count() -> None:
    dense = [(f"n{i:03d}", 1000.0 - i) for i in range(120)]
    assert len(ordered(dense, [])) == 100


@given(hits, hits, st.floats(0.5, 4.0), st.floats(-5, 5))
def test_scale_and_shift_of_a_channel_do_not_matter(
    dense: list[tuple[str, float]], sparse: list[tuple[str, float]], scale: float, shift: float
) -> None:
    rounded = [(note, float(round(score))) for note, score in dense]
    moved = [(note, score * scale + shift) for note, score in rounded]
    before, after = ({note.note_id: note.score for note in m3_baseline(one, sparse)} for one in (rounded, moved))
    assert before == pytest.approx(after, abs=1e-5)
