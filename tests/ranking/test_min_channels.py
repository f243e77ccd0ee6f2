"""How many channels must list a note."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ranking import found_by, fuse

LISTS = {
    "sparse": [("a", 3.0), ("b", 2.0), ("c", 1.0)],
    "dense": [("b", 0.9), ("c", 0.8)],
    "graph": [("b", 0.1), ("d", 0.0)],
}
ids = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
rankings = st.dictionaries(st.sampled_from(["sparse", "dense", "graph"]), ids.map(lambda x: [(i, 1.0) for i in x]))


@pytest.mark.parametrize(("least", "notes"), [(1, "bacd"), (2, "bc"), (3, "b"), (9, "b")])
def test_notes_that_enough_channels_list(least, notes):
    fused = fuse(LISTS)
    assert sorted(f.note_id for f in found_by(fused, least)) == sorted(notes)
    assert [f for f in fused if f in found_by(fused, least)] == found_by(fused, least)


def test_one_channel_alone_loses_nothing():
    assert len(found_by(fuse({"dense": LISTS["dense"]}), 3)) == 2


def test_lists_that_agree_on_nothing_lose_nothing():
    assert [f.note_id for f in found_by(fuse({"dense": [("a", 1.0)], "sparse": [("b", 1.0)]}), 2)] == ["a", "b"]


def test_a_channel_of_no_weight_still_found_it():
    fused = fuse({"sparse": [("a", 2.0), ("b", 1.0)], "dense": [("b", 1.0)]}, {"dense": 0.0})
    assert [f.note_id for f in found_by(fused, 2)] == ["b"]


def test_less_than_one_is_refused():
    with pytest.raises(ValueError, match="min_channels must be >= 1"):
        found_by([], 0)


@given(rankings, st.integers(1, 4))
def test_never_empty_when_something_was_found(lists, least):
    fused = fuse(lists)
    kept = found_by(fused, least)
    assert bool(kept) == bool(fused)
    assert kept == found_by(fused, least + 1) or len(kept) > len(found_by(fused, least + 1))
