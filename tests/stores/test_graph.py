"""What is particular to the embedded graph: its walks against a plain computation, and its parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from theworld.stores.graph import MemoryGraph, RankingParameters
from theworld.stores.graph.pagerank import LEFT, Walk, WholeWalk
from theworld.testing.conformance.documents import TENANT, feed, put


def plain_pagerank(matrix: np.ndarray, seeds: np.ndarray, restart: float) -> np.ndarray:
    """Solve the linear equations that the ranks satisfy."""
    home = seeds / seeds.sum()
    full = matrix.copy()
    full[matrix.sum(axis=1) == 0] = home
    return np.linalg.solve(np.eye(len(home)) - (1 - restart) * full.T, restart * home)


def random_matrix(size: int, density: float, seed: int) -> np.ndarray:
    """Return a row-stochastic matrix, some of its rows empty."""
    random = np.random.default_rng(seed)
    matrix = random.random((size, size)) * (random.random((size, size)) < density)
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


def walk_over(matrix: np.ndarray) -> Walk:
    rows = sparse.csr_array(matrix)
    return Walk(rows.indptr.astype(np.int64), rows.indices, rows.data)


def ranked_by(walk: Walk | WholeWalk, seeds: np.ndarray, parameters: RankingParameters) -> tuple[np.ndarray, float]:
    """Return the rank of every node, and what was left."""
    nodes = np.flatnonzero(seeds)
    reached = walk.pagerank(nodes, seeds[nodes], parameters)
    assert len(set(reached.nodes.tolist())) == len(reached.nodes)
    ranks = np.zeros(len(seeds))
    ranks[reached.nodes] = reached.ranks
    return ranks, reached.left


MATRICES = {
    "size": st.integers(2, 30),
    "density": st.floats(0.05, 0.3),
    "restart": st.sampled_from([0.15, 0.5, 1.0]),
    "seed": st.integers(0, 10**6),
}


def seeds_of(size: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed + 1)
    seeds = random.random(size) * (random.random(size) < 0.4)
    seeds[0] += 0.1
    return seeds


@settings(max_examples=60)
@given(**MATRICES)
def test_pushing_finds_the_stationary_probabilities(size: int, density: float, restart: float, seed: int) -> None:
    matrix, seeds = random_matrix(size, density, seed), seeds_of(size, seed)
    parameters = RankingParameters(restart=restart, tolerance=1e-12, effort=10**9)
    ranks, left = ranked_by(walk_over(matrix), seeds, parameters)
    assert left < 1e-10
    assert ranks == pytest.approx(plain_pagerank(matrix, seeds, restart), abs=1e-9)
    assert ranks.sum() == pytest.approx(1, abs=1e-9)


@settings(max_examples=150)
@given(**MATRICES, tolerance=st.sampled_from([1e-1, 1e-2, 1e-3, 1e-6]), effort=st.integers(1, 3000))
def test_ranks_are_off_by_no_more_than_is_left(
    size: int, density: float, restart: float, seed: int, tolerance: float, effort: int
) -> None:
    matrix, seeds = random_matrix(size, density, seed), seeds_of(size, seed)
    parameters = RankingParameters(restart=restart, tolerance=tolerance, effort=effort)
    ranks, left = ranked_by(walk_over(matrix), seeds, parameters)
    missing = plain_pagerank(matrix, seeds, restart) - ranks
    assert missing.min() > -1e-12
    assert missing.sum() == pytest.approx(left, abs=1e-12)
    assert missing.max() <= left + 1e-12


def test_what_a_walk_touches_does_not_grow_with_the_graph() -> None:
    def ring(size: int) -> Walk:
        targets = np.arange(1, size + 1) % size
        return Walk(np.arange(size + 1), targets.astype(np.int32), np.ones(size))

    seeds = np.array([5]), np.ones(1)
    small, large = (ring(size).pagerank(*seeds, RankingParameters()) for size in (1_000, 1_000_000))
    assert (large.nodes.tolist(), large.ranks.tolist()) == (small.nodes.tolist(), small.ranks.tolist())
    assert (large.edges, large.left) == (small.edges, small.left)


def test_equal_nodes_are_pushed_together_when_the_effort_ends() -> None:
    # A node with thirty equal neighbours, each of which leads to a node of its own.
    starts = np.array([0, 30, *range(31, 61), *[60] * 30])
    targets = np.arange(1, 61, dtype=np.int32)
    walk = Walk(starts, targets, np.array([1 / 30] * 30 + [1.0] * 30))
    for effort in range(10, 400, 7):
        reached = walk.pagerank(np.array([0]), np.ones(1), RankingParameters(effort=effort))
        ranks = dict(zip(reached.nodes.tolist(), reached.ranks.round(12).tolist(), strict=True))
        assert len({ranks[node] for node in range(1, 31) if node in ranks}) <= 1
        assert len({ranks.get(node, 0.0) for node in range(31, 61)}) == 1


def test_the_default_tolerance_keeps_the_order_of_the_best() -> None:
    random = np.random.default_rng(4)
    matrix = sparse.random_array((3000, 3000), density=0.001, rng=random, format="csr").toarray()
    sums = matrix.sum(axis=1, keepdims=True)
    matrix = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    seeds = np.zeros(3000)
    seeds[:4] = 1
    walk = walk_over(matrix)
    rough, _ = ranked_by(walk, seeds, RankingParameters())
    exact, _ = ranked_by(walk, seeds, RankingParameters(tolerance=1e-13, effort=10**9))
    assert np.argsort(-rough)[:50].tolist() == np.argsort(-exact)[:50].tolist()


def random_sides(notes: int, entities: int, density: float, seed: int) -> np.ndarray:
    """Return a row-stochastic matrix that leads from notes, first, to entities and back; some rows are empty."""
    random = np.random.default_rng(seed)
    matrix = np.zeros((notes + entities, notes + entities))
    for rows, columns in ((slice(0, notes), slice(notes, None)), (slice(notes, None), slice(0, notes))):
        shape = matrix[rows, columns].shape
        matrix[rows, columns] = random.random(shape) * (random.random(shape) < density)
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


def over(matrix: np.ndarray, notes: int) -> WholeWalk:
    rows = sparse.csr_array(matrix)
    return WholeWalk(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, notes)


@settings(max_examples=150)
@given(
    notes=st.integers(1, 20),
    entities=st.integers(1, 20),
    density=st.floats(0.02, 0.4),
    restart=st.sampled_from([0.02, 0.15, 0.5, 1.0]),
    tolerance=st.sampled_from([1e-5, 1e-6, 1e-13]),
    seed=st.integers(0, 10**6),
)
def test_all_errors_together_are_no_more_than_is_left(
    notes: int, entities: int, density: float, restart: float, tolerance: float, seed: int
) -> None:
    matrix, seeds = random_sides(notes, entities, density, seed), seeds_of(notes + entities, seed)
    if seed % 2:
        seeds = seeds[::-1].copy()
    ranks, left = ranked_by(over(matrix, notes), seeds, RankingParameters(restart=restart, tolerance=tolerance))
    assert left <= LEFT * tolerance
    assert np.abs(ranks - plain_pagerank(matrix, seeds, restart)).sum() <= left + 1e-12
    assert (ranks >= 0).all()
    assert ranks.sum() == pytest.approx(1, abs=1e-9)


def ring(size: int) -> np.ndarray:
    """Return a walk that goes round: its eigenvalues lie on a circle, where Chebyshev's iteration diverges."""
    matrix = np.zeros((2 * size, 2 * size))
    for note in range(size):
        matrix[note, size + note] = matrix[size + note, (note + 1) % size] = 1.0
    return matrix


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_a_walk_that_goes_round_is_followed(size: int) -> None:
    matrix, seeds, parameters = ring(size), np.zeros(2 * size), RankingParameters()
    seeds[0] = 1
    ranks, left = ranked_by(over(matrix, size), seeds, parameters)
    assert left <= LEFT * parameters.tolerance
    assert np.abs(ranks - plain_pagerank(matrix, seeds, parameters.restart)).sum() <= left


def test_what_the_seeds_do_not_lead_to_is_not_reached() -> None:
    matrix, seeds = np.kron(np.eye(2), ring(3)), np.zeros(12)
    order = [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]
    seeds[0] = 1
    walk = over(matrix[np.ix_(order, order)], 6)
    assert set(walk.pagerank(np.array([0]), np.ones(1), RankingParameters()).nodes.tolist()) == {0, 1, 2, 6, 7, 8}


def test_both_walks_agree() -> None:
    matrix, seeds = random_sides(400, 900, 0.01, 3), np.zeros(1300)
    seeds[[1, 2, 700]] = 1, 0.5, 0.3
    rows = sparse.csr_array(matrix)
    pushed, _ = ranked_by(
        Walk(rows.indptr.astype(np.int64), rows.indices, rows.data), seeds, RankingParameters(tolerance=1e-12)
    )
    solved, _ = ranked_by(over(matrix, 400), seeds, RankingParameters())
    assert np.argsort(-solved)[:50].tolist() == np.argsort(-pushed)[:50].tolist()


def test_rarity_is_the_documented_weight() -> None:
    parameters = RankingParameters()
    assert parameters.rarity(1) == parameters.rarity(2) == 1
    assert parameters.rarity(50) == pytest.approx(1 / (1 + math.log(25)))


def test_other_parameters_rank_otherwise() -> None:
    def ranked(parameters: RankingParameters) -> int:
        graph = MemoryGraph(parameters)
        feed(graph, *(put(f"n{i}#0", title=f"T {i}", names=["Shared Thing"]) for i in range(4)))
        return len(graph.rank(notes={"n0#0": 1}, entities={}, tenant=TENANT, filters={}, limit=9))

    assert ranked(RankingParameters(most=3)) == 1
    assert ranked(RankingParameters(most=4)) == 4
    assert ranked(RankingParameters(most=4, restart=1.0)) == 1


def test_a_label_is_the_title_else_the_commonest_surface() -> None:
    graph = MemoryGraph()
    feed(
        graph,
        put("a#0", title="A", names=["NASA", "the Moon", "THE MOON"]),
        put("b#0", title="B", names=["Nasa", "Moon"]),
        put("c#0", title="C", names=["NASA", "Mars"]),
        put("d#0", title="MARS", names=["B"]),
    )
    labels = {link.via for link in graph.links(["a#0", "b#0", "c#0", "d#0"], tenant=TENANT)}
    assert labels == {"NASA", "Moon", "MARS", "B"}


def test_paths_over_three_hops_and_equal_ways_are_decided_by_id() -> None:
    graph = MemoryGraph()
    names = [["A B"], ["A B", "B C"], ["B C", "C D"], ["C D", "Far Away"], ["A B", "B C"]]
    feed(graph, *(put(f"n{i}#0", title=f"Note {i}", names=some) for i, some in enumerate(names)))

    def reached(max_hops: int) -> list[tuple[str, int]]:
        paths = graph.paths(["n3#0"], notes=["n0#0"], entities=[], tenant=TENANT, max_hops=max_hops)
        return [(path.note_id, len(path.steps)) for path in paths]

    assert (reached(2), reached(3), reached(9)) == ([], [("n3#0", 6)], [("n3#0", 6)])
    (path,) = graph.paths(["n2#0"], notes=["n0#0"], entities=[], tenant=TENANT)
    assert [step.target for step in path.steps] == ["A B", "Note 1", "B C", "Note 2"]
    assert [step.relation for step in path.steps] == ["mentions", "mentioned_in", "mentions", "mentioned_in"]
