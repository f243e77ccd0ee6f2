"""K-hop walks over the ontology graph: what is reached from a start, how strongly, on which way, and that in words.

The strength of a way is the product of its edges' weights, of the decay of every hop and of the hub damping of every
node passed. All factors are at most 1 and the decay is less, so a way through a circle is never the strongest one: the
walk cannot go round. Level by level, in numpy; at most `FAN_OUT` neighbours of a node are followed, the strongest.

An edge can be walked either way, with a factor that says how much is kept: from a relation to its range class all of
it, from a class to one of its samples little. A node with many neighbours passes less to each (hub damping). What a
class inherits counts as its own, a little less for every generation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from theworld.deadline import Deadline
from theworld.ontology.lookup import Lookup
from theworld.ontology.model import EdgeKind, Ref
from theworld.packages import load_table
from theworld.state import PathStep
from theworld.stores.array_folder import starts_of
from theworld.stores.ledger.graph_tables import GraphEdgeRecord, NodeKey
from theworld.text import Language

FACTORS: Mapping[tuple[EdgeKind, str, str], tuple[float, float]] = {
    ("INHERITS", "OntologyClass", "OntologyClass"): (0.9, 0.6),
    ("HAS_ATTRIBUTE", "OntologyClass", "Attribute"): (0.8, 0.9),
    ("HAS_RELATION", "OntologyClass", "Relation"): (0.8, 1.0),
    ("HAS_CAPABILITY", "OntologyClass", "Capability"): (0.9, 0.9),
    ("REFERS_TO", "Relation", "OntologyClass"): (1.0, 0.8),
    ("REFERS_TO", "Capability", "OntologyClass"): (0.8, 0.8),
    ("REFERS_TO", "Capability", "Attribute"): (0.8, 0.8),
    ("REFERS_TO", "EntitySample", "OntologyClass"): (0.6, 0.3),
    ("REFERS_TO", "EntitySample", "EntitySample"): (1.0, 1.0),
}
"""What is kept of an edge's weight walking it forward and backward, by kind and the kinds of its ends."""
INHERITED = 0.9
"""What is kept for every generation of inheritance."""
HUB = 16
"""Neighbours from which on a node counts as a hub."""
HOPS = 2
"""Edges of the longest way."""
DECAY = 0.7
"""What is kept at every hop, below 1."""
FAN_OUT = 128
"""Neighbours of one node that are followed."""
OTHER_FACTS = 0.4
"""What is kept of a way over a relation between samples that the question does not name."""
_INHERITABLE = frozenset({"HAS_ATTRIBUTE", "HAS_RELATION", "HAS_CAPABILITY"})

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Step(NamedTuple):
    """One way along one edge, as it is reported in a path."""

    kind: EdgeKind
    forward: bool
    relations: tuple[str, ...] = ()
    """The relations that an edge between two samples states."""
    inherited: bool = False
    """Whether the class has it only by inheritance."""


_Row = tuple[int, int, float, Step]
"""One way along an edge: source, target, weight, step."""


class OntologyGraph:
    """Nodes numbered from 0, and for each its neighbours, the strongest first. Never changed after it was made."""

    def __init__(self, lookup: Lookup, edges: Sequence[GraphEdgeRecord]) -> None:
        self.lookup = lookup
        self.refs: tuple[Ref, ...] = tuple(lookup.elements)
        self.number: Mapping[NodeKey, int] = {ref: i for i, ref in enumerate(self.refs)}
        rows = [row for edge in edges for row in self._both_ways(edge)]
        rows += self._inherited(edges)
        self.steps: tuple[Step, ...] = tuple(dict.fromkeys(row[3] for row in rows))
        numbers = {step: i for i, step in enumerate(self.steps)}
        n = len(self.refs)
        source, target = (np.array([row[end] for row in rows], dtype=np.int64) for end in (0, 1))
        weight = np.array([row[2] for row in rows], dtype=np.float64)
        step = np.array([numbers[row[3]] for row in rows], dtype=np.int64)
        order = np.lexsort((step, target, -weight, source))
        degree = np.bincount(source, minlength=n)
        self.targets: Ints = target[order]
        self.weights: Floats = weight[order]
        self.step_of: Ints = step[order]
        self.starts: Ints = starts_of(degree)
        self.damping: Floats = 1.0 / (1.0 + np.log(np.maximum(degree / HUB, 1.0)))

    def _both_ways(self, edge: GraphEdgeRecord) -> Iterator[_Row]:
        source, target = self.number[edge.source], self.number[edge.target]
        kind = cast(EdgeKind, edge.kind)
        relations: tuple[str, ...] = ()
        if edge.source[0] == edge.target[0] == "EntitySample":
            facts = self.lookup.samples[edge.source[1]].facts
            relations = tuple(id_ for id_, targets in facts.items() if edge.target[1] in targets)
        forward, backward = FACTORS[kind, edge.source[0], edge.target[0]]
        yield source, target, edge.weight * forward, Step(kind, True, relations)
        yield target, source, edge.weight * backward, Step(kind, False, relations)

    def _inherited(self, edges: Sequence[GraphEdgeRecord]) -> Iterator[_Row]:
        """Yield for every class what the classes above it have."""
        own: dict[str, list[GraphEdgeRecord]] = {}
        for edge in edges:
            if edge.kind in _INHERITABLE:
                own.setdefault(edge.source[1], []).append(edge)
        for one in self.lookup.ontology.classes:
            child = self.number[Ref("OntologyClass", one.id)]
            for ancestor, depth in self.lookup.ancestors(one.id).items() if one.inherits else ():
                for edge in own.get(ancestor, ()) if depth else ():
                    for source, target, weight, step in self._both_ways(edge):
                        ends = (child, target) if step.forward else (source, child)
                        yield *ends, weight * INHERITED**depth, step._replace(inherited=True)


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


class Walk(NamedTuple):
    """What one start reaches within K hops."""

    start: int
    nodes: Ints
    """Reached nodes, the start among them, ascending."""
    strengths: Floats
    """Strength of each, in (0, 1]; 1 for the start."""
    levels: list[_Level]
    """What each hop reached."""

    def way_to(self, node: int) -> list[Way]:
        """Return the edges of the strongest way to a reached node, from the start on."""
        way: list[Way] = []
        for at in reversed(self.levels):
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
    levels = list[_Level]()
    for _ in range(hops):
        if deadline is not None:
            deadline.check()
        first = graph.starts[frontier]
        count = np.minimum(graph.starts[frontier + 1] - first, FAN_OUT)
        which = np.repeat(np.arange(len(frontier)), count)
        edges = first[which] + np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        sources, passed = frontier[which], (strength[frontier] * graph.damping[frontier])[which]
        reached = passed * graph.weights[edges] * factor[graph.step_of[edges]]
        # For every target the strongest way, where it is stronger than what was known; ties go to the first edge. Only
        # ways that raise it are sorted, so that hubs cost little.
        targets = graph.targets[edges]
        raising = np.flatnonzero(reached > strength[targets])
        np.maximum.at(strength, targets[raising], reached[raising])
        best = raising[reached[raising] == strength[targets[raising]]]
        best = best[np.lexsort((edges[best], targets[best]))]
        frontier, first = np.unique(targets[best], return_index=True)
        if not frontier.size:
            break
        levels.append(_Level(frontier, sources[best[first]], edges[best[first]]))
    nodes = np.flatnonzero(strength)
    return Walk(start, nodes, strength[nodes], levels)


step_words = partial(load_table, "theworld.ontology", "data/step_words.yaml")
"""How steps are told; read when first called."""


def label_of(graph: OntologyGraph, node: int, language: Language) -> str:
    """Return the preferred name of a node."""
    return graph.lookup.elements[graph.refs[node]].labels.preferred(language)


def told(step: Step, graph: OntologyGraph, language: Language) -> str:
    """Return what one step says: the relation between two samples, else the kind of the edge."""
    if step.relations:
        relations = [graph.lookup.relations[id_] for id_ in step.relations]
        names = [r.labels if step.forward or r.symmetric else r.inverse for r in relations]
        if all(name.all() for name in names):
            return " / ".join(name.preferred(language) for name in names)
        back = "←" if not step.forward else ""
        return back + " / ".join(relation.labels.preferred(language) for relation in relations)
    words: str = step_words()[step.kind]["forward" if step.forward else "backward"][language]
    return words + step_words()["inherited"][language] if step.inherited else words


def word_way(way: Sequence[Way], graph: OntologyGraph, language: Language) -> tuple[PathStep, ...]:
    """Return the steps of a way with the names of their ends."""
    return tuple(
        PathStep(
            source=label_of(graph, one.source, language),
            relation=told(graph.steps[int(graph.step_of[one.edge])], graph, language),
            target=label_of(graph, one.target, language),
        )
        for one in way
    )


def word_steps(steps: Sequence[PathStep]) -> str:
    """Return `A —has the relation→ B —refers to→ C`."""
    start = steps[0].source if steps else ""
    return start + "".join(f" —{step.relation}→ {step.target}" for step in steps)
