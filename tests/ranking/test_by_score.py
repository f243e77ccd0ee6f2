"""Fusion by score: hand-computed examples, and its laws."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ranking import fuse_minmax

hits = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-50, 50).map(float), max_size=8).map(
    lambda scores: sorted(scores.items(), key=lambda item: (-item[1], item[0]))
)
rankings = st.dictionaries(st.sampled_from(["sparse", "dense", "graph"]), hits)


def scores_of(fused):
    return {note.note_id: note.score for note in fused}


def test_minmax_by_hand():
    lists = {"sparse": [("a", 30.0), ("b", 20.0), ("c", 10.0)], "dense": [("c", 0.9), ("b", 0.3), ("d", 0.1)]}
    fused = fuse_minmax(lists, {"sparse": 1.0, "dense": 2.0})
    assert [f.note_id for f in fused] == ["c", "a", "b", "d"]
    assert [f.score for f in fused] == pytest.approx([2.0, 1.0, 0.5 + 2 * 0.25, 0.0])
    assert {name: (hit.rank, hit.score) for name, hit in fused[0].channels.items()} == {
        "sparse": (3, 10.0),
        "dense": (1, 0.9),
    }


@pytest.mark.parametrize("score", [0.0, -4.0, 7.5])
def test_constant_scores_are_all_alike(score):
    fused = fuse_minmax({"dense": [("b", score), ("a", score)]})
    assert [f.note_id for f in fused] == ["a", "b"]
    assert {f.score for f in fused} == {1.0}
    assert scores_of(fuse_minmax({"dense": [("a", score)]})) == {"a": fused[0].score}


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(score):
    with pytest.raises(ValueError, match=r"the dense channel scored the note 'b'"):
        fuse_minmax({"sparse": [("b", 1.0)], "dense": [("a", 1.0), ("b", score)]})


def test_a_list_that_does_not_count_is_not_looked_at():
    lists = {"sparse": [("a", 2.0), ("b", 1.0)], "dense": [("a", math.nan)]}
    fused = fuse_minmax(lists, {"dense": 0.0})
    assert scores_of(fused) == scores_of(fuse_minmax({"sparse": lists["sparse"]}))
    assert set(fused[0].channels) == {"sparse", "dense"}


def test_the_greatest_numbers_do_not_overflow():
    most = sys.float_info.max
    fused = fuse_minmax({"dense": [("a", most), ("b", 0.0), ("c", -most)]})
    assert [f.note_id for f in fused] == ["a", "b", "c"]
    assert all(0 <= f.score <= 1 for f in fused)
    assert [f.note_id for f in fuse_minmax({"dense": [("a", 5e-324), ("b", 0.0)]})] == ["a", "b"]


def test_beyond_its_depth_a_channel_adds_no_score():
    lists = {"graph": [("a", 3.0), ("b", 2.0), ("c", -90.0)]}
    fused = fuse_minmax(lists, depths={"graph": 2})
    assert scores_of(fused) == scores_of(fuse_minmax({"graph": lists["graph"][:2]})) | {"c": 0.0}
    assert fused[-1].channels["graph"].rank == 3


def test_repeated_note_counts_once():
    assert fuse_minmax({"sparse": [("a", 2.0), ("a", 1.0), ("b", 0.0)]}) == fuse_minmax(
        {"sparse": [("a", 2.0), ("b", 0.0)]}
    )


@given(rankings)
def test_order_of_channels_does_not_matter(lists):
    assert fuse_minmax(lists) == fuse_minmax(dict(reversed(lists.items())))


@given(rankings)
def test_every_note_once_and_ties_by_id(lists):
    fused = fuse_minmax(lists)
    assert sorted(f.note_id for f in fused) == sorted({note for ranking in lists.values() for note, _ in ranking})
    assert [(-f.score, f.note_id) for f in fused] == sorted((-f.score, f.note_id) for f in fused)
    assert all(0 <= f.score <= len(f.channels) for f in fused)
    assert all(hit == (i + 1) for c, r in lists.items() for i, (n, _) in enumerate(r) for hit in ranks(fused, n, c))


def ranks(fused, note_id, channel):
    return [f.channels[channel].rank for f in fused if f.note_id == note_id]


@given(hits.filter(len), hits, st.integers(1, 60), st.data())
def test_monotone(ranking, other, more, data):
    """A note that one channel scores higher never gets a lower score."""
    note = data.draw(st.sampled_from([note for note, _ in ranking]))
    raised = sorted(((n, s + more if n == note else s) for n, s in ranking), key=lambda item: (-item[1], item[0]))
    before, after = (fuse_minmax({"sparse": some, "dense": other}) for some in (ranking, raised))
    assert scores_of(after)[note] >= scores_of(before)[note] - 1e-12


@given(rankings, st.integers(1, 9), st.integers(-9, 9))
def test_a_channels_own_scale_does_not_matter(lists, factor, offset):
    other = {c: [(n, s * factor + offset) for n, s in r] if c == "dense" else r for c, r in lists.items()}
    assert scores_of(fuse_minmax(other)) == pytest.approx(scores_of(fuse_minmax(lists)))


@given(hits, hits)
def test_better_in_every_channel_is_better(one, two):
    found = scores_of(fuse_minmax({"sparse": one, "dense": two}))
    first, second = dict(one), dict(two)
    common = [note for note in first if note in second]
    for a in common:
        for b in common:
            if first[a] >= first[b] and second[a] >= second[b]:
                assert found[a] >= found[b]
