"""An ontology in a store: as nodes and edges of the ledger's graph, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from theworld.ontology.lookup import Lookup
from theworld.ontology.model import Element, Ontology, Ref
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.graph_tables import GraphEdgeRecord, GraphNodeRecord, mixed

HEAD = "Ontology"
"""Kind of the node that holds what belongs to no element: id, version, description."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    changed: bool
    """False when the store had just this ontology."""
    nodes: dict[str, int]
    edges: dict[str, int]
    """Both by kind."""
    linked_notes: int
    """Notes that name at least one element."""


def import_ontology(
    store: KnowledgeStore,
    ontology: Ontology,
    *,
    tenant: str = "default",
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Put a checked ontology in place of the tenant's old one, link the notes and weigh the edges; idempotent.

    Raises StoreError when the store is open for reading only.
    """
    nodes = list(to_nodes(ontology))
    edges = list(to_edges(ontology))
    changed = list(store.ledger.graph.elements(tenant)) != nodes
    if changed:
        store.put_graph(tenant, nodes, edges)
    store.catch_up(progress)
    return ImportReport(
        changed=changed,
        nodes=dict(Counter(node.kind for node in nodes if node.kind != HEAD)),
        edges=dict(Counter(edge.kind for edge in edges)),
        linked_notes=len({link.source for link in store.ledger.graph.whole(tenant).links}),
    )


def remove_ontology(store: KnowledgeStore, *, tenant: str = "default") -> bool:
    """Take a tenant's ontology out of the store; return whether there was one."""
    there = bool(store.ledger.graph.elements(tenant))
    if there:
        store.put_graph(tenant, [], [])
    return there


def stored_ontology(store: KnowledgeStore, *, tenant: str = "default") -> Ontology | None:
    """Return a tenant's ontology as it was imported, None when there is none."""
    nodes = store.ledger.graph.elements(tenant)
    return from_nodes(nodes) if nodes else None


def from_nodes(nodes: Sequence[GraphNodeRecord]) -> Ontology:
    """Return the ontology that nodes were made of."""
    plain: dict[str, Any] = {name: [] for name in _LISTS.values()}
    owners: dict[str, dict[str, Any]] = {}
    for node in nodes:
        form = dict(node.properties["form"])
        if node.kind == HEAD:
            plain |= form
        elif node.kind == "Attribute":
            owners[node.key.partition(".")[0]].setdefault("attributes", []).append(form)
        else:
            plain[_LISTS[node.kind]].append(form)
            if node.kind == "OntologyClass":
                owners[node.key] = form
    return Ontology.model_validate(plain)


_LISTS = {"OntologyClass": "classes", "Relation": "relations", "Capability": "capabilities", "EntitySample": "samples"}


def to_nodes(ontology: Ontology) -> Iterator[GraphNodeRecord]:
    """Yield a head and one node an element, holding all that the element says."""
    head = ontology.model_dump(mode="json", exclude_defaults=True, include={"id", "version", "description"})
    yield GraphNodeRecord(HEAD, ontology.id, ontology.id, {"form": head})
    for ref, element in ontology.elements():
        form = element.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"attributes"})
        zh, en = element.labels.zh, element.labels.en
        preferred, synonyms = (list(dict.fromkeys((*zh[part], *en[part]))) for part in (slice(1), slice(1, None)))
        names = {"preferred": preferred, "synonyms": synonyms}
        properties = {"form": form, **names, "confidence": element.confidence}
        yield GraphNodeRecord(ref.kind, ref.key, element.labels.preferred("en"), properties)


def to_edges(ontology: Ontology) -> Iterator[GraphEdgeRecord]:
    """Yield the edges, weighed by rule and confidence; what the notes show is added when they are linked."""
    first: dict[tuple[Ref, Ref, str], Element] = {}
    for source, target, kind, element in _edges(ontology):
        first.setdefault((source, target, kind), element)
    for (source, target, kind), element in first.items():
        parts = {"rule": element.strength, "confidence": element.confidence}
        yield GraphEdgeRecord((source.kind, source.key), (target.kind, target.key), kind, mixed(parts), parts)


def _edges(ontology: Ontology) -> Iterator[tuple[Ref, Ref, str, Element]]:
    """Yield (source, target, kind, the element whose strength and confidence count)."""
    lookup = Lookup(ontology)
    for one in ontology.classes:
        ref = Ref("OntologyClass", one.id)
        yield from ((ref, Ref("OntologyClass", parent), "INHERITS", one) for parent in one.inherits)
        for attribute in one.attributes:
            yield ref, Ref("Attribute", f"{one.id}.{attribute.id}"), "HAS_ATTRIBUTE", attribute
        for id_ in one.capabilities:
            yield ref, Ref("Capability", id_), "HAS_CAPABILITY", lookup.capabilities[id_]
    for relation in ontology.relations:
        ref = Ref("Relation", relation.id)
        yield Ref("OntologyClass", relation.source), ref, "HAS_RELATION", relation
        yield ref, Ref("OntologyClass", relation.target), "REFERS_TO", relation
    for capability in ontology.capabilities:
        for end in (*capability.inputs, *capability.outputs):
            target = Ref("Attribute", end) if "." in end else Ref("OntologyClass", end)
            yield Ref("Capability", capability.id), target, "REFERS_TO", capability
    for sample in ontology.samples:
        ref = Ref("EntitySample", sample.id)
        yield ref, Ref("OntologyClass", sample.of), "REFERS_TO", sample
        for id_, targets in sample.facts.items():
            relation = lookup.relations[id_]
            yield from ((ref, Ref("EntitySample", target), "REFERS_TO", relation) for target in targets)
