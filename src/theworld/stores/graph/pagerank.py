"""Personalised PageRank by pushing mass from the seeds: only what the walk reaches with some probability is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.string_table import Rows

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
        self.starts, self.targets, self.weights = starts, targets, weights

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.starts) - 1

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
            affordable = self._affordable(active)
            if affordable.size:
                self._push(affordable)
            if affordable.size < active.size:
                return False
        return True

    def _degrees(self, numbers: Rows) -> Rows:
        nodes = self._nodes[numbers]
        return self._starts[nodes + 1] - self._starts[nodes]

    def _affordable(self, active: Rows) -> Rows:
        """Return the nodes that can be pushed with the effort that is left, the heaviest; equal ones all or none."""
        lengths = self._degrees(active)
        left = self._effort - self._edges - _MEETING * self._met
        if lengths.sum() <= left:
            return active
        mass = self._waiting[active]
        order = np.argsort(-mass, kind="stable")
        beyond = int(np.searchsorted(np.cumsum(lengths[order]), left, side="right"))
        kept: Rows = active[mass > mass[order[beyond]]]
        return kept

    def _push(self, active: Rows) -> None:
        mass, lengths = self._waiting[active], self._degrees(active)
        self._waiting[active] = 0.0
        self._settled[active] += self._restart * mass
        passed = (1.0 - self._restart) * mass
        before = np.cumsum(lengths)
        count = int(before[-1])
        edges = np.arange(count) + np.repeat(self._starts[self._nodes[active]] - before + lengths, lengths)
        numbers = self._numbers(self._targets[edges])
        flow = np.repeat(passed, lengths) * self._weights[edges]
        if count * _FEW < self._met:
            np.add.at(self._waiting, numbers, flow)
        else:
            self._waiting[: self._met] += np.bincount(numbers, flow, minlength=self._met)
        self._waiting[: len(self._home)] += passed[lengths == 0].sum() * self._home
        self._edges += count + len(active)

    def _numbers(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers of nodes; those not met before are met."""
        numbers = self._number[nodes]
        unmet = nodes[numbers == 0]
        if unmet.size:
            # Of a node met several times the last place is kept: so each is reported once, without sorting.
            places = np.arange(1, len(unmet) + 1, dtype=np.int32)
            self._number[unmet] = places
            self._meet(unmet[self._number[unmet] == places])
            numbers = self._number[nodes]
        return numbers - np.int32(1)

    def reached(self) -> Reached:
        """Return where the walk has come to."""
        waiting = self._waiting[: self._met]
        ranks = self._settled[: self._met] + self._restart * waiting
        left = (1.0 - self._restart) * float(waiting.sum())
        return Reached(self._nodes[: self._met].copy(), ranks, left, self._edges)
