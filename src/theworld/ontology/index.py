"""One tenant's ontology ready for questions: matcher, graph, and the notes that name its elements."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theworld.ontology.graph import OntologyGraph
from theworld.ontology.lookup import Lookup
from theworld.ontology.questions.descriptions import DescriptionReader
from theworld.ontology.questions.matching import Matcher
from theworld.ontology.storing import from_nodes
from theworld.stores.ledger.graph_tables import GraphEdgeRecord, GraphNodeRecord, GraphTables


class NamedNotes:
    """Which notes name which elements, and how much that says."""

    def __init__(self, graph: OntologyGraph, links: Sequence[GraphEdgeRecord]) -> None:
        self.ids: tuple[str, ...] = tuple(sorted({link.source[1] for link in links}))
        place = {note: i for i, note in enumerate(self.ids)}
        by_node: dict[int, list[tuple[int, float]]] = {}
        for link in links:
            node = graph.number.get(link.target)
            if node is not None:
                by_node.setdefault(node, []).append((place[link.source[1]], link.weight))
        total, rows = len(self.ids), [sorted(by_node.get(node, ())) for node in range(len(graph.refs))]
        rarity = [math.log(1 + total / len(row)) / math.log(1 + total) if row else 0.0 for row in rows]
        self._first: NDArray[np.int64] = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        self._notes = np.array([note for row in rows for note, _ in row], dtype=np.int64)
        self._worth = np.array([weight * rare for row, rare in zip(rows, rarity, strict=True) for _, weight in row])

    def naming(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return (position in `nodes`, position in `ids`, worth) of every note that names one of the nodes.

        Worth is the link's weight times ln(1 + N/df) / ln(1 + N), the rarity of the node: 1 for an element that one
        note of N names, little for one in every note.
        """
        count = self._first[nodes + 1] - self._first[nodes]
        which = np.repeat(np.arange(len(nodes)), count)
        within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        rows = self._first[nodes][which] + within
        return which, self._notes[rows], self._worth[rows]


class OntologyIndex:
    """Everything that questions need of one tenant's ontology; never changed after it was made."""

    def __init__(
        self, nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord], links: Sequence[GraphEdgeRecord]
    ) -> None:
        ontology = from_nodes(nodes)
        if ontology is None:
            raise ValueError("there are no nodes")
        self.lookup = Lookup(ontology)
        self.matcher = Matcher(self.lookup)
        self.descriptions = DescriptionReader(self.lookup, self.matcher)
        self.graph = OntologyGraph(self.lookup, edges)
        self.notes = NamedNotes(self.graph, links)


class OntologyIndexes:
    """The index of every tenant, read when first asked for and again when the graph has changed. Thread-safe."""

    def __init__(self, tables: GraphTables) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._version = -1
        self._tenants: frozenset[str] = frozenset()
        """Those that have an ontology: what is kept does not grow with tenants that are merely asked for."""
        self._of: dict[str, OntologyIndex | None] = {}

    def surely_none(self) -> bool:
        """Tell, without waiting for a server, whether the store has no ontology at all."""
        return not self._tables.remote and self._tables.version() == 0

    def of(self, tenant: str) -> OntologyIndex | None:
        """Return a tenant's index, None when it has no ontology (then it costs one small look)."""
        version = self._tables.version()
        if version == 0:
            return None
        with self._lock:
            if version != self._version:
                self._of, self._tenants, self._version = {}, frozenset(self._tables.tenants()), version
            if tenant not in self._tenants:
                return None
            if tenant not in self._of:
                graph = self._tables.whole(tenant)
                self._of[tenant] = OntologyIndex(*graph) if graph.elements else None
            return self._of[tenant]
