"""The ontology graph in memory, ready to be walked: neighbours by weight, in both directions.

An edge can be walked either way, with a factor that says how much is kept: from a relation to its range class all of
it, from a class to one of its samples little. A node with many neighbours passes less to each (hub damping), and only
its strongest are followed. What a class inherits counts as its own, a little less for every generation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from theworld.ontology.lookup import Lookup
from theworld.ontology.model import EdgeKind, Ref
from theworld.stores.ledger.graph_rows import GraphEdgeRecord, NodeKey

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


class Step(NamedTuple):
    """One way along one edge, as it is reported in a path."""

    kind: EdgeKind
    forward: bool
    relations: tuple[str, ...] = ()
    """The relations that an edge between two samples states."""
    inherited: bool = False
    """Whether the class has it only by inheritance."""


class OntologyGraph:
    """Nodes numbered from 0, and for each its neighbours, the strongest first. Never changed after it was made."""

    def __init__(self, lookup: Lookup, edges: Sequence[GraphEdgeRecord]) -> None:
        self.lookup = lookup
        self.refs: tuple[Ref, ...] = tuple(lookup.elements)
        self.number: Mapping[NodeKey, int] = {ref: i for i, ref in enumerate(self.refs)}
        rows = _Rows()
        for edge in edges:
            self._add(edge, rows)
        self._add_inherited(edges, rows)
        self.steps: tuple[Step, ...] = tuple(rows.steps)
        n = len(self.refs)
        source = np.array(rows.source, dtype=np.int64)
        weight = np.array(rows.weight, dtype=np.float64)
        target, step = np.array(rows.target, dtype=np.int64), np.array(rows.step, dtype=np.int64)
        order = np.lexsort((step, target, -weight, source))
        degree = np.bincount(source, minlength=n)
        self.targets: NDArray[np.int64] = target[order]
        self.weights: NDArray[np.float64] = weight[order]
        self.step_of: NDArray[np.int64] = step[order]
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
        capabilities = [i for i, ref in enumerate(self.refs) if ref.kind == "Capability"]
        self.capabilities: NDArray[np.int64] = np.array(capabilities, dtype=np.int64)
        """Numbers of the nodes that are capabilities, ascending."""
        self.damping: NDArray[np.float64] = 1.0 / (1.0 + np.log(np.maximum(degree / HUB, 1.0)))

    @property
    def edges(self) -> int:
        """Ways along edges: every edge counts twice, and once more each way where it is inherited."""
        return len(self.targets)

    def _add(self, edge: GraphEdgeRecord, rows: _Rows) -> None:
        source, target = self.number.get(edge.source), self.number.get(edge.target)
        kind = cast(EdgeKind, edge.kind)
        if source is None or target is None:
            return
        relations: tuple[str, ...] = ()
        if edge.source[0] == edge.target[0] == "EntitySample":
            facts = self.lookup.samples[edge.source[1]].facts
            relations = tuple(id_ for id_, targets in facts.items() if edge.target[1] in targets)
        forward, backward = FACTORS[kind, edge.source[0], edge.target[0]]
        rows.add(source, target, edge.weight * forward, Step(kind, True, relations))
        rows.add(target, source, edge.weight * backward, Step(kind, False, relations))

    def _add_inherited(self, edges: Sequence[GraphEdgeRecord], rows: _Rows) -> None:
        """Give every class what the classes above it have."""
        own: dict[str, list[GraphEdgeRecord]] = {}
        for edge in edges:
            if edge.kind in _INHERITABLE:
                own.setdefault(edge.source[1], []).append(edge)
        for one in self.lookup.ontology.classes:
            if not one.inherits:
                continue
            child = self.number[Ref("OntologyClass", one.id)]
            for ancestor, depth in self.lookup.ancestors(one.id).items():
                for edge in own.get(ancestor, ()) if depth else ():
                    kind, target = cast(EdgeKind, edge.kind), self.number[edge.target]
                    forward, backward = FACTORS[kind, edge.source[0], edge.target[0]]
                    kept = edge.weight * INHERITED**depth
                    rows.add(child, target, kept * forward, Step(kind, True, inherited=True))
                    rows.add(target, child, kept * backward, Step(kind, False, inherited=True))


_INHERITABLE = frozenset({"HAS_ATTRIBUTE", "HAS_RELATION", "HAS_CAPABILITY"})


class _Rows:
    """Ways along edges as they are collected."""

    def __init__(self) -> None:
        self.source: list[int] = []
        self.target: list[int] = []
        self.weight: list[float] = []
        self.step: list[int] = []
        self.steps: dict[Step, int] = {}

    def add(self, source: int, target: int, weight: float, step: Step) -> None:
        """Take in one way."""
        self.source.append(source)
        self.target.append(target)
        self.weight.append(weight)
        self.step.append(self.steps.setdefault(step, len(self.steps)))
