"""An ontology as OWL and SKOS through rdflib; `rdf.read_rdf` gives it back whole.

What RDF has no word for (table mappings, strength, confidence, enum values) is JSON in our own property `tw:form`.
"""

from __future__ import annotations

import json

from rdflib import OWL, RDF, RDFS, SKOS, XSD, Graph, Literal, Namespace, URIRef

from theworld.ontology.files.rdf import TW
from theworld.ontology.model import Element, Ontology, Words

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
