"""The set objective: a second note earns its place by what the first leaves uncovered, or by a link to it."""

import dataclasses
import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from theworld.ranking import CoverWeights, greedy_cover
from theworld.ranking.greedy_cover import LATE, CoverInput, importance_of

PLAIN = CoverWeights(
    0.0, 1.0, prior=0.0, walk=0.0, named=0.0, title_link=0.0, title_back=0.0, shared_link=0.0, late_order=0.0
)


def given_rows(rows, **changes):
    n, m = len(rows), len(rows[0])
    zeros, square = np.zeros(n, dtype=np.float32), np.zeros((n, n), dtype=np.float32)
    values = {
        "similarity": np.array(rows, dtype=np.float32),
        "importance": np.full(m, 1 / m, dtype=np.float32),
        "prior": zeros,
        "agreement": zeros,
        "walk": zeros,
        "named": zeros,
        "title_links": square,
        "shared_links": square,
        "same_title": square,
    }
    return CoverInput(**(values | changes))


def order(cover, weights=PLAIN):
    return [choice.index for choice in greedy_cover(cover, weights, 10)]


def test_the_complement_beats_the_copy():
    assert order(given_rows([[1, 1, 0, 0], [0.9, 0.9, 0, 0], [0, 0, 0.8, 0]])) == [0, 2, 1]


def test_covering_again_counts_as_far_as_links_do_not():
    rows = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0.4, 0]]
    weights = dataclasses.replace(PLAIN, repeated=0.5)
    assert order(given_rows(rows), weights) == [0, 2, 1]
    assert order(given_rows(rows, linked=0.0), weights) == [0, 1, 2]
    assert order(given_rows(rows, linked=0.8), weights) == [0, 2, 1]


def test_a_title_link_brings_the_second_hop():
    links = np.zeros((3, 3), dtype=np.float32)
    links[0, 2] = 1
    rows = [[1, 1, 0], [0, 0, 0.3], [0, 0, 0.1]]
    assert order(given_rows(rows)) == [0, 1, 2]
    weights = dataclasses.replace(PLAIN, title_link=0.5)
    assert order(given_rows(rows, title_links=links), weights) == [0, 2, 1]
    assert order(given_rows(rows, title_links=links.T), weights) == [0, 1, 2]
    backwards = dataclasses.replace(PLAIN, title_back=0.5)
    assert order(given_rows(rows, title_links=links.T), backwards) == [0, 2, 1]


def test_a_note_of_another_title_comes_before_one_more_of_the_same():
    same = np.zeros((3, 3), dtype=np.float32)
    same[0, 1] = same[1, 0] = 1
    rows = [[1, 0, 0], [0, 0.6, 0], [0, 0, 0.5]]
    assert order(given_rows(rows, same_title=same), dataclasses.replace(PLAIN, same_title=0.0)) == [0, 1, 2]
    assert order(given_rows(rows, same_title=same)) == [0, 2, 1]


def test_links_of_later_choices_fade():
    links = np.zeros((4, 4), dtype=np.float32)
    links[1, 3] = 1
    rows = [[1, 0, 0], [0, 1, 0], [0, 0, 0.6], [0, 0, 0]]
    lasting = dataclasses.replace(PLAIN, title_link=0.3, fading=0.0)
    assert order(given_rows(rows, title_links=links), lasting) == [0, 1, 3, 2]
    fading = dataclasses.replace(lasting, fading=1.0)
    assert order(given_rows(rows, title_links=links), fading) == [0, 1, 2, 3]


def test_the_given_order_counts_again_when_little_is_left_to_cover():
    rows = [[1.0]] * LATE + [[0.0]] * 3
    walk = np.array([1] * LATE + [0, 0, 0.2], dtype=np.float32)
    weights = dataclasses.replace(PLAIN, walk=0.001)
    assert order(given_rows(rows, walk=walk), weights)[LATE:] == [LATE + 2, LATE, LATE + 1]
    weights = dataclasses.replace(weights, late_order=0.05)
    assert order(given_rows(rows, walk=walk), weights)[LATE:] == [LATE, LATE + 1, LATE + 2]


def test_agreement_decides_the_order_but_makes_nothing_relevant():
    agreement = np.array([0, 1], dtype=np.float32)
    choices = greedy_cover(given_rows([[0.1], [0.1]], agreement=agreement), CoverWeights(0.0), 2)
    assert [choice.index for choice in choices] == [1, 0]
    assert choices[0].merit == choices[1].merit < 0.1


def test_rare_tokens_count_more():
    rows = [[1, 0], [0, 1]]
    assert order(given_rows(rows, importance=importance_of(np.array([1.0, 5.0], dtype=np.float32), 1.0))) == [1, 0]


def test_a_named_title_breaks_the_tie():
    weights = CoverWeights(similarity_floor=0.0, named=0.1)
    assert order(given_rows([[0.5], [0.5]], named=np.array([0, 1], dtype=np.float32)), weights)[0] == 1


def test_ties_keep_the_given_order():
    assert order(given_rows([[0.5], [0.5], [0.5]])) == [0, 1, 2]


matrix = st.integers(1, 6).flatmap(
    lambda m: st.lists(st.lists(st.floats(0, 1, width=32), min_size=m, max_size=m), min_size=1, max_size=8)
)


@given(matrix)
def test_every_candidate_once_with_falling_coverage_gain(rows):
    choices = greedy_cover(given_rows(rows), PLAIN, len(rows))
    assert sorted(c.index for c in choices) == list(range(len(rows)))
    gains = [c.gain for c in choices]
    assert all(a >= b - 1e-5 for a, b in itertools.pairwise(gains))
    assert all(-1e-6 <= c.merit <= 1 + 1e-5 for c in choices)


def test_what_a_choice_leads_to_is_lifted_and_fades():
    """`follow` is asked after each of the first choices, with gains that leave out those chosen."""
    asked = []

    def follow(chosen, gain):
        asked.append((chosen, np.isinf(gain).sum()))
        return np.array([0, 0, 1], dtype=np.float32) * (chosen == 0)

    rows = [[1, 1, 0], [0, 0, 0.3], [0, 0, 0.1]]
    lifted = dataclasses.replace(PLAIN, second_hop=0.5)
    assert [choice.index for choice in greedy_cover(given_rows(rows), lifted, 3, follow)] == [0, 2, 1]
    assert asked == [(0, 1), (2, 2), (1, 3)]
    without = dataclasses.replace(PLAIN, second_hop=0.0)
    assert [choice.index for choice in greedy_cover(given_rows(rows), without, 3, follow)] == [0, 1, 2]
