"""OWL, RDFS and SKOS through rdflib, in and out.

In: `owl:Class`, `rdfs:Class` and `skos:Concept` become classes; `rdfs:subClassOf` and `skos:broader` become INHERITS;
`owl:DatatypeProperty` becomes an attribute of its domain, `owl:ObjectProperty` (and `skos:related`) a relation from its
domain to its range; individuals become samples, their object properties facts. An `rdf:Property` is one or the other by
its range. `rdfs:label`, `skos:prefLabel` and `skos:altLabel` become labels and synonyms by their language, where
`zh-Hans` counts as `zh` and no language as English or Chinese by its script. What RDF has no word for (capabilities,
table mappings, strength, confidence, enum values) is written as JSON in our own property `tw:form` and read back.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rdflib import OWL, RDF, RDFS, SKOS, XSD, Graph, Literal, Namespace, Node, URIRef

from theworld.errors import OntologyError
from theworld.ontology.files.reading import parse_ontology
from theworld.ontology.model import Attribute, Element, Ontology
from theworld.text import detect_language

TW = Namespace("urn:theworld:ontology#")
FORMATS = {".ttl": "turtle", ".rdf": "xml", ".owl": "xml", ".xml": "xml", ".jsonld": "json-ld"}
"""rdflib's format by the end of a file's name."""
_CLASSES = (OWL.Class, RDFS.Class, SKOS.Concept)
_TYPES = {
    XSD.string: "string",
    XSD.integer: "integer",
    XSD.int: "integer",
    XSD.long: "integer",
    XSD.nonNegativeInteger: "integer",
    XSD.decimal: "number",
    XSD.double: "number",
    XSD.float: "number",
    XSD.date: "date",
    XSD.dateTime: "date",
    XSD.boolean: "boolean",
}
_DATATYPE = {"string": XSD.string, "integer": XSD.integer, "number": XSD.decimal, "date": XSD.date}
_DATATYPE |= {"boolean": XSD.boolean, "enum": XSD.string}
_NOT_ID = re.compile(r"[^\w\-]+")


def read_rdf(file: Path) -> Ontology:
    """Return the ontology in a Turtle, RDF/XML or JSON-LD file.

    Raises OntologyError when it is not of that format (with rdflib's line, where it tells one), holds no classes, or
    does not fit together; elements are called by their ids, because triples have no lines.
    """
    kind = FORMATS[file.suffix.lower()]
    graph = Graph()
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OntologyError(f"cannot be read: {error}.", where=str(file), remedy="Save it as UTF-8 text.") from error
    try:
        if kind == "json-ld":
            _check_contexts(json.loads(text), str(file))
        with warnings.catch_warnings():
            # rdflib's JSON-LD parser uses what rdflib itself has deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            graph.parse(data=text, format=kind, publicID=f"urn:file:{file.name}")
    except OntologyError:
        raise
    except Exception as error:  # rdflib's parsers raise what they like
        said = " ".join(str(error).split())[:300]
        raise OntologyError(f"is not {kind}: {said}.", where=str(file)) from error
    plain = _Reader(graph, str(file)).plain(_NOT_ID.sub("_", file.stem).strip("_-") or "ontology")
    if not plain["classes"]:
        raise OntologyError("holds no owl:Class, rdfs:Class or skos:Concept.", where=str(file))
    return parse_ontology(json.dumps(plain, ensure_ascii=False), where=str(file), with_lines=False)


def _check_contexts(data: Any, where: str) -> None:
    """Refuse a context that is elsewhere: rdflib would fetch it, and reading a file asks nobody."""
    pending = [data]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            contexts = one.get("@context")
            for context in contexts if isinstance(contexts, list) else [contexts]:
                address = context.get("@import") if isinstance(context, dict) else context
                if isinstance(address, str):
                    raise OntologyError(
                        f"its @context is elsewhere: {address[:200]!r}.",
                        where=where,
                        remedy="Write the context itself into the file.",
                    )
            pending += one.values()
        elif isinstance(one, list):
            pending += one


class _Reader:
    """Turns triples into the plain form."""

    def __init__(self, graph: Graph, where: str) -> None:
        self._graph, self._where = graph, where
        self._ids: dict[Node, str] = {}
        self._taken: set[tuple[str, str]] = set()

    def plain(self, name: str) -> dict[str, Any]:
        """Return the form that the YAML reader checks."""
        graph = self._graph
        classes = _ordered(
            one for kind in _CLASSES for one in graph.subjects(RDF.type, kind) if _is_named(one) and not _builtin(one)
        )
        found: dict[str, Any] = {"id": name}
        for head in _ordered(graph.subjects(RDF.type, OWL.Ontology))[:1]:
            found |= self._own(head) | self._described(head)
        forms: dict[Any, dict[str, Any]] = {one: self._element(one, "class") | {"attributes": []} for one in classes}
        for one, form in forms.items():
            parents = {*graph.objects(one, RDFS.subClassOf), *graph.objects(one, SKOS.broader)}
            form["inherits"] = [self._ids[parent] for parent in _ordered(parents) if parent in forms]
        for one in self._attributes():
            for domain in _ordered(domain for domain in graph.objects(one, RDFS.domain) if domain in forms):
                forms[domain]["attributes"].append(self._element(one, f"attribute of {domain}") | self._typed(one))
        found["classes"] = list(forms.values())
        found["relations"] = [*self._relations(), *self._related(forms)]
        capabilities = _ordered(graph.subjects(RDF.type, TW.Capability))
        found["capabilities"] = [self._element(one, "capability") for one in capabilities]
        found["samples"] = list(self._samples(forms))
        return found

    def _attributes(self) -> list[Any]:
        graph = self._graph
        plain = {p for p in graph.subjects(RDF.type, RDF.Property) if self._has_plain_range(p)}
        return _ordered({*graph.subjects(RDF.type, OWL.DatatypeProperty), *plain})

    def _has_plain_range(self, one: Node) -> bool:
        return any(target in _TYPES or target == RDFS.Literal for target in self._graph.objects(one, RDFS.range))

    def _typed(self, one: Node) -> dict[str, Any]:
        if self._own(one).get("type"):
            return {}
        ranges = _ordered(self._graph.objects(one, RDFS.range))
        return {"type": next((_TYPES[target] for target in ranges if target in _TYPES), "string")}

    def _relations(self) -> Iterator[dict[str, Any]]:
        graph = self._graph
        plain = {p for p in graph.subjects(RDF.type, RDF.Property) if not self._has_plain_range(p)}
        for one in _ordered({*graph.subjects(RDF.type, OWL.ObjectProperty), *plain}):
            source, target = (next(iter(_ordered(graph.objects(one, end))), None) for end in (RDFS.domain, RDFS.range))
            if source is None or target is None or _builtin(source) or _builtin(target):
                continue  # without both ends it says nothing about classes
            form = self._element(one, "relation")
            form["source"], form["target"] = self._id(source, "class"), self._id(target, "class")
            if (one, RDF.type, OWL.SymmetricProperty) in graph and source == target:
                form["symmetric"] = True
            yield form

    def _related(self, forms: dict[Any, dict[str, Any]]) -> Iterator[dict[str, Any]]:
        pairs = {(s, o) for s, o in self._graph.subject_objects(SKOS.related) if s in forms and o in forms}
        for source, target in sorted(pairs, key=str):
            if (target, source) not in pairs or str(source) < str(target):
                ids = forms[source]["id"], forms[target]["id"]
                labels = {"zh": ["相关"], "en": ["related to"]}
                yield {"id": f"related_{ids[0]}_{ids[1]}", "labels": labels, "source": ids[0], "target": ids[1]}

    def _samples(self, forms: dict[Any, dict[str, Any]]) -> Iterator[dict[str, Any]]:
        graph = self._graph
        kinds = {(s, o) for s, o in graph.subject_objects(RDF.type) if o in forms and _is_named(s)}
        individuals = _ordered({s for s, _ in kinds} - set(forms))
        for one in individuals:
            self._element(one, "sample")
        relations = {*graph.subjects(RDF.type, OWL.ObjectProperty), *graph.subjects(RDF.type, RDF.Property)}
        known = set(individuals)
        classes: dict[Node, str] = {}
        for one, kind in sorted(kinds, key=str):
            classes.setdefault(one, self._ids[kind])
        for one in individuals:
            form = self._element(one, "sample") | {"class": classes[one]}
            facts: dict[str, list[str]] = {}
            for relation, target in sorted(graph.predicate_objects(one), key=str):
                if relation in relations and relation in self._ids and target in known:
                    facts.setdefault(self._ids[relation], []).append(self._ids[target])
            yield form | ({"facts": facts} if facts else {})

    def _element(self, one: Node, kind: str) -> dict[str, Any]:
        id_ = self._id(one, kind)
        own = self._own(one)
        form = {"labels": self._labels(one, id_), **self._described(one), **own, "id": id_}
        if isinstance(one, URIRef) and not str(one).startswith(str(TW)) and not str(one).startswith("urn:theworld:"):
            form["iri"] = str(one)
        return form

    def _id(self, one: Node, kind: str) -> str:
        """Return the last part of the IRI as id, numbered where another of the kind has it."""
        if one not in self._ids:
            own = self._own(one).get("id")
            name = own or _NOT_ID.sub("_", re.split(r"[#/:]", str(one).rstrip("#/"))[-1]).strip("_-") or "unnamed"
            unique, n = name, 2
            while (kind, unique) in self._taken:
                unique, n = f"{name}_{n}", n + 1
            self._taken.add((kind, unique))
            self._ids[one] = unique
        return self._ids[one]

    def _own(self, one: Node) -> dict[str, Any]:
        """Return what was written with our own property: everything RDF has no word for."""
        text = self._graph.value(one, TW.form)
        try:
            own = json.loads(str(text)) if text is not None else {}
        except (ValueError, RecursionError):
            own = None
        if not isinstance(own, dict) or not isinstance(own.get("id", ""), str):
            raise OntologyError(
                f"tw:form of {one} is no JSON object of an element.", where=self._where, remedy="Leave it out."
            )
        return own

    def _labels(self, one: Node, id_: str) -> dict[str, list[str]]:
        """Return names by language, preferred ones first, in the order they were exported or of the alphabet."""
        found: dict[str, list[str]] = {"zh": [], "en": []}
        for predicate in (SKOS.prefLabel, RDFS.label, SKOS.altLabel, SKOS.hiddenLabel):
            literals = [o for o in self._graph.objects(one, predicate) if isinstance(o, Literal) and str(o).strip()]
            for literal in sorted(literals, key=lambda o: (o.language or "", str(o))):
                language = _language(literal)
                if language and str(literal).strip() not in found[language]:
                    found[language].append(str(literal).strip())
        if not any(found.values()):
            name = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", id_).strip()
            found[detect_language(name)] = [name if name.isascii() is False else name.lower()]
        return {language: names for language, names in found.items() if names}

    def _described(self, one: Node) -> dict[str, Any]:
        texts: dict[str, str] = {}
        for predicate in (SKOS.definition, RDFS.comment):
            for literal in _ordered(o for o in self._graph.objects(one, predicate) if isinstance(o, Literal)):
                language = _language(literal)
                if language:
                    texts.setdefault(language, str(literal).strip())
        return {"description": texts} if texts else {}


def _ordered(nodes: Iterable[Node]) -> list[Any]:
    """Return the different nodes by their text."""
    return sorted(set(nodes), key=str)


def _is_named(one: Node) -> bool:
    return isinstance(one, URIRef)


def _builtin(one: Node) -> bool:
    return any(str(one).startswith(str(space)) for space in (OWL, RDFS, RDF, SKOS, XSD))


def _language(literal: Literal) -> str | None:
    """Return zh or en; None for other languages."""
    if literal.language is None:
        return detect_language(str(literal))
    base = literal.language.lower().partition("-")[0]
    return base if base in {"zh", "en"} else None


def to_rdf(ontology: Ontology, kind: str) -> str:
    """Return an ontology as `turtle`, `xml` or `json-ld`; `read_rdf` gives it back whole."""
    graph = Graph()
    graph.bind("tw", TW)
    graph.bind("skos", SKOS)
    base = Namespace(f"urn:theworld:{ontology.id}:")
    graph.bind("", base)
    head = URIRef(str(base) + "ontology")
    graph.add((head, RDF.type, OWL.Ontology))
    _write_form(graph, head, {"id": ontology.id, "version": ontology.version})
    _write_words(graph, head, ontology.description.model_dump())
    for one in ontology.classes:
        subject = base[f"class-{one.id}"]
        _write(graph, subject, one, OWL.Class, {"inherits", "attributes"})
        for parent in one.inherits:
            graph.add((subject, RDFS.subClassOf, base[f"class-{parent}"]))
        for attribute in one.attributes:
            _write_attribute(graph, base, one.id, attribute)
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


def _write_attribute(graph: Graph, base: Namespace, owner: str, attribute: Attribute) -> None:
    subject = base[f"attribute-{owner}.{attribute.id}"]
    _write(graph, subject, attribute, OWL.DatatypeProperty, set())
    graph.add((subject, RDFS.domain, base[f"class-{owner}"]))
    graph.add((subject, RDFS.range, _DATATYPE[attribute.type]))


def _write(graph: Graph, subject: URIRef, element: Element, kind: URIRef, told: set[str]) -> None:
    """Write type, labels and description, and the rest of the form, but what is told otherwise, as our own property."""
    graph.add((subject, RDF.type, kind))
    for language in ("zh", "en"):
        for i, label in enumerate(element.labels.zh if language == "zh" else element.labels.en):
            graph.add((subject, SKOS.altLabel if i else SKOS.prefLabel, Literal(label, lang=language)))
    _write_words(graph, subject, element.description.model_dump())
    form = element.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    told = told | {"description", "labels"}
    _write_form(graph, subject, {name: value for name, value in form.items() if name not in told})


def _write_words(graph: Graph, subject: URIRef, words: dict[str, str]) -> None:
    for language, text in words.items():
        if text:
            graph.add((subject, SKOS.definition, Literal(text, lang=language)))


def _write_form(graph: Graph, subject: URIRef, form: dict[str, Any]) -> None:
    graph.add((subject, TW.form, Literal(json.dumps(form, ensure_ascii=False))))
