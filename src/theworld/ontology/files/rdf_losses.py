"""What of a file of triples is not in the ontology that was read from it, with counts and reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from rdflib import OWL, RDF, RDFS, SKOS, XSD, BNode, Graph, Literal, Node, URIRef

from theworld.text import detect_language

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


class _Kind(NamedTuple):
    what: str
    why: str
    serious: bool


_NO_ENDS = _Kind("properties", "they have no domain and range among the classes; state both", True)
_NO_LIST = _Kind("values", "no property names their list; make it the range of one", True)
_IMPORTS = _Kind("imports", "other files are not read; put them into this one", True)


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
        return _Kind(f"texts of {name} in {target.language}", "only English and Chinese are used", False)
    if isinstance(subject, BNode) or isinstance(target, BNode) or (is_builtin(predicate) and predicate != RDF.type):
        return _Kind(f"statements of {name}", "there is no place for such logic", False)
    if predicate == RDF.type:
        return _Kind(f"instances of {_short(graph, target)}", "it is no class of the file", True)
    if predicate in known:
        return _Kind(
            f"statements of {name}", "it is no attribute or relation of that class, or has no such value", True
        )
    return _Kind(f"statements of {name}", "the property is not declared in the file", False)


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
