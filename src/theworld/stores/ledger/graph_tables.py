"""The ontology graph in the ledger: elements and edges as imported, and the notes that name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from theworld.stores.graph_weights import co_occurrences, mixed
from theworld.stores.ledger import graph_rows, models
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.graph_rows import GraphEdgeRecord, GraphNodeRecord, NoteLink
from theworld.stores.ledger.statements import read_number, set_number

VERSION, APPLIED = "graph_version", "graph_applied"
"""Names in the meta table: changes of the graph so far, and the last change of notes that the links have seen."""
_VERSION = select(models.Meta.number).where(models.Meta.key == VERSION)


class TenantLinks(NamedTuple):
    """What a batch of changes does to the links of one tenant's notes."""

    note_ids: Sequence[str]
    """All notes that were put or removed."""
    links: Sequence[NoteLink]
    """What those put name."""


class TenantGraph(NamedTuple):
    """The ontology graph of one tenant."""

    elements: Sequence[GraphNodeRecord]
    edges: Sequence[GraphEdgeRecord]
    """Those among the elements."""
    links: Sequence[GraphEdgeRecord]
    """Those from notes to what they name."""


class GraphTables:
    """The tables `graph_node` and `graph_edge`; made by a Ledger."""

    def __init__(self, database: Database) -> None:
        self._writing, self._reading, self._glance = database.writing, database.reading, database.glance
        self.remote = database.remote
        """Whether they lie on a server, which may keep one waiting."""

    def version(self) -> int:
        """Return a number that changes whenever the graph does; 0 when there never was one (asked with every query)."""
        return self._glance(_VERSION) or 0

    def applied(self) -> int | None:
        """Return the last change of notes that the links have seen; None when no tenant has an ontology."""
        with self._reading() as connection:
            if not _version(connection) or connection.scalar(select(models.GraphNode.id).limit(1)) is None:
                return None
            return read_number(connection, APPLIED) or 0

    def tenants(self) -> list[str]:
        """Return the tenants that have an ontology."""
        with self._reading() as connection:
            return _tenants(connection)

    def elements(self, tenant: str) -> list[GraphNodeRecord]:
        """Return the nodes of a tenant's ontology in the order of the import."""
        with self._reading() as connection:
            return graph_rows.read_elements(connection, tenant)

    def edges(self, tenant: str) -> list[GraphEdgeRecord]:
        """Return the edges among them."""
        with self._reading() as connection:
            return graph_rows.read_edges(connection, tenant, of_notes=False)

    def links(self, tenant: str) -> list[GraphEdgeRecord]:
        """Return the edges from notes to what they name."""
        with self._reading() as connection:
            return graph_rows.read_edges(connection, tenant, of_notes=True)

    def whole(self, tenant: str) -> TenantGraph:
        """Return elements, edges and links as they were at one moment."""
        with self._reading() as connection:
            return TenantGraph(
                graph_rows.read_elements(connection, tenant),
                graph_rows.read_edges(connection, tenant, of_notes=False),
                graph_rows.read_edges(connection, tenant, of_notes=True),
            )

    def replace(self, tenant: str, nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord]) -> None:
        """Put an ontology in place of the tenant's old one, or take it away; the notes are linked anew afterwards."""
        graph_rows.check_graph(nodes, edges)
        with self._writing() as connection:
            graph_rows.replace_elements(connection, tenant, nodes, edges)
            set_number(connection, APPLIED, 0)
            _count_up(connection)

    def apply(
        self, changes: Mapping[str, TenantLinks], *, after: int, upto: int, version: int, weigh: bool
    ) -> int | None:
        """Take in the changes of notes in (after, upto], linked by the graph of `version`; return the new version.

        With `weigh`, all weights are computed anew. None, and nothing is done, when another writer has taken in changes
        meanwhile, or the ontology was replaced.
        """
        with self._writing() as connection:
            if (read_number(connection, APPLIED) or 0, _version(connection)) != (after, version):
                return None
            for tenant, (note_ids, links) in changes.items():
                graph_rows.replace_links(connection, tenant, note_ids, links)
            if weigh:
                for tenant in _tenants(connection):
                    _weigh(connection, tenant)
            set_number(connection, APPLIED, upto)
            return _count_up(connection)

    def clear_links(self) -> None:
        """Forget what the notes name."""
        with self._writing() as connection:
            connection.execute(delete(models.GraphNode).where(models.GraphNode.kind == graph_rows.NOTE))
            set_number(connection, APPLIED, 0)
            _count_up(connection)


def _tenants(connection: Connection) -> list[str]:
    tenant = models.GraphNode.tenant
    return list(connection.scalars(select(tenant).distinct().order_by(tenant)))


def _version(connection: Connection) -> int:
    return read_number(connection, VERSION) or 0


def _count_up(connection: Connection) -> int:
    version = _version(connection) + 1
    set_number(connection, VERSION, version)
    return version


def _weigh(connection: Connection, tenant: str) -> None:
    """Compute the weights of one tenant's edges anew; only those that differ are written."""
    edges, named = graph_rows.read_weighed(connection, tenant)
    shared = co_occurrences(named, [(edge.source, edge.target) for edge in edges])
    changed = []
    for edge, value in zip(edges, shared, strict=True):
        parts = {name: part for name, part in edge.parts.items() if name != "co_occurrence"}
        if value is not None:
            parts["co_occurrence"] = value
        if parts != dict(edge.parts):
            changed.append((edge.row, mixed(parts), parts))
    graph_rows.set_weights(connection, changed)
