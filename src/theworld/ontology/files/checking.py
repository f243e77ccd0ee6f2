"""What a schema cannot say: names that refer to nothing, doubled ids, cycles, mappings that cannot work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from theworld.ontology.lookup import Lookup
from theworld.ontology.model import EntitySample, Ontology, OntologyClass

Location = tuple[str | int, ...]
"""Where in the form: `("classes", 3, "inherits", 0)`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an ontology."""

    location: Location
    element: str
    """The element concerned, such as `class company` or `relation guarantees`."""
    what: str
    """What is wrong, and what would be right."""
    line: int = 0
    """Line in the file, from 1; 0 where there is no file."""

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.element}: {self.what}"


def find_problems(ontology: Ontology) -> list[Problem]:
    """Return everything that is wrong, in the order of the form."""
    lookup = Lookup(ontology)
    lines = {id_: lookup.ancestors(id_) for id_ in lookup.classes}
    own = {id_ for id_, one in lookup.classes.items() if one.table is not None}
    below = {id_ for id_, line in lines.items() if own & line.keys()}
    mapped = below | {parent for id_ in own for parent in lines[id_]}  # a table of their own, above or below them
    return [
        *_doubled(ontology),
        *_classes(lookup, mapped),
        *_cycles(ontology),
        *_relations(lookup, mapped),
        *_capabilities(lookup),
        *_samples(lookup, lines),
    ]


SINGULAR = {"classes": "class", "relations": "relation", "capabilities": "capability", "samples": "sample"}
"""What an element of each list is called."""


def _doubled(ontology: Ontology) -> Iterator[Problem]:
    for name, singular in SINGULAR.items():
        yield from _repeated([one.id for one in getattr(ontology, name)], (name,), singular)
    for i, one in enumerate(ontology.classes):
        location = ("classes", i, "attributes")
        yield from _repeated([a.id for a in one.attributes], location, f"class {one.id}: attribute")
        for j, attribute in enumerate(one.attributes):
            values = [value.id for value in attribute.values]
            yield from _repeated(values, (*location, j, "values"), f"attribute {one.id}.{attribute.id}: value")


def _repeated(ids: Sequence[str], location: Location, what: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for i, id_ in enumerate(ids):
        if id_ in first:
            yield Problem((*location, i), f"{what} {id_}", f"duplicate id: number {first[id_] + 1} has it too")
        first.setdefault(id_, i)


def _classes(lookup: Lookup, mapped: Set[str]) -> Iterator[Problem]:
    for i, one in enumerate(lookup.ontology.classes):
        name, location = f"class {one.id}", ("classes", i)
        for j, parent in enumerate(one.inherits):
            if parent not in lookup.classes:
                yield Problem((*location, "inherits", j), name, f"inherits the unknown class {parent!r}")
        for j, capability in enumerate(one.capabilities):
            if capability not in lookup.capabilities:
                yield Problem((*location, "capabilities", j), name, f"has the unknown capability {capability!r}")
        for j, attribute in enumerate(one.attributes):
            if attribute.column is not None and one.id not in mapped:
                why = f"the column {attribute.column!r}, but class {one.id} has no table, nor has any below it"
                place = (*location, "attributes", j, "column")
                yield Problem(place, f"attribute {one.id}.{attribute.id}", f"bad mapping: {why}")


def _cycles(ontology: Ontology) -> Iterator[Problem]:
    place = {one.id: i for i, one in enumerate(ontology.classes)}
    parents = {one.id: one.inherits for one in ontology.classes}
    while True:
        try:
            TopologicalSorter(parents).prepare()
        except CycleError as error:
            circle = error.args[1][:0:-1]  # from a class to what it inherits
        else:
            return
        begin = circle.index(min(circle, key=place.__getitem__))
        circle = [*circle[begin:], *circle[:begin]]
        way = " -> ".join([*circle, circle[0]])
        location = ("classes", place[circle[0]], "inherits")
        yield Problem(location, f"class {circle[0]}", f"INHERITS goes in a circle: {way}")
        parents = {id_: line for id_, line in parents.items() if id_ not in circle}


def _relations(lookup: Lookup, mapped: Set[str]) -> Iterator[Problem]:
    for i, relation in enumerate(lookup.ontology.relations):
        name = f"relation {relation.id}"
        for end, one in (("source", relation.source), ("target", relation.target)):
            if one not in lookup.classes:
                yield Problem(("relations", i, end), name, f"dangling: its {end} is the unknown class {one!r}")
            elif relation.join is not None and one not in mapped:
                what = f"bad mapping: it has a join, but class {one}, its {end}, has no table"
                yield Problem(("relations", i, "join"), name, what)
        if relation.symmetric and relation.source != relation.target:
            yield Problem(("relations", i, "symmetric"), name, "is symmetric, but its two classes differ")


def _capabilities(lookup: Lookup) -> Iterator[Problem]:
    known = {ref.key for ref in lookup.elements if ref.kind in {"OntologyClass", "Attribute"}}
    for i, capability in enumerate(lookup.ontology.capabilities):
        for side in ("inputs", "outputs"):
            for j, end in enumerate(getattr(capability, side)):
                if end not in known:
                    what = f"names {end!r} among its {side}, which is no class and no `class.attribute`"
                    yield Problem(("capabilities", i, side, j), f"capability {capability.id}", what)


def _samples(lookup: Lookup, lines: Mapping[str, Mapping[str, int]]) -> Iterator[Problem]:
    classes, relations, samples = lookup.classes, lookup.relations, lookup.samples
    for i, sample in enumerate(lookup.ontology.samples):
        name = f"sample {sample.id}"
        if sample.of not in classes:
            yield Problem(("samples", i, "class"), name, f"is of the unknown class {sample.of!r}")
            continue
        yield from _stated_values(sample, i, [classes[one] for one in sorted(lines[sample.of]) if one in classes])
        for relation_id, targets in sample.facts.items():
            location, relation = ("samples", i, "facts", relation_id), relations.get(relation_id)
            if relation is None:
                yield Problem(location, name, f"has a fact of the unknown relation {relation_id!r}")
                continue
            if relation.source in classes and relation.source not in lines[sample.of]:
                what = f"is a {sample.of}, but relation {relation_id} goes from {relation.source}"
                yield Problem(location, name, what)
            for target in targets:
                other = samples.get(target)
                if other is None:
                    yield Problem(location, name, f"{relation_id} the unknown sample {target!r}")
                elif relation.target in classes and relation.target not in lines.get(other.of, ()):
                    what = f"{relation_id} {target}, a {other.of}, but the relation goes to {relation.target}"
                    yield Problem(location, name, what)


def _stated_values(sample: EntitySample, i: int, line: Sequence[OntologyClass]) -> Iterator[Problem]:
    own = {attribute.id: attribute for one in line for attribute in one.attributes}
    for attribute_id, value in sample.values.items():
        location, name = ("samples", i, "values", attribute_id), f"sample {sample.id}"
        attribute = own.get(attribute_id)
        if attribute is None:
            yield Problem(location, name, f"has a value of {attribute_id!r}, which its class has not")
        elif attribute.type == "enum" and value not in {one.id for one in attribute.values}:
            yield Problem(location, name, f"has the unknown value {value!r} of {attribute_id!r}")
        elif attribute.type in {"number", "integer"} and isinstance(value, str):
            yield Problem(location, name, f"has the value {value!r} of {attribute_id!r}, which is no number")
