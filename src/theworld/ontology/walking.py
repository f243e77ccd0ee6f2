"""K-hop walks over the ontology graph: what is reached from a start, how strongly, and on which way.

The strength of a way is the product of its edges' weights, of the decay of every hop and of the hub damping of every
node passed. All factors are at most 1 and the decay is less, so a way through a circle is never the strongest one: the
walk cannot go round. Level by level, in numpy; at most `FAN_OUT` neighbours of a node are followed, the strongest.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theworld.deadline import Deadline
from theworld.ontology.graph import OntologyGraph

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


HOPS = 2
"""Edges of the longest way."""
DECAY = 0.7
"""What is kept at every hop, below 1."""
FAN_OUT = 128
"""Neighbours of one node that are followed."""
OTHER_FACTS = 0.4
"""What is kept of a way over a relation between samples that the question does not name."""


class Way(NamedTuple):
    """One edge of the strongest way to a node."""

    source: int
    edge: int
    """Position in the graph's arrays."""
    target: int


class _Level(NamedTuple):
    targets: Ints
    """Nodes that this hop reached more strongly than before, ascending."""
    sources: Ints
    edges: Ints


class Walk:
    """What one start reaches within K hops."""

    def __init__(self, start: int, nodes: Ints, strengths: Floats, levels: list[_Level]) -> None:
        self.start = start
        self.nodes = nodes
        """Reached nodes, the start among them, ascending."""
        self.strengths = strengths
        """Strength of each, in (0, 1]; 1 for the start."""
        self._levels = levels

    def way_to(self, node: int) -> list[Way]:
        """Return the edges of the strongest way to a reached node, from the start on."""
        way: list[Way] = []
        level = len(self._levels)
        while node != self.start:
            level -= 1
            if level < 0:
                raise KeyError(node)
            at = self._levels[level]
            place = int(np.searchsorted(at.targets, node))
            if place < len(at.targets) and at.targets[place] == node:
                way.append(Way(int(at.sources[place]), int(at.edges[place]), node))
                node = int(at.sources[place])
        return way[::-1]


def walk(
    graph: OntologyGraph,
    start: int,
    hops: int = HOPS,
    *,
    named: Collection[str] = (),
    deadline: Deadline | None = None,
) -> Walk:
    """Return what a start reaches; `named` are the relations whose facts count in full.

    Raises DeadlineExceededError when the deadline passes between two hops.
    """
    factor = DECAY * np.array(
        [OTHER_FACTS if s.relations and not set(s.relations) & set(named) else 1 for s in graph.steps]
    )
    strength = np.zeros(len(graph.refs))
    strength[start] = 1.0
    frontier = np.array([start], dtype=np.int64)
    reached_nodes, levels = [frontier], list[_Level]()
    for _ in range(hops):
        if deadline is not None:
            deadline.check()
        first = graph.starts[frontier]
        count = np.minimum(graph.starts[frontier + 1] - first, FAN_OUT)
        which = np.repeat(np.arange(len(frontier)), count)
        edges = first[which] + np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        sources, passed = frontier[which], (strength[frontier] * graph.damping[frontier])[which]
        reached = passed * graph.weights[edges] * factor[graph.step_of[edges]]
        level = _strongest(graph.targets[edges], sources, edges, reached, strength)
        frontier = level.targets
        if not frontier.size:
            break
        levels.append(level)
        reached_nodes.append(frontier)
    nodes = np.unique(np.concatenate(reached_nodes))
    return Walk(start, nodes, strength[nodes], levels)


def _strongest(targets: Ints, sources: Ints, edges: Ints, reached: Floats, strength: Floats) -> _Level:
    """Keep for every target the strongest way, where it is stronger than what was known; ties go to the first edge.

    Writes what is stronger into `strength`. Only ways that raise it are sorted, so that hubs cost little.
    """
    raising = np.flatnonzero(reached > strength[targets])
    np.maximum.at(strength, targets[raising], reached[raising])
    best = raising[reached[raising] == strength[targets[raising]]]
    best = best[np.lexsort((edges[best], targets[best]))]
    _, first = np.unique(targets[best], return_index=True)
    best = best[first]
    return _Level(targets[best], sources[best], edges[best])
