"""Rows of the ontology graph; every function works on the caller's connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update
from sqlalchemy.orm import aliased

from theworld.errors import StoreError
from theworld.stores.ledger import models
from theworld.stores.ledger.statements import batches

NOTE = "Note"
"""Kind of the nodes that stand for notes; their key is the note's id."""
NodeKey = tuple[str, str]
"""(kind, key)."""


@dataclass(frozen=True, slots=True)
class GraphNodeRecord:
    """A node of the ontology graph."""

    kind: str
    key: str
    label: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphEdgeRecord:
    """An edge of the ontology graph, with what its weight was mixed from."""

    source: NodeKey
    target: NodeKey
    kind: str
    weight: float
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A note that names an element."""

    note_id: str
    target: NodeKey
    weight: float
    parts: Mapping[str, float]


def read_elements(connection: Connection, tenant: str) -> list[GraphNodeRecord]:
    """Return all nodes but the notes, in the order they were written."""
    node = models.GraphNode
    query = select(node.kind, node.key, node.label, node.properties).where(node.tenant == tenant, node.kind != NOTE)
    return [GraphNodeRecord(*row) for row in connection.execute(query.order_by(node.id))]


def read_edges(connection: Connection, tenant: str, *, of_notes: bool) -> list[GraphEdgeRecord]:
    """Return the edges among elements, or those from notes to elements, in the order they were written."""
    source, target, edge = aliased(models.GraphNode), aliased(models.GraphNode), models.GraphEdge
    query = (
        select(source.kind, source.key, target.kind, target.key, edge.kind, edge.weight, edge.parts)
        .join(source, source.id == edge.source)
        .join(target, target.id == edge.target)
        .where(source.tenant == tenant, source.kind == NOTE if of_notes else source.kind != NOTE)
        .order_by(edge.id)
    )
    return [GraphEdgeRecord((r[0], r[1]), (r[2], r[3]), r[4], r[5], r[6]) for r in connection.execute(query)]


def replace_elements(
    connection: Connection, tenant: str, nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord]
) -> None:
    """Put a new ontology in place of the tenant's old one; the links of its notes go with the old."""
    connection.execute(delete(models.GraphNode).where(models.GraphNode.tenant == tenant))
    rows = [
        {"tenant": tenant, "kind": n.kind, "key": n.key, "label": n.label, "properties": dict(n.properties)}
        for n in nodes
    ]
    ids: dict[NodeKey, int] = {}
    statement = insert(models.GraphNode).returning(models.GraphNode.__table__.c.id, sort_by_parameter_order=True)
    if rows:
        written = connection.scalars(statement, rows)
        ids = {(node.kind, node.key): row for node, row in zip(nodes, written, strict=True)}
    insert_edges(connection, ((ids[e.source], ids[e.target], e.kind, e.weight, e.parts) for e in edges))


def insert_edges(connection: Connection, rows: Iterable[tuple[int, int, str, float, Mapping[str, float]]]) -> None:
    """Insert edges given as (source row, target row, kind, weight, parts)."""
    values = [
        {"source": source, "target": target, "kind": kind, "weight": weight, "parts": dict(parts)}
        for source, target, kind, weight, parts in rows
    ]
    if values:
        connection.execute(insert(models.GraphEdge), values)


def replace_links(connection: Connection, tenant: str, note_ids: Sequence[str], links: Sequence[NoteLink]) -> None:
    """Put the links of these notes in place of those they had."""
    node = models.GraphNode
    for some in batches(note_ids):
        connection.execute(delete(node).where(node.tenant == tenant, node.kind == NOTE, node.key.in_(some)))
    linked = list(dict.fromkeys(link.note_id for link in links))
    if not linked:
        return
    elements = {
        (kind, key): row
        for row, kind, key in connection.execute(
            select(node.id, node.kind, node.key).where(node.tenant == tenant, node.kind != NOTE)
        )
    }
    rows: list[dict[str, Any]] = []
    for some in batches(linked):
        query = select(models.Note.note_id, models.Note.document).where(
            models.Note.tenant == tenant, models.Note.note_id.in_(some)
        )
        rows += [
            {"tenant": tenant, "kind": NOTE, "key": key, "label": "", "properties": {}, "document": document}
            for key, document in connection.execute(query)
        ]
    statement = insert(node).returning(node.__table__.c.id, sort_by_parameter_order=True)
    written = dict(zip((row["key"] for row in rows), connection.scalars(statement, rows), strict=True)) if rows else {}
    insert_edges(
        connection,
        (
            (written[link.note_id], elements[link.target], "REFERS_TO", link.weight, link.parts)
            for link in links
            if link.note_id in written and link.target in elements
        ),
    )


@dataclass(frozen=True, slots=True)
class WeighedEdge:
    """An edge among elements by its rows."""

    row: int
    source: int
    target: int
    parts: Mapping[str, float]


def read_weighed(connection: Connection, tenant: str) -> tuple[list[WeighedEdge], list[tuple[int, int]]]:
    """Return the edges among elements, and the (note row, element row) pairs of what the notes name."""
    source, edge = aliased(models.GraphNode), models.GraphEdge
    query = select(edge.id, edge.source, edge.target, edge.parts, source.kind).join(source, source.id == edge.source)
    edges: list[WeighedEdge] = []
    named: list[tuple[int, int]] = []
    for row, start, end, parts, kind in connection.execute(query.where(source.tenant == tenant).order_by(edge.id)):
        if kind == NOTE:
            named.append((start, end))
        else:
            edges.append(WeighedEdge(row, start, end, parts))
    return edges, named


def set_weights(connection: Connection, changed: Sequence[tuple[int, float, Mapping[str, float]]]) -> None:
    """Write the weights of edges given as (edge row, weight, parts)."""
    if changed:
        table = cast(Table, models.GraphEdge.__table__)
        new = {"weight": bindparam("new_weight"), "parts": bindparam("new_parts", type_=table.c.parts.type)}
        rows = [{"row": row, "new_weight": weight, "new_parts": dict(parts)} for row, weight, parts in changed]
        connection.execute(update(table).where(table.c.id == bindparam("row")).values(new), rows)


def check_graph(nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord]) -> None:
    """Raise StoreError when a node stands twice or an edge leads nowhere."""
    known = {(node.kind, node.key) for node in nodes}
    if len(known) != len(nodes):
        raise StoreError("two nodes of the graph have the same kind and key.")
    for edge in edges:
        for end in (edge.source, edge.target):
            if end not in known:
                raise StoreError(f"an edge {edge.kind} leads to {end[0]} {end[1]!r}, which is no node.")
