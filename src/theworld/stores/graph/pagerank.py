"""Personalised PageRank: mass is pushed from the seeds, so that only what the walk reaches with some probability is
touched; or, of a small graph, one linear system over all its notes is solved to a proven bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.stores.array_folder import Rows, places_of


@dataclass(frozen=True, slots=True)
class RankingParameters:
    """Weights and limits of personalised PageRank, links and paths."""

    restart: float = 0.15
    """Probability in (0, 1] of going back to the seeds at each step; a hop from note to note takes two steps."""
    title_weight: float = 1.0
    """Weight of an edge between an entity and what has it as its title, > 0."""
    shared_weight: float = 0.2
    """Weight, times the rarity, of an edge between an entity and a note that mentions it, > 0."""
    fewest: int = 2
    """An entity named by fewer notes joins nothing and is left out."""
    most: int = 50
    """An entity named by more notes is a hub: it is left out, or, when it is a title, leads only to what it titles."""
    whole: int = 400_000
    """Edges of a graph up to which it is solved as a whole, which is then faster and a hundred times as exact."""
    tolerance: float = 1e-6
    """Probability below which the walk is not followed further, > 0."""
    effort: int = 500_000
    """Edges followed, and eight times the nodes met, at which the walk ends, the most probable followed first."""

    def rarity(self, notes: int) -> float:
        """Return 1 / (1 + ln(df / 2)), the weight of an entity that `notes` notes name."""
        return 1.0 / (1.0 + math.log(max(notes, 2) / 2.0))

    def joining(self, notes: int) -> float:
        """Return the weight of a link over an entity that so many notes name; 0 for a hub or what joins nothing."""
        return self.rarity(notes) if self.fewest <= notes <= self.most else 0.0


Floats = NDArray[np.float64]

_COARSEST, _FINER = 1e-2, 0.1
"""Mass is pushed in rounds, each down to a tolerance this much finer: the heaviest first, and few nodes twice."""
_MEETING = 8
"""What it costs to meet a node, in edges followed."""
_FEW = 4
"""Flows are added one by one where there are so many times fewer than nodes met."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The nodes that a walk came to."""

    nodes: Rows
    """Their numbers, in the order they were met."""
    ranks: Floats
    """Their probabilities."""
    left: float
    """Probability in [0, 1] that was not followed to its end: the ranks of all nodes are off by this in sum at most."""
    edges: int
    """Edges followed."""


class Walk:
    """A random walk: edges of each node as arrays, those of one node summing to 1; nodes may be without edges.

    `starts` (n + 1,) say where the edges of a node begin; `targets` and `weights` hold those of all nodes.
    """

    def __init__(self, starts: Rows, targets: NDArray[np.int32], weights: Floats) -> None:
        self.starts, self.targets, self.weights, self.size = starts, targets, weights, len(starts) - 1

    def pagerank(self, seeds: Rows, weights: Floats, parameters: RankingParameters) -> Reached:
        """Return the stationary probabilities of a walk that goes back to the seeds with probability `restart`.

        `seeds` are distinct nodes with weights > 0; a node without edges leads back to them. Each sweep settles a share
        of the mass waiting at every node with more than the tolerance, and passes on the rest. Mass that is still
        waiting at the end is settled in part, and reported as left.

        Source: Andersen, Chung and Lang 2006, with all nodes of a sweep pushed at once.
        """
        pushing = _Pushing(self, seeds, weights, parameters)
        tolerance = max(_COARSEST, parameters.tolerance)
        while pushing.down_to(tolerance) and tolerance > parameters.tolerance:
            tolerance = max(_FINER * tolerance, parameters.tolerance)
        return pushing.reached()


class _Pushing:
    """The state of one walk; nodes are numbered as they are met."""

    def __init__(self, walk: Walk, seeds: Rows, seed_weights: Floats, parameters: RankingParameters) -> None:
        self._starts, self._targets, self._weights = walk.starts, walk.targets, walk.weights
        self._restart, self._effort, self._edges = parameters.restart, parameters.effort, 0
        # The system gives zeros as pages that cost nothing until the walk comes to what lies on them.
        self._number = np.zeros(walk.size, np.int32)
        most = min(walk.size, parameters.effort + len(seeds))
        self._nodes, self._waiting, self._settled = np.zeros(most, np.int64), np.zeros(most), np.zeros(most)
        self._met = 0
        self._meet(seeds)
        self._home = seed_weights / seed_weights.sum()
        self._waiting[: self._met] = self._home

    def _meet(self, nodes: NDArray[Any]) -> None:
        """Number nodes that were not met before."""
        end = self._met + len(nodes)
        self._number[nodes] = np.arange(self._met + 1, end + 1)
        self._nodes[self._met : end] = nodes
        self._met = end

    def down_to(self, tolerance: float) -> bool:
        """Push until nothing above the tolerance waits; False when the effort was spent before."""
        while (active := np.flatnonzero(self._waiting[: self._met] > tolerance)).size:
            nodes, mass = self._nodes[active], self._waiting[active]
            lengths = self._starts[nodes + 1] - self._starts[nodes]
            left = self._effort - self._edges - _MEETING * self._met
            spent = bool(lengths.sum() > left)
            if spent:  # the heaviest that the effort left is enough for; equal ones all or none
                order = np.argsort(-mass, kind="stable")
                beyond = int(np.searchsorted(np.cumsum(lengths[order]), left, side="right"))
                kept = mass > mass[order[beyond]]
                active, nodes, mass, lengths = active[kept], nodes[kept], mass[kept], lengths[kept]
            self._waiting[active] = 0.0
            self._settled[active] += self._restart * mass
            passed = (1.0 - self._restart) * mass
            edges = places_of(self._starts, nodes)
            targets = self._targets[edges]
            numbers = self._number[targets]
            unmet = targets[numbers == 0]
            if unmet.size:
                # Of a node met several times the last place is kept: so each is met once, without sorting.
                places = np.arange(1, len(unmet) + 1, dtype=np.int32)
                self._number[unmet] = places
                self._meet(unmet[self._number[unmet] == places])
                numbers = self._number[targets]
            numbers = numbers - np.int32(1)
            flow = np.repeat(passed, lengths) * self._weights[edges]
            if len(edges) * _FEW < self._met:
                np.add.at(self._waiting, numbers, flow)
            else:
                self._waiting[: self._met] += np.bincount(numbers, flow, minlength=self._met)
            self._waiting[: len(self._home)] += passed[lengths == 0].sum() * self._home
            self._edges += len(edges) + len(active)
            if spent:
                return False
        return True

    def reached(self) -> Reached:
        """Return where the walk has come to."""
        waiting = self._waiting[: self._met]
        ranks = self._settled[: self._met] + self._restart * waiting
        left = (1.0 - self._restart) * float(waiting.sum())
        return Reached(self._nodes[: self._met].copy(), ranks, left, self._edges)


LEFT = 1000
"""The sum of all errors at which the iteration ends, in tolerances."""
_MOST_STEPS = 1000
_SLOWER = 2.0
"""Chebyshev's iteration is given up when its residual is so many times what following the walk would have left."""


def _product(into: NDArray[np.intp], source: NDArray[np.intp], weights: Floats, size: int, vector: Floats) -> Floats:
    """Return a sparse matrix of (into, from, weight), its edges in any order, times a vector: `size` sums."""
    sums = np.bincount(into, weights=weights * vector[source], minlength=size)
    return sums.astype(np.float64, copy=False)  # of no edges numpy makes whole numbers


class WholeWalk:
    """A random walk between notes, numbered first, and entities; the arrays are those of `Walk`.

    With P the probabilities of the walk's steps, a = 1 - restart and s the seeds, the ranks are y / sum(y) where y = s
    + a P'y: what a node without edges sends back to the seeds scales all ranks alike. A step leads from a note to an
    entity or back, so the entities can be put into the notes' equations: y_n = b + a^2 G y_n with G = P_en' P_ne'.
    Chebyshev's iteration solves these in a third of the steps that following the walk takes, since the eigenvalues of
    a^2 G lie, all but exactly, between 0 and a^2; should they not, so that it converges slower, the walk itself is
    followed.

    Source: Saad, Iterative Methods for Sparse Linear Systems (2nd edition, 2003), algorithm 12.1.
    """

    def __init__(self, starts: Rows, targets: NDArray[np.int32], weights: Floats, notes: int) -> None:
        middle = int(starts[notes])
        led_to = np.unique(targets[:middle])
        # Entities without edges, most of them named once, would only spread the others over more memory.
        self._joining = np.union1d(np.flatnonzero(np.diff(starts[notes:])), led_to - np.int32(notes))
        self._notes, self._entities, self._edges = notes, len(starts) - 1 - notes, len(targets)
        places = np.searchsorted(self._joining, targets[:middle] - np.int32(notes))
        from_note = np.repeat(np.arange(notes, dtype=np.intp), np.diff(starts[: notes + 1]))
        ends = starts[notes:][np.append(self._joining, self._entities)]
        from_entity = np.repeat(np.arange(len(self._joining), dtype=np.intp), np.diff(ends))
        into_entities, into_notes = places.astype(np.intp), targets[middle:].astype(np.intp)
        self._to_entities = partial(_product, into_entities, from_note, weights[:middle], len(self._joining))
        self._to_notes = partial(_product, into_notes, from_entity, weights[middle:], notes)

    def pagerank(self, seeds: Rows, weights: Floats, parameters: RankingParameters) -> Reached:
        """Return the stationary probabilities of a walk that goes back to the seeds with probability `restart`.

        `seeds` are distinct nodes with weights > 0; a node without edges leads back to them. What is `left` bounds the
        sum of all errors: with y = y* + e and r the notes' residual, |e| <= |r| / restart (sums of absolute values),
        and dividing by the sum of y at most doubles it. `effort` has no say: the graph is small.
        """
        follow = 1.0 - parameters.restart
        ranks = np.zeros(self._notes + self._entities)
        ranks[seeds] = weights / weights.sum()
        of_notes, of_entities = ranks[: self._notes], ranks[self._notes :]
        given = of_notes + follow * self._to_notes(of_entities[self._joining])
        steps, off = 0, 0.0
        for steps, (notes, off) in enumerate(self._solutions(given, follow * follow), start=1):
            most = 2.0 * off / parameters.restart / max(float(notes.sum()), 1e-300)
            if most <= LEFT * parameters.tolerance or steps == _MOST_STEPS:
                break
        of_entities[self._joining] += follow * self._to_entities(notes)
        of_notes[:] = notes
        nodes = np.flatnonzero(ranks > 0)
        return Reached(nodes, ranks[nodes] / ranks[nodes].sum(), most, steps * self._edges)

    def _solutions(self, given: Floats, most: float) -> Iterator[tuple[Floats, float]]:
        """Yield ever better solutions of y = given + most G y with their residuals' sums of absolute values."""
        solution, residual = given.copy(), self._stepped(given, most)
        allowed = size = float(np.abs(residual).sum())
        yield solution, size
        centre, radius = 1.0 - most / 2.0, most / 2.0
        change, last = residual / centre, radius / centre
        while size <= _SLOWER * allowed:
            solution += change
            residual -= change
            residual += self._stepped(change, most)
            factor = 1.0 / (2.0 * centre / radius - last)
            change *= factor * last
            change += (2.0 * factor / radius) * residual
            last, size = factor, float(np.abs(residual).sum())
            allowed *= most
            yield solution, size
        while True:
            solution += residual
            residual = self._stepped(residual, most)
            yield solution, float(np.abs(residual).sum())

    def _stepped(self, notes: Floats, most: float) -> Floats:
        """Return where two steps lead from notes, times `most`."""
        stepped: Floats = self._to_notes(self._to_entities(notes))
        stepped *= most
        return stepped
