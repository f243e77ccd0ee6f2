"""Fusion by hand-computed examples and by its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ranking import fuse

ids = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
rankings = st.dictionaries(st.sampled_from(["sparse", "dense", "graph"]), ids.map(lambda x: [(i, 1.0) for i in x]))


def test_sums_reciprocal_ranks():
    fused = fuse({"sparse": [("a", 9.0), ("b", 8.0)], "dense": [("b", 0.9)]}, k=60)
    assert [f.note_id for f in fused] == ["b", "a"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert {name: (hit.rank, hit.score) for name, hit in fused[0].channels.items()} == {
        "sparse": (2, 8.0),
        "dense": (1, 0.9),
    }


def test_weights_count():
    fused = fuse({"sparse": [("a", 1.0)], "dense": [("b", 1.0)]}, {"dense": 2.0})
    assert [f.note_id for f in fused] == ["b", "a"]


def test_weight_zero_keeps_provenance():
    fused = fuse({"sparse": [("a", 1.0)], "dense": [("a", 1.0)]}, {"dense": 0.0})
    assert fused[0].score == pytest.approx(1 / 61)
    assert set(fused[0].channels) == {"sparse", "dense"}


def test_beyond_its_depth_a_channel_adds_no_score():
    fused = fuse({"graph": [("a", 3.0), ("b", 2.0)], "dense": [("c", 1.0)]}, depths={"graph": 1})
    assert [(f.note_id, f.score > 0) for f in fused] == [("a", True), ("c", True), ("b", False)]
    assert fused[2].channels["graph"].rank == 2


def test_repeated_note_counts_once():
    assert fuse({"sparse": [("a", 2.0), ("a", 1.0)]})[0].score == pytest.approx(1 / 61)


@pytest.mark.parametrize(
    ("weights", "k", "message"),
    [({"sparse": -1.0}, 60, "weights must be"), ({"dense": float("nan")}, 60, "weights must be"), ({}, 0, "k must be")],
)
def test_refuses_nonsense(weights, k, message):
    with pytest.raises(ValueError, match=message):
        fuse({"sparse": [("a", 1.0)]}, weights, k=k)


@given(rankings)
def test_order_of_channels_does_not_matter(lists):
    assert fuse(lists) == fuse(dict(reversed(lists.items())))


@given(rankings)
def test_every_note_once_and_ties_by_id(lists):
    fused = fuse(lists)
    assert sorted(f.note_id for f in fused) == sorted({i for ranking in lists.values() for i, _ in ranking})
    assert [(-f.score, f.note_id) for f in fused] == sorted((-f.score, f.note_id) for f in fused)


@given(ids.filter(len), ids)
def test_monotone(ranking, other):
    """A note moved to the front of one list never gets a lower score."""
    last = ranking[-1]
    lists = {"sparse": [(i, 1.0) for i in ranking], "dense": [(i, 1.0) for i in other]}
    moved = {**lists, "sparse": [(i, 1.0) for i in [last, *ranking[:-1]]]}
    score = {f.note_id: f.score for f in fuse(lists)}
    assert {f.note_id: f.score for f in fuse(moved)}[last] >= score[last]
