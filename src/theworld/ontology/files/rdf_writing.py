"""An ontology as OWL and SKOS through rdflib, which `rdf.read_rdf` gives back whole; and what of other files it loses.

What RDF has no word for (table mappings, strength, confidence, enum values) is JSON in our own property `tw:form`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from rdflib import OWL, RDF, RDFS, SKOS, XSD, BNode, Graph, Literal, Namespace, Node, URIRef

from theworld.ontology.model import Element, Ontology, Words
from theworld.text import detect_language

TW = Namespace("urn:theworld:ontology#")
_DATATYPE = {"string": XSD.string, "integer": XSD.integer, "number": XSD.decimal, "date": XSD.date}
_DATATYPE |= {"boolean": XSD.boolean, "enum": XSD.string}


def to_rdf(ontology: Ontology, kind: str) -> str:
    """Return an ontology as `turtle`, `xml` or `json-ld`; `read_rdf` gives it back whole."""
    graph = Graph()
    graph.bind("tw", TW)
    graph.bind("skos", SKOS)
    base = Namespace(f"urn:theworld:{ontology.id}:")
    graph.bind("", base)
    head = URIRef(str(base) + "ontology")
    graph.add((head, RDF.type, OWL.Ontology))
    form = json.dumps({"id": ontology.id, "version": ontology.version}, ensure_ascii=False)
    graph.add((head, TW.form, Literal(form)))
    _write_words(graph, head, ontology.description)
    for one in ontology.classes:
        subject = base[f"class-{one.id}"]
        _write(graph, subject, one, OWL.Class, {"inherits", "attributes"})
        for parent in one.inherits:
            graph.add((subject, RDFS.subClassOf, base[f"class-{parent}"]))
        for attribute in one.attributes:
            owned = base[f"attribute-{one.id}.{attribute.id}"]
            _write(graph, owned, attribute, OWL.DatatypeProperty, set())
            graph.add((owned, RDFS.domain, subject))
            graph.add((owned, RDFS.range, _DATATYPE[attribute.type]))
    for relation in ontology.relations:
        subject = base[f"relation-{relation.id}"]
        _write(graph, subject, relation, OWL.ObjectProperty, {"source", "target"})
        graph.add((subject, RDFS.domain, base[f"class-{relation.source}"]))
        graph.add((subject, RDFS.range, base[f"class-{relation.target}"]))
        if relation.symmetric:
            graph.add((subject, RDF.type, OWL.SymmetricProperty))
    for capability in ontology.capabilities:
        _write(graph, base[f"capability-{capability.id}"], capability, TW.Capability, set())
    for sample in ontology.samples:
        subject = base[f"sample-{sample.id}"]
        _write(graph, subject, sample, base[f"class-{sample.of}"], {"class", "facts"})
        for relation_id, targets in sample.facts.items():
            for target in targets:
                graph.add((subject, base[f"relation-{relation_id}"], base[f"sample-{target}"]))
    return graph.serialize(format=kind)


def _write(graph: Graph, subject: URIRef, element: Element, kind: URIRef, told: set[str]) -> None:
    """Write type, labels and description, and the rest of the form, but what is told otherwise, as our own property."""
    graph.add((subject, RDF.type, kind))
    for language, labels in element.labels:
        for i, label in enumerate(labels):
            graph.add((subject, SKOS.altLabel if i else SKOS.prefLabel, Literal(label, lang=language)))
    _write_words(graph, subject, element.description)
    form = element.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    kept = {name: value for name, value in form.items() if name not in {"description", "labels", *told}}
    graph.add((subject, TW.form, Literal(json.dumps(kept, ensure_ascii=False))))


def _write_words(graph: Graph, subject: URIRef, words: Words) -> None:
    for language, text in words:
        if text:
            graph.add((subject, SKOS.definition, Literal(text, lang=language)))


Triple = tuple[Node, Node, Node]
PROPERTIES = (OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property)


@dataclass(frozen=True, slots=True)
class Loss:
    """Statements of a file that are not in the ontology."""

    what: str
    """What they are."""
    count: int
    why: str
    """Why they were not used, and what to do where they are wanted."""
    example: str
    """What most of them are about."""
    serious: bool
    """Whether questions could have used it; else it is logic, metadata or another language."""

    def __str__(self) -> str:
        return f"{self.count} {self.what}: {self.why} (such as {self.example})"


_Kind = tuple[str, str, bool]
"""What, why and serious of a loss."""
_NO_ENDS = "properties", "they have no domain and range among the classes; state both", True
_NO_LIST = "values", "no property names their list; make it the range of one", True
_IMPORTS = "imports", "other files are not read; put them into this one", True


def find_losses(graph: Graph, used: Set[Triple], known: Set[Node], lists: Mapping[Node, Sequence[Node]]) -> list[Loss]:
    """Return what was not used, the serious first: `known` nodes have become elements, `lists` hold values."""
    found: defaultdict[_Kind, list[Node]] = defaultdict(list)
    properties = {one for kind in PROPERTIES for one in graph.subjects(RDF.type, kind) if not is_builtin(one)}
    found[_NO_ENDS] = sorted(properties - known, key=str)
    found[_NO_LIST] = sorted({value for values in lists.values() for value in values} - known, key=str)
    whole = {*found[_NO_ENDS], *found[_NO_LIST], *lists, *graph.subjects(RDF.type, OWL.Ontology)}
    for subject, predicate, target in sorted(set(graph) - used, key=str):
        if predicate == OWL.imports:
            found[_IMPORTS].append(target)
        elif subject not in whole and not (predicate == RDF.type and is_builtin(target)):
            found[_kind(graph, (subject, predicate, target), known)].append(subject)
    losses = [
        Loss(what, len(nodes), why, _short(graph, Counter(nodes).most_common(1)[0][0]), serious)
        for (what, why, serious), nodes in found.items()
        if nodes
    ]
    return sorted(losses, key=lambda loss: (not loss.serious, -loss.count, loss.what))


def _kind(graph: Graph, triple: Triple, known: Set[Node]) -> _Kind:
    subject, predicate, target = triple
    name = _short(graph, predicate)
    if isinstance(target, Literal) and target.language and language_of(target) is None:
        return f"texts of {name} in {target.language}", "only English and Chinese are used", False
    if isinstance(subject, BNode) or isinstance(target, BNode) or (is_builtin(predicate) and predicate != RDF.type):
        return f"statements of {name}", "there is no place for such logic", False
    if predicate == RDF.type:
        return f"instances of {_short(graph, target)}", "it is no class of the file", True
    if predicate in known:
        return f"statements of {name}", "it is no attribute or relation of that class, or has no such value", True
    return f"statements of {name}", "the property is not declared in the file", False


def _short(graph: Graph, node: Node) -> str:
    return str(node.n3(graph.namespace_manager)) if isinstance(node, URIRef) else "a node without a name"


def is_builtin(one: Node) -> bool:
    """Return whether a node is a word of OWL, RDF, RDFS, SKOS or XML Schema itself."""
    return any(str(one).startswith(str(space)) for space in (OWL, RDFS, RDF, SKOS, XSD))


def language_of(literal: Literal) -> str | None:
    """Return zh or en; None for other languages."""
    if literal.language is None:
        return detect_language(str(literal))
    base = literal.language.lower().partition("-")[0]
    return base if base in {"zh", "en"} else None
