"""How far the graph leads: made lists of clear cases, and laws that hold for any weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ranking import channel_weights, graph_share
from theworld.ranking.fusion import DEPTH, signs

Hits = list[tuple[str, float]]
PLANNED = {"sparse": 0.45, "dense": 0.55, "graph": 1.0}


def across(scores: list[float]) -> Hits:
    """Every note in a document of its own."""
    return [(f"doc{n}.md#0", score) for n, score in enumerate(scores)]


def within(scores: list[float]) -> Hits:
    """All notes in one document."""
    return [(f"manual.md#{n}", score) for n, score in enumerate(scores)]


FALLING = [0.5, 0.3, 0.1, 0.05, *[0.001] * 10]
EVEN = [0.02] * 50
CASES = {
    "few notes of many documents": (across(FALLING), 0.9, 1.0),
    "one note": (across([1.0]), 0.9, 1.0),
    "spread over one document": (within(EVEN), 0.0, 0.1),
    "spread, best first, over one document": (within([1 / n for n in range(2, 52)]), 0.0, 0.1),
    "nothing": ([], 0.0, 0.0),
    "no score above 0": (across([0.0, 0.0]), 0.0, 0.0),
}


@pytest.mark.parametrize(("hits", "least", "most"), CASES.values(), ids=CASES)
def test_clear_cases(hits: Hits, least: float, most: float) -> None:
    assert least <= graph_share(hits) <= most


def test_the_more_documents_and_the_fewer_notes_the_more() -> None:
    assert graph_share(across(FALLING)) > graph_share(within(FALLING)) > graph_share(within(EVEN))
    assert graph_share(across(FALLING)) > graph_share(across(EVEN)) > graph_share(within(EVEN))


def test_in_a_small_store_a_short_list_is_no_concentration() -> None:
    shares = [graph_share(across(FALLING), found) for found in (1, len(FALLING), 40, DEPTH, DEPTH + 1)]
    assert shares[0] < shares[1] < shares[2] < shares[3] == shares[4] == graph_share(across(FALLING))
    assert signs(across([0.5] * 10), 10) == pytest.approx(signs(across([0.5] * DEPTH))), "even is even"


def test_the_signs_by_hand() -> None:
    found = signs([("a.md#0", 0.5), ("b.md#7", 0.25), ("a.md#1", 0.25), ("c#d.md#2", 0.0)])
    assert found == pytest.approx((1.0, 1.5 * math.log(2), 3 / 4)), "an id may hold the sign before the ordinal itself"


def test_only_the_first_notes_are_looked_at() -> None:
    assert graph_share(across(EVEN) + within([0.02] * 9)) == graph_share(across([0.02] * DEPTH))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_scores_that_are_no_numbers_give_the_graph_no_share(wrong: float) -> None:
    assert 0.0 <= graph_share(across([wrong, 0.5])) <= 1.0
    assert graph_share(across([math.inf])) == 0.0


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1.7e308)), max_size=60),
    st.sampled_from([0.25, 1.0, 8.0]),
)
def test_laws(found: list[tuple[str, float]], scale: float) -> None:
    """A share, the same at any scale of the scores."""
    hits = [(f"{document}.md#{n}", score) for n, (document, score) in enumerate(found)]
    share = graph_share(hits)
    assert 0.0 <= share <= 1.0
    scaled = [(note_id, score * scale) for note_id, score in hits]
    ordinary = all(1e-300 < score < 1e290 for _, score in hits)
    assert not ordinary or graph_share(scaled) == pytest.approx(share)


def test_the_planned_weights_are_shared() -> None:
    rankings = {"sparse": across([2.0, 1.0]), "dense": across([0.9]), "graph": across(FALLING)}
    share = graph_share(rankings["graph"], len(FALLING))
    weights = channel_weights(PLANNED, rankings)
    assert weights == pytest.approx({"sparse": 0.45 * (1 - share), "dense": 0.55 * (1 - share), "graph": share})
    assert weights["graph"] > weights["sparse"] + weights["dense"]
    assert channel_weights(PLANNED, rankings | {"graph": within(EVEN)})["graph"] < 0.1


@pytest.mark.parametrize(
    ("planned", "rankings"),
    [
        (PLANNED, {"sparse": across([2.0]), "dense": across([0.9])}),
        (PLANNED, {"graph": within(EVEN)}),
        (PLANNED, {"graph": within(EVEN), "sparse": [], "dense": []}),
        (PLANNED | {"graph": 0.0}, {"graph": across(FALLING), "dense": across([0.9])}),
    ],
    ids=["no graph", "the graph alone", "only the graph found anything", "the graph has no weight"],
)
def test_without_something_to_share_the_plan_stands(planned: dict[str, float], rankings: dict[str, Hits]) -> None:
    assert channel_weights(planned, rankings) == {channel: planned[channel] for channel in rankings}


def test_a_channel_that_was_not_planned_counts_1() -> None:
    assert channel_weights({}, {"sparse": across([1.0])}) == {"sparse": 1.0}
