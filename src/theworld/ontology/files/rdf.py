"""OWL, RDFS and SKOS into an ontology, through rdflib.

| in the file | becomes |
|---|---|
| `owl:Class`, `rdfs:Class`, `skos:Concept` that is no value | a class; `rdfs:subClassOf`, `skos:broader`: its parents |
| `owl:DatatypeProperty`, `rdf:Property` with a plain range | an attribute of its domains |
| a property whose range is a list of values | an enum attribute; a value's `skos:notation` is what the column holds |
| `owl:ObjectProperty`, other `rdf:Property`, `skos:related` | a relation from each domain to each range |
| an instance of a class | a sample: its key, values and facts |
| an instance of a capability class | a capability, offered by the classes that it, or they, point to |

A list of values is a `skos:ConceptScheme` that a property's range, or any statement about it, names; a class below
`skos:Concept` with its instances; an `owl:oneOf`. Concepts of a scheme are values wherever the file has classes
besides; a file of concepts alone is a hierarchy of classes. Domains and ranges are read through `owl:unionOf`, and from
restrictions (`owl:onProperty`) where a property has none. `rdfs:label`, `skos:prefLabel` and `skos:altLabel` become
labels and synonyms by their language, where `zh-Hans` counts as `zh` and no language as English or Chinese by its
script. Which predicates tell units and keys, and which classes are capabilities, `Terms` says. What was not used is
told (`rdf_writing`).
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rdflib import OWL, RDF, RDFS, SKOS, XSD, Graph, Literal, Node, URIRef

from theworld.errors import OntologyError
from theworld.ontology.files.rdf_writing import PROPERTIES, TW, Loss, find_losses, is_builtin, language_of
from theworld.ontology.files.reading import ENDINGS, check_ontology, text_of
from theworld.ontology.lookup import reached
from theworld.ontology.model import Ontology
from theworld.text import detect_language

_CLASSES = (OWL.Class, RDFS.Class, SKOS.Concept)
_TYPES = {XSD.string: "string", XSD.date: "date", XSD.dateTime: "date", XSD.boolean: "boolean"}
_TYPES |= dict.fromkeys((XSD.integer, XSD.int, XSD.long, XSD.nonNegativeInteger), "integer")
_TYPES |= dict.fromkeys((XSD.decimal, XSD.double, XSD.float), "number")
_NOT_ID = re.compile(r"[^\w\-]+")
_OF_SCHEME = (SKOS.inScheme, SKOS.topConceptOf)
_RESTRICTED = (OWL.allValuesFrom, OWL.someValuesFrom, OWL.onClass)


class Terms(BaseModel):
    """Which predicates and classes of other vocabularies say what RDF itself has no word for, as IRIs."""

    model_config = ConfigDict(extra="forbid")

    units: tuple[str, ...] = Field(
        default=(
            str(TW.unit), "http://qudt.org/schema/qudt/unit", "http://qudt.org/schema/qudt/hasUnit",
            "http://www.ontology-of-units-of-measure.org/resource/om-2/hasUnit", "https://schema.org/unitText",
            "http://schema.org/unitText", "https://schema.org/unitCode", "http://schema.org/unitCode",
        ),
        description="Predicates from a property to its unit",
    )  # fmt: skip
    keys: tuple[str, ...] = Field(
        default=(
            str(TW.key), "http://purl.org/dc/terms/identifier", "http://purl.org/dc/elements/1.1/identifier",
            "https://schema.org/identifier", "http://schema.org/identifier", str(SKOS.notation),
        ),
        description="Predicates from an instance to the key of its record",
    )  # fmt: skip
    capabilities: tuple[str, ...] = Field(
        default=(str(TW.Capability),), description="Classes of capabilities, besides those whose name is Capability"
    )


def read_terms(file: Path) -> Terms:
    """Return the terms of a YAML file: lists of IRIs under `units`, `keys`, `capabilities`, added to those known."""
    try:
        given = Terms.model_validate(yaml.safe_load(file.read_text("utf-8-sig")) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        said = " ".join(str(error).split())[:300]
        remedy = "Give lists of IRIs under `units`, `keys` and `capabilities`."
        raise OntologyError(f"holds no terms: {said}.", where=str(file), remedy=remedy) from error
    known = Terms()
    return Terms(**{name: (*getattr(given, name), *getattr(known, name)) for name in given.model_fields_set})


def read_rdf(file: Path, terms: Terms | None = None, losses: list[Loss] | None = None) -> Ontology:
    """Return the ontology in a Turtle, RDF/XML or JSON-LD file; what was not used is added to `losses`.

    Raises OntologyError when it is not of that format (with rdflib's line, where it tells one), holds no classes, or
    does not fit together; elements are called by their ids, because triples have no lines.
    """
    kind, text, graph = ENDINGS[file.suffix.lower()], text_of(file), Graph()
    try:
        if kind == "json-ld":
            json.loads(text, object_hook=partial(_own_context, where=str(file)))
        with warnings.catch_warnings():
            # rdflib's JSON-LD parser uses what rdflib itself has deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            graph.parse(data=text, format=kind, publicID=f"urn:file:{file.name}")
    except OntologyError:
        raise
    except Exception as error:  # rdflib's parsers raise what they like
        said = " ".join(str(error).split())[:300]
        raise OntologyError(f"is not {kind}: {said}.", where=str(file)) from error
    reader = _Reader(graph, str(file), terms or Terms())
    plain = reader.plain(_NOT_ID.sub("_", file.stem).strip("_-") or "ontology")
    if not plain["classes"]:
        raise OntologyError("holds no owl:Class, rdfs:Class or skos:Concept.", where=str(file))
    if losses is not None:
        losses += find_losses(graph, reader.used, set(reader.ids), reader.values)
    return check_ontology(plain, where=str(file))


def _own_context(one: dict[str, Any], where: str) -> dict[str, Any]:
    """Return an object, unless its context is elsewhere: rdflib would fetch it, and reading a file asks nobody."""
    contexts = one.get("@context")
    for context in contexts if isinstance(contexts, list) else [contexts]:
        address = context.get("@import") if isinstance(context, dict) else context
        if isinstance(address, str):
            what, remedy = f"its @context is elsewhere: {address[:200]!r}.", "Write the context itself into the file."
            raise OntologyError(what, where=where, remedy=remedy)
    return one


class _Reader:
    """Turns triples into the plain form, and remembers which it used."""

    def __init__(self, graph: Graph, where: str, terms: Terms) -> None:
        self._graph, self._where = graph, where
        self._units, self._keys = [URIRef(one) for one in terms.units], [URIRef(one) for one in terms.keys]
        self.used: set[tuple[Node, Node, Node]] = set()
        self.ids: dict[Node, str] = {}
        self._relation_of: dict[Node, list[tuple[str, str]]] = {}
        """(target class, relation) by property: a union as range makes several relations of one."""
        self._taken: set[tuple[str, str]] = set()
        self._classes = self._of_type(*_CLASSES)
        named = {one for one in self._classes if _local(one).lower() == "capability"}
        kinds = named | {URIRef(one) for one in terms.capabilities}
        self._capabilities = [one for one in self._of_type(*kinds) if one not in self._classes]
        self.values = self._value_lists()
        concepts = {value for values in self.values.values() for value in values}
        self._forms: dict[Any, dict[str, Any]] = {
            one: {} for one in self._classes if one not in concepts | kinds and one not in self.values
        }

    def plain(self, name: str) -> dict[str, Any]:
        """Return the plain data of the form."""
        found: dict[str, Any] = {"id": name}
        for head in self._of_type(OWL.Ontology)[:1]:
            found |= self._own(head) | self._described(head)
        for one in self._forms:
            self._forms[one] |= self._element(one, "class") | {"attributes": []}
        for one, form in self._forms.items():
            parents = [*self._objects(one, RDFS.subClassOf), *self._objects(one, SKOS.broader)]
            form["inherits"] = [self.ids[parent] for parent in _ordered(parents) if parent in self._forms]
        relations = list(self._relations())
        found["classes"] = list(self._forms.values())
        pairs = {(s, o) for s in self._forms for o in self._objects(s, SKOS.related) if o in self._forms}
        for source, target in sorted(pairs, key=str):
            if (target, source) not in pairs or str(source) < str(target):
                ids, labels = (self.ids[source], self.ids[target]), {"zh": ["相关"], "en": ["related to"]}
                related = {"id": f"related_{ids[0]}_{ids[1]}", "source": ids[0], "target": ids[1]}
                relations.append(related | {"labels": labels})
        found["relations"] = relations
        found["capabilities"] = [self._capability(one) for one in self._capabilities]
        found["samples"] = list(self._samples())
        return found

    # Which nodes are what.

    def _of_type(self, *kinds: Node) -> list[Any]:
        found = [triple for kind in kinds for triple in self._graph.triples((None, RDF.type, kind))]
        self.used.update(found)
        return _ordered(one for one, *_ in found if isinstance(one, URIRef) and not is_builtin(one))

    def _objects(self, one: Node, predicate: Node) -> list[Node]:
        found = list(self._graph.objects(one, predicate))
        self.used.update((one, predicate, target) for target in found)
        return found

    def _value_lists(self) -> dict[Node, list[Any]]:
        """Return the values by scheme, or by class of values; none of a scheme in a file of concepts alone."""
        graph, found = self._graph, dict[Node, list[Any]]()
        schemes = self._of_type(SKOS.ConceptScheme)
        classes = {*graph.subjects(RDF.type, OWL.Class), *graph.subjects(RDF.type, RDFS.Class)}
        told = {node for p in self._of_type(*PROPERTIES) for node in (*graph.objects(p), *graph.subjects(None, p))}
        for scheme in schemes:
            inside = {one for predicate in _OF_SCHEME for one in graph.subjects(predicate, scheme)}
            inside |= set(graph.objects(scheme, SKOS.hasTopConcept))
            below = {one for top in inside for one in graph.transitive_subjects(SKOS.broader, top) if one is not None}
            if classes or scheme in told:
                found[scheme] = _ordered(below - classes)
        for kind in classes - {SKOS.Concept}:
            if SKOS.Concept in set(graph.transitive_objects(kind, RDFS.subClassOf)):
                found[kind] = _ordered(one for one in graph.subjects(RDF.type, kind) if one not in classes)
        return found

    def _members(self, node: Node) -> list[Any]:
        """Return the classes of a domain or range: itself, or those of a union."""
        for union in self._objects(node, OWL.unionOf):
            return self._list(union)
        return [node]

    def _list(self, head: Node) -> list[Any]:
        """Return the members of an RDF list, also of one that goes in a circle."""
        nodes: list[Any] = list(self._graph.transitive_objects(head, RDF.rest))
        self.used.update((node, RDF.rest, rest) for node, rest in pairwise(nodes))
        return [one for node in nodes for one in self._objects(node, RDF.first)]

    def _ends(self, one: Node) -> tuple[list[Any], list[Any]]:
        """Return domains and ranges of a property, where it has none those of restrictions on it."""
        domains = [end for node in self._objects(one, RDFS.domain) for end in self._members(node)]
        ranges = [end for node in self._objects(one, RDFS.range) for end in self._members(node)]
        for restriction in _ordered(self._graph.subjects(OWL.onProperty, one)):
            owners = [node for node in self._graph.subjects(RDFS.subClassOf, restriction) if node in self._forms]
            targets = [node for predicate in _RESTRICTED for node in self._graph.objects(restriction, predicate)]
            if owners and targets and not (domains and ranges):
                domains, ranges = domains or owners, ranges or targets
                self.used.update(self._graph.triples((restriction, None, None)))
                self.used.update((owner, RDFS.subClassOf, restriction) for owner in owners)
        return _ordered(domains), _ordered(ranges)

    # Attributes and relations.

    def _relations(self) -> Iterator[dict[str, Any]]:
        """Yield the relations; properties with plain or listed values become attributes of their classes."""
        for one in self._of_type(*PROPERTIES):
            domains, ranges = self._ends(one)
            own = [domain for domain in domains if domain in self._forms]
            values = self._listed(one, ranges)
            plain = (one, RDF.type, OWL.DatatypeProperty) in self._graph or any(
                end in _TYPES or end == RDFS.Literal for end in ranges
            )
            if values is not None or plain:
                for domain in own:
                    form = self._element(one, f"attribute of {domain}") | self._typed(one, ranges, values)
                    self._forms[domain]["attributes"].append(form)
                continue
            pairs = [pair for pair in product(domains, ranges) if not any(map(is_builtin, pair))]
            for number, (source, target) in enumerate(pairs, start=1):
                form = self._element(one, "relation")
                form["id"] += f"_{number}" if number > 1 else ""
                form["source"], form["target"] = self._id(source, "class"), self._id(target, "class")
                if (one, RDF.type, OWL.SymmetricProperty) in self._graph and source == target:
                    self.used.add((one, RDF.type, OWL.SymmetricProperty))
                    form["symmetric"] = True
                self._relation_of.setdefault(one, []).append((form["target"], form["id"]))
                yield form

    def _listed(self, one: Node, ranges: list[Any]) -> list[Any] | None:
        """Return the values of a property whose range is a list of them, None for any other."""
        for end in ranges:
            for head in self._objects(end, OWL.oneOf):
                self.used.update(self._graph.triples((end, RDF.type, None)))
                return self._list(head)
        about = {*self._graph.objects(one), *self._graph.subjects(None, one)}
        for values in _ordered(node for node in about if node in self.values):
            self.used.update(self._graph.triples((one, None, values)))
            self.used.update(self._graph.triples((values, None, None)))
            return self.values[values]
        return None

    def _typed(self, one: Node, ranges: list[Any], values: list[Any] | None) -> dict[str, Any]:
        form: dict[str, Any] = {}
        for unit in (unit for predicate in self._units for unit in self._objects(one, predicate)):
            if isinstance(unit, Literal):
                words = {language_of(unit) or "en": str(unit)}
            else:
                told = (unit, None, None) in self._graph
                named = self._labels(unit, _local(unit)) if told else {"en": [_local(unit)]}
                words = {language: names[0] for language, names in named.items()}
            form.setdefault("unit", words)
        if self._own(one).get("type"):
            return form
        if values:
            return form | {"type": "enum", "values": [self._value(value) for value in values]}
        return form | {"type": next((_TYPES[target] for target in ranges if target in _TYPES), "string")}

    def _value(self, one: Node) -> dict[str, Any]:
        if isinstance(one, Literal):
            return {"id": _NOT_ID.sub("_", str(one)).strip("_-") or "empty", "stored": str(one)}
        form: dict[str, Any] = {"id": self._id(one, "value"), "labels": self._labels(one, _local(one))}
        for code in self._objects(one, SKOS.notation):
            form["stored"] = _plain(code)
        self.used.update(t for t in self._graph.triples((one, None, None)) if t[1] in (RDF.type, *_OF_SCHEME))
        return form

    def _capability(self, one: Node) -> dict[str, Any]:
        """Return a capability; classes that point to it, or that it points to, offer it, or are its input or output."""
        form = self._element(one, "capability")
        graph = self._graph
        offers = [(owner, (owner, predicate, one)) for owner, predicate in graph.subject_predicates(one)]
        for predicate, target in sorted(graph.predicate_objects(one), key=str):
            end = next((name for name in ("input", "output") if _local(predicate).lower().startswith(name)), None)
            if target in self._forms and predicate != RDF.type and end:
                form.setdefault(f"{end}s", []).append(self.ids[target])
                self.used.add((one, predicate, target))
            elif predicate != RDF.type:
                offers.append((target, (one, predicate, target)))
        for owner, triple in offers:
            if owner in self._forms:
                offered = self._forms[owner].setdefault("capabilities", [])
                offered += [] if form["id"] in offered else [form["id"]]
                self.used.add(triple)
        return form

    # Instances.

    def _samples(self) -> Iterator[dict[str, Any]]:
        graph, classes = self._graph, dict[Node, str]()
        for one, kind in sorted(graph.subject_objects(RDF.type), key=str):
            if kind in self._forms and isinstance(one, URIRef) and one not in self._forms:
                self.used.add((one, RDF.type, kind))
                classes.setdefault(one, self.ids[kind])
        individuals = _ordered(classes)
        for one in individuals:
            self._id(one, "sample")
        inherited = {
            class_id: {attribute["id"]: attribute for form in self._above(class_id) for attribute in form["attributes"]}
            for class_id in set(classes.values())
        }
        for one in individuals:
            form = self._element(one, "sample") | {"class": classes[one]}
            attributes = inherited[classes[one]]
            for key in (key for predicate in self._keys for key in self._objects(one, predicate)):
                form.setdefault("key", _plain(key))
            for predicate, target in sorted(graph.predicate_objects(one), key=str):
                name = self.ids.get(predicate, "")
                if name in attributes and (value := self._sample_value(attributes[name], target)) is not None:
                    form.setdefault("values", {}).setdefault(name, value)
                elif target in classes and (relation := self._fact(predicate, classes[target])):
                    form.setdefault("facts", {}).setdefault(relation, []).append(self.ids[target])
                else:
                    continue
                self.used.add((one, predicate, target))
            yield form

    def _above(self, class_id: str) -> list[dict[str, Any]]:
        """Return a class and all it inherits from."""
        by_id = {form["id"]: form for form in self._forms.values()}
        return [by_id[name] for name in reached(class_id, lambda name: by_id[name]["inherits"])]

    def _fact(self, predicate: Node, target: str) -> str | None:
        """Return the relation of a property that goes to a class, or to one above it; else any it has."""
        relations = self._relation_of.get(predicate, [])
        above = {form["id"] for form in self._above(target)} if len(relations) > 1 else set()
        return next((id_ for end, id_ in relations if end in above), relations[0][1] if relations else None)

    def _sample_value(self, attribute: dict[str, Any], target: Node) -> Any:
        if attribute.get("type") == "enum":
            named = self.ids.get(target) if not isinstance(target, Literal) else None
            known = {value["id"]: value.get("stored", value["id"]) for value in attribute["values"]}
            return named if named in known else next((i for i, code in known.items() if str(code) == str(target)), None)
        return _plain(target) if isinstance(target, Literal) else None

    # What elements share.

    def _element(self, one: Node, kind: str) -> dict[str, Any]:
        id_ = self._id(one, kind)
        own = self._own(one)
        form = {"labels": self._labels(one, id_), **self._described(one), **own, "id": id_}
        if isinstance(one, URIRef) and not str(one).startswith(str(TW)) and not str(one).startswith("urn:theworld:"):
            form["iri"] = str(one)
        return form

    def _id(self, one: Node, kind: str) -> str:
        """Return the last part of the IRI as id, numbered where another of the kind has it."""
        if one not in self.ids:
            name = self._own(one).get("id") or _NOT_ID.sub("_", _local(one)).strip("_-") or "unnamed"
            unique, n = name, 2
            while (kind, unique) in self._taken:
                unique, n = f"{name}_{n}", n + 1
            self._taken.add((kind, unique))
            self.ids[one] = unique
        return self.ids[one]

    def _own(self, one: Node) -> dict[str, Any]:
        """Return what was written with our own property: everything RDF has no word for."""
        text = next(iter(self._objects(one, TW.form)), None)
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
        for language, text in self._texts(one, SKOS.prefLabel, RDFS.label, SKOS.altLabel, SKOS.hiddenLabel):
            if text and text not in found[language]:
                found[language].append(text)
        if not any(found.values()):
            name = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", id_).strip()
            found[detect_language(name)] = [name.lower() if name.isascii() else name]
        return {language: names for language, names in found.items() if names}

    def _described(self, one: Node) -> dict[str, Any]:
        texts: dict[str, str] = {}
        for language, text in self._texts(one, SKOS.definition, RDFS.comment):
            texts.setdefault(language, text)
        return {"description": texts} if texts else {}

    def _texts(self, one: Node, *predicates: Node) -> Iterator[tuple[str, str]]:
        """Yield language and text of what is said in English and Chinese, one predicate after the other."""
        for predicate in predicates:
            literals = [o for o in self._graph.objects(one, predicate) if isinstance(o, Literal)]
            for literal in sorted(literals, key=lambda o: (o.language or "", str(o))):
                if language := language_of(literal):
                    self.used.add((one, predicate, literal))
                    yield language, str(literal).strip()


def _ordered(nodes: Iterable[Node]) -> list[Any]:
    """Return the different nodes by their text."""
    return sorted(set(nodes), key=str)


def _local(one: Node) -> str:
    return re.split(r"[#/:]", str(one).rstrip("#/"))[-1]


def _plain(value: Node) -> str | int | float:
    plain = value.toPython() if isinstance(value, Literal) else None
    if isinstance(plain, Decimal):
        return float(plain)
    return plain if isinstance(plain, int | float) and not isinstance(plain, bool) else str(value)
