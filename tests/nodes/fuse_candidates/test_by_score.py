"""Fusion by score: hand-computed examples, and the laws that both methods keep."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.nodes.fuse_candidates import fuse_distribution, fuse_minmax

METHODS = pytest.mark.parametrize("method", [fuse_minmax, fuse_distribution])
both = st.sampled_from([fuse_minmax, fuse_distribution])
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


def test_distribution_by_hand():
    # mean 3, sample variance (4 + 0 + 4) / 2 = 4: from -3 to 9
    fused = fuse_distribution({"sparse": [("a", 5.0), ("b", 3.0), ("c", 1.0)]})
    assert [f.score for f in fused] == pytest.approx([8 / 12, 6 / 12, 4 / 12])


def test_distribution_clips_an_outlier():
    many = [("x", 1000.0), *((f"n{i:02}", 0.0) for i in range(30))]
    assert fuse_distribution({"dense": many})[0].score == 1.0


@METHODS
@pytest.mark.parametrize("score", [0.0, -4.0, 7.5])
def test_constant_scores_are_all_alike(method, score):
    fused = method({"dense": [("b", score), ("a", score)]})
    assert [f.note_id for f in fused] == ["a", "b"]
    assert {f.score for f in fused} == {1.0 if method is fuse_minmax else 0.5}
    assert scores_of(method({"dense": [("a", score)]})) == {"a": fused[0].score}


@METHODS
@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(method, score):
    with pytest.raises(ValueError, match=r"the dense channel scored the note 'b'"):
        method({"sparse": [("b", 1.0)], "dense": [("a", 1.0), ("b", score)]})


@METHODS
def test_a_list_that_does_not_count_is_not_looked_at(method):
    lists = {"sparse": [("a", 2.0), ("b", 1.0)], "dense": [("a", math.nan)]}
    fused = method(lists, {"dense": 0.0})
    assert scores_of(fused) == scores_of(method({"sparse": lists["sparse"]}))
    assert set(fused[0].channels) == {"sparse", "dense"}


@METHODS
def test_the_greatest_numbers_do_not_overflow(method):
    most = sys.float_info.max
    fused = method({"dense": [("a", most), ("b", 0.0), ("c", -most)]})
    assert [f.note_id for f in fused] == ["a", "b", "c"]
    assert all(0 <= f.score <= 1 for f in fused)
    assert [f.note_id for f in method({"dense": [("a", 5e-324), ("b", 0.0)]})] == ["a", "b"]


@METHODS
def test_beyond_its_depth_a_channel_adds_no_score(method):
    lists = {"graph": [("a", 3.0), ("b", 2.0), ("c", -90.0)]}
    fused = method(lists, depths={"graph": 2})
    assert scores_of(fused) == scores_of(method({"graph": lists["graph"][:2]})) | {"c": 0.0}
    assert fused[-1].channels["graph"].rank == 3


@METHODS
def test_repeated_note_counts_once(method):
    assert method({"sparse": [("a", 2.0), ("a", 1.0), ("b", 0.0)]}) == method({"sparse": [("a", 2.0), ("b", 0.0)]})


@given(both, rankings)
def test_order_of_channels_does_not_matter(method, lists):
    assert method(lists) == method(dict(reversed(lists.items())))


@given(both, rankings)
def test_every_note_once_and_ties_by_id(method, lists):
    fused = method(lists)
    assert sorted(f.note_id for f in fused) == sorted({note for ranking in lists.values() for note, _ in ranking})
    assert [(-f.score, f.note_id) for f in fused] == sorted((-f.score, f.note_id) for f in fused)
    assert all(0 <= f.score <= len(f.channels) for f in fused)
    assert all(hit == (i + 1) for c, r in lists.items() for i, (n, _) in enumerate(r) for hit in ranks(fused, n, c))


def ranks(fused, note_id, channel):
    return [f.channels[channel].rank for f in fused if f.note_id == note_id]


@given(both, hits.filter(len), hits, st.integers(1, 60), st.data())
def test_monotone(method, ranking, other, more, data):
    """A note that one channel scores higher never gets a lower score."""
    note = data.draw(st.sampled_from([note for note, _ in ranking]))
    raised = sorted(((n, s + more if n == note else s) for n, s in ranking), key=lambda item: (-item[1], item[0]))
    before, after = (method({"sparse": some, "dense": other}) for some in (ranking, raised))
    assert scores_of(after)[note] >= scores_of(before)[note] - 1e-12


@given(both, rankings, st.integers(1, 9), st.integers(-9, 9))
def test_a_channels_own_scale_does_not_matter(method, lists, factor, offset):
    other = {c: [(n, s * factor + offset) for n, s in r] if c == "dense" else r for c, r in lists.items()}
    assert scores_of(method(other)) == pytest.approx(scores_of(method(lists)))


@given(both, hits, hits)
def test_better_in_every_channel_is_better(method, one, two):
    found = scores_of(method({"sparse": one, "dense": two}))
    first, second = dict(one), dict(two)
    common = [note for note in first if note in second]
    for a in common:
        for b in common:
            if first[a] >= first[b] and second[a] >= second[b]:
                assert found[a] >= found[b]
