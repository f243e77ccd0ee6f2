"""Personalised PageRank of a small graph: one linear system over all its notes, solved to a proven bound.

With P the probabilities of the walk's steps, a = 1 - restart and s the seeds, the ranks are y / sum(y) where
y = s + a P'y: what a node without edges sends back to the seeds scales all ranks alike. A step leads from a note to an
entity or back, so the entities can be put into the notes' equations: y_n = b + a^2 G y_n with G = P_en' P_ne'.
Chebyshev's iteration solves these in a third of the steps that following the walk takes, since the eigenvalues of a^2 G
lie, all but exactly, between 0 and a^2; should they not, so that it converges slower, the walk itself is followed.

Source: Saad, Iterative Methods for Sparse Linear Systems (2nd edition, 2003), algorithm 12.1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from theworld.stores.graph.pagerank import Floats, Reached
from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.string_table import Rows

LEFT = 1000
"""The sum of all errors at which the iteration ends, in tolerances."""
_MOST_STEPS = 1000
_SLOWER = 2.0
"""Chebyshev's iteration is given up when its residual is so many times what following the walk would have left."""


class Product:
    """A sparse matrix of (into, from, weight) to be multiplied with vectors, from the edges in any order."""

    def __init__(self, into: NDArray[np.integer], source: NDArray[np.integer], weights: Floats, size: int) -> None:
        self._into, self._source = into.astype(np.intp), source.astype(np.intp)
        self._weights, self._size = weights, size

    def __matmul__(self, vector: Floats) -> Floats:
        """Return the sum of weight times the source's value for each of the `size` places led into."""
        sums = np.bincount(self._into, weights=self._weights * vector[self._source], minlength=self._size)
        return sums.astype(np.float64, copy=False)  # of no edges numpy makes whole numbers


class WholeWalk:
    """A random walk between notes, numbered first, and entities; the arrays are those of `Walk`."""

    def __init__(self, starts: Rows, targets: NDArray[np.int32], weights: Floats, notes: int) -> None:
        middle = int(starts[notes])
        led_to = np.unique(targets[:middle])
        # Entities without edges, most of them named once, would only spread the others over more memory.
        self._joining = np.union1d(np.flatnonzero(np.diff(starts[notes:])), led_to - np.int32(notes))
        self._notes, self._entities, self._edges = notes, len(starts) - 1 - notes, len(targets)
        places = np.searchsorted(self._joining, targets[:middle] - np.int32(notes))
        from_note = np.repeat(np.arange(notes), np.diff(starts[: notes + 1]))
        ends = starts[notes:][np.append(self._joining, self._entities)]
        from_entity = np.repeat(np.arange(len(self._joining)), np.diff(ends))
        self._to_entities = Product(places, from_note, weights[:middle], len(self._joining))
        self._to_notes = Product(targets[middle:], from_entity, weights[middle:], notes)

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
        given = of_notes + follow * (self._to_notes @ of_entities[self._joining])
        steps, off = 0, 0.0
        for steps, (notes, off) in enumerate(self._solutions(given, follow * follow), start=1):
            most = 2.0 * off / parameters.restart / max(float(notes.sum()), 1e-300)
            if most <= LEFT * parameters.tolerance or steps == _MOST_STEPS:
                break
        of_entities[self._joining] += follow * (self._to_entities @ notes)
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
        stepped: Floats = self._to_notes @ (self._to_entities @ notes)
        stepped *= most
        return stepped
