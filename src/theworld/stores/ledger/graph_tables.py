"""The ontology graph in the ledger: elements and edges as imported, and the notes that name them.

The weight of an edge is a mix of what the notes show, what the rules say and what people think: 0.3 co-occurrence + 0.4
rule + 0.3 confidence, each in [0, 1]. Where no note names either end, nothing is known about co-occurrence: it is left
out, and the other two keep their proportion. Unknown is not zero.

- co-occurrence of an edge between two elements: notes naming both, twice, over notes naming either (Dice). Of a note
  to an element: n / (n + 1) for n places.
- rule: the strength of the business rule, from the ontology (for a note: 1 for a preferred name, 0.9 for a synonym).
- confidence: how sure a person is, from the ontology.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update
from sqlalchemy.orm import aliased

from theworld.errors import StoreError
from theworld.stores.ledger.database import Database, batches, found_in, insert_numbered, insert_rows
from theworld.stores.ledger.models import GraphEdge, GraphNode, Meta, Note, row_sum

VERSION, APPLIED = "graph_version", "graph_applied"
"""Names in the meta table: changes of the graph so far, and the last change of notes that the links have seen."""
NOTE, REFERS_TO = "Note", "REFERS_TO"
"""Kind of the nodes that stand for notes, whose key is the note's id, and of the edges from them to what they name."""
NodeKey = tuple[str, str]
"""(kind, key)."""
_VERSION = select(Meta.number).where(Meta.key == VERSION)
_TENANTS = select(GraphNode.tenant).distinct().order_by(GraphNode.tenant)


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


NoteLinks = Mapping[str, Sequence[GraphEdgeRecord]]
"""The edges to what each note names, by its id; none for one that was removed."""


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
        self._writing, self._reading, self._database = database.writing, database.reading, database
        self.remote = database.remote
        """Whether they lie on a server, which may keep one waiting."""

    def version(self) -> int:
        """Return a number that changes whenever the graph does; 0 when there never was one (asked with every query)."""
        return self._database.glance(_VERSION) or 0

    def applied(self) -> int | None:
        """Return the last change of notes that the links have seen; None when no tenant has an ontology."""
        with self._reading() as connection:
            if not _read_number(connection, VERSION) or connection.scalar(select(GraphNode.id).limit(1)) is None:
                return None
            return _read_number(connection, APPLIED)

    def tenants(self) -> list[str]:
        """Return the tenants that have an ontology."""
        return [row.tenant for row in self._database.rows(_TENANTS)]

    def elements(self, tenant: str) -> list[GraphNodeRecord]:
        """Return the nodes of a tenant's ontology in the order of the import."""
        with self._reading() as connection:
            return _elements(connection, tenant)

    def whole(self, tenant: str) -> TenantGraph:
        """Return elements, edges and links as they were at one moment."""
        with self._reading() as connection:
            elements = _elements(connection, tenant)
            source, target, edge = aliased(GraphNode), aliased(GraphNode), GraphEdge
            query = select(source.kind, source.key, target.kind, target.key, edge.kind, edge.weight, edge.parts)
            query = query.join(source, source.id == edge.source).join(target, target.id == edge.target)
            rows = connection.execute(query.where(source.tenant == tenant).order_by(edge.id))
            every = [GraphEdgeRecord((row[0], row[1]), (row[2], row[3]), row[4], row[5], row[6]) for row in rows]
        edges, links = ([one for one in every if (one.source[0] == NOTE) == of_notes] for of_notes in (False, True))
        return TenantGraph(elements, edges, links)

    def replace(self, tenant: str, nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord]) -> None:
        """Put an ontology in place of the tenant's old one, or take it away; the notes are linked anew afterwards.

        Raises StoreError when a node stands twice or an edge leads nowhere.
        """
        keys = [(node.kind, node.key) for node in nodes]
        known = set(keys)
        if len(known) != len(keys):
            raise StoreError("two nodes of the graph have the same kind and key.")
        for edge in edges:
            for end in {edge.source, edge.target} - known:
                raise StoreError(f"an edge {edge.kind} leads to {end[0]} {end[1]!r}, which is no node.")
        rows = [
            {"tenant": tenant, "kind": n.kind, "key": n.key, "label": n.label, "properties": dict(n.properties)}
            for n in nodes
        ]
        with self._writing() as connection:
            connection.execute(delete(GraphNode).where(GraphNode.tenant == tenant))
            ids = dict(zip(keys, insert_numbered(connection, GraphNode, rows), strict=True))
            _insert_edges(connection, ((ids[e.source], ids[e.target], e.kind, e.weight, e.parts) for e in edges))
            _set_number(connection, APPLIED, 0)
            _count_up(connection)

    def apply(
        self, changes: Mapping[str, NoteLinks], *, after: int, upto: int, version: int, weigh: bool
    ) -> int | None:
        """Take in the changes of notes in (after, upto], linked by the graph of `version`; return the new version.

        `changes` are all notes that were put or removed, by tenant. With `weigh`, all weights are computed anew. None,
        and nothing is done, when another writer has taken in changes meanwhile, or the ontology was replaced.
        """
        node, note = GraphNode, Note
        with self._writing() as connection:
            if (_read_number(connection, APPLIED), _read_number(connection, VERSION)) != (after, version):
                return None
            for tenant, links in changes.items():  # in place of those that the notes had
                for some in batches(list(links)):
                    connection.execute(delete(node).where(node.tenant == tenant, node.kind == NOTE, node.key.in_(some)))
                naming = [note_id for note_id, named in links.items() if named]
                query = select(note.note_id, note.document).where(note.tenant == tenant)
                rows = [
                    {"tenant": tenant, "kind": NOTE, "key": key, "label": "", "properties": {}, "document": document}
                    for key, document in found_in(connection, query, note.note_id, naming)
                ]
                if not rows:
                    continue
                known = select(node.kind, node.key, node.id).where(node.tenant == tenant, node.kind != NOTE)
                elements = {(kind, key): row for kind, key, row in connection.execute(known)}
                written = zip(insert_numbered(connection, node, rows), (links[row["key"]] for row in rows), strict=True)
                pairs = ((row, link) for row, named in written for link in named if link.target in elements)
                _insert_edges(connection, ((row, elements[e.target], e.kind, e.weight, e.parts) for row, e in pairs))
            if weigh:
                for tenant in list(connection.scalars(_TENANTS)):
                    _weigh(connection, tenant)
            _set_number(connection, APPLIED, upto)
            return _count_up(connection)

    def clear_links(self) -> None:
        """Forget what the notes name."""
        with self._writing() as connection:
            connection.execute(delete(GraphNode).where(GraphNode.kind == NOTE))
            _set_number(connection, APPLIED, 0)
            _count_up(connection)


def _read_number(connection: Connection, key: str) -> int:
    """Return a number of the meta table, 0 when it is not there."""
    return connection.scalar(select(Meta.number).where(Meta.key == key)) or 0


def _set_number(connection: Connection, key: str, number: int) -> None:
    if connection.execute(update(Meta).where(Meta.key == key).values(number=number)).rowcount == 0:
        connection.execute(insert(Meta).values(key=key, number=number))


def _count_up(connection: Connection) -> int:
    version = _read_number(connection, VERSION) + 1
    _set_number(connection, VERSION, version)
    return version


def _elements(connection: Connection, tenant: str) -> list[GraphNodeRecord]:
    node = GraphNode
    query = select(node.kind, node.key, node.label, node.properties).where(node.tenant == tenant, node.kind != NOTE)
    return [GraphNodeRecord(*row) for row in connection.execute(query.order_by(node.id))]


def _insert_edges(connection: Connection, rows: Iterable[tuple[int, int, str, float, Mapping[str, float]]]) -> None:
    """Insert edges given as (source row, target row, kind, weight, parts)."""
    names = ("source", "target", "kind", "weight", "parts")
    insert_rows(connection, GraphEdge, [dict(zip(names, (*row[:4], dict(row[4])), strict=True)) for row in rows])


def _weigh(connection: Connection, tenant: str) -> None:
    """Compute the weights of one tenant's edges anew; only those that differ are written."""
    source, edge = aliased(GraphNode), GraphEdge
    table = cast(Table, edge.__table__)
    query = select(edge.id, edge.source, edge.target, edge.kind, edge.parts, source.kind.label("kind_of_source"))
    query = query.join(source, source.id == edge.source)
    found = connection.execute(query.where(source.tenant == tenant).order_by(edge.id)).all()
    edges = [row for row in found if row.kind_of_source != NOTE]
    named = [(row.source, row.target) for row in found if row.kind_of_source == NOTE]
    shared = co_occurrences(named, [(row.source, row.target) for row in edges])
    changed = []
    for row, value in zip(edges, shared, strict=True):
        parts = {name: part for name, part in row.parts.items() if name != "co_occurrence"}
        if value is not None:
            parts["co_occurrence"] = value
        if parts != row.parts:
            values = {"weight": mixed(parts), "parts": parts}
            whole = {"source": row.source, "target": row.target, "kind": row.kind, **values}
            values["checksum"] = row_sum(table, whole)
            changed.append({"row": row.id, **{f"new_{name}": value for name, value in values.items()}})
    if changed:
        new = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in ("weight", "parts", "checksum")}
        connection.execute(update(table).where(table.c.id == bindparam("row")).values(new), changed)


SHARES: Mapping[str, float] = {"co_occurrence": 0.3, "rule": 0.4, "confidence": 0.3}
_DIGITS = 6


def mixed(parts: Mapping[str, float]) -> float:
    """Return the weight of known parts, in [0, 1], rounded so that equal parts give equal weights."""
    known = [name for name in SHARES if name in parts]
    if not known:
        return 0.0
    return round(sum(SHARES[name] * parts[name] for name in known) / sum(SHARES[name] for name in known), _DIGITS)


def note_parts(places: int, rule: float, confidence: float) -> dict[str, float]:
    """Return the parts of an edge from a note that names an element at so many places."""
    return {"co_occurrence": round(places / (places + 1), _DIGITS), "rule": rule, "confidence": confidence}


def co_occurrences(named: Iterable[tuple[int, int]], edges: Iterable[tuple[int, int]]) -> list[float | None]:
    """Return the Dice coefficient of each edge's ends by (note, node) pairs, None where no note names either."""
    notes: dict[int, set[int]] = {}
    for note, node in named:
        notes.setdefault(node, set()).add(note)
    found: list[float | None] = []
    for first, second in ((notes.get(source, set()), notes.get(target, set())) for source, target in edges):
        either = len(first) + len(second)
        found.append(round(2.0 * len(first & second) / either, _DIGITS) if either else None)
    return found
