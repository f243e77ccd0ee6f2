"""Answers about one ontology: what an id means, what a class inherits, what its samples have to do with each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Literal, NamedTuple

from theworld.ontology.model import (
    Attribute,
    Capability,
    ClassTable,
    Element,
    EntitySample,
    Ontology,
    OntologyClass,
    Ref,
    Relation,
)

End = Literal["source", "target"]
"""One end of a relation."""


class Lookup:
    """Fast answers about an ontology that has been checked; everything is in the order of the ontology."""

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology
        self.classes: Mapping[str, OntologyClass] = {one.id: one for one in ontology.classes}
        self.relations: Mapping[str, Relation] = {one.id: one for one in ontology.relations}
        self.capabilities: Mapping[str, Capability] = {one.id: one for one in ontology.capabilities}
        self.samples: Mapping[str, EntitySample] = {one.id: one for one in ontology.samples}
        self._children: dict[str, list[str]] = defaultdict(list)
        for one in ontology.classes:
            for parent in one.inherits:
                self._children[parent].append(one.id)

    @cached_property
    def elements(self) -> Mapping[Ref, Element]:
        """Every element by reference."""
        return dict(self.ontology.elements())

    def ancestors(self, class_id: str) -> Mapping[str, int]:
        """Return the class and all it inherits, nearest first, with the generations between; unknown ones end."""
        return reached(class_id, lambda id_: self.classes[id_].inherits if id_ in self.classes else ())

    def descendants(self, class_id: str) -> Mapping[str, int]:
        """Return the class and all that inherit it, nearest first, with the generations between."""
        return reached(class_id, lambda id_: self._children.get(id_, ()))

    def attributes(self, class_id: str) -> Iterator[tuple[Ref, Attribute]]:
        """Yield own and inherited attributes, own first; one with the id of a nearer one is overridden by it."""
        seen: set[str] = set()
        for owner in self.ancestors(class_id):
            for attribute in self.classes[owner].attributes:
                if attribute.id not in seen:
                    seen.add(attribute.id)
                    yield Ref("Attribute", f"{owner}.{attribute.id}"), attribute

    def table(self, class_id: str) -> ClassTable | None:
        """Return the class's table, or the nearest inherited one."""
        tables = (self.classes[owner].table for owner in self.ancestors(class_id))
        return next((table for table in tables if table is not None), None)


def reached(start: str, following: Callable[[str], Sequence[str]]) -> dict[str, int]:
    """Return the start and all that follows it, nearest first, with the steps between."""
    found, level = {start: 0}, [start]
    while level:
        level = list(dict.fromkeys(one for id_ in level for one in following(id_) if one not in found))
        found.update(dict.fromkeys(level, found[next(reversed(found))] + 1))
    return found


class Fact(NamedTuple):
    """One relation between two samples, by their ids."""

    source: str
    relation: str
    target: str


class Facts:
    """What the samples of an ontology have to do with each other; symmetric relations hold both ways."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._at: dict[tuple[End, str, str], dict[str, Fact]] = defaultdict(dict)
        self._near: dict[str, set[str]] = defaultdict(set)
        kinds: dict[frozenset[str], set[str]] = defaultdict(set)
        for sample in lookup.ontology.samples:
            for relation, target in ((id_, target) for id_, targets in sample.facts.items() for target in targets):
                fact = Fact(sample.id, relation, target)
                ends = [(sample.id, target), (target, sample.id)]
                for source, other in ends if lookup.relations[relation].symmetric else ends[:1]:
                    self._at["source", relation, other][source] = fact
                    self._at["target", relation, source][other] = fact
                for one, other in ends:
                    self._near[one].add(other)
                kinds[frozenset((sample.of, lookup.samples[target].of))].add(relation)
        self._only = {pair: next(iter(ids)) for pair, ids in kinds.items() if len(ids) == 1}

    def at(self, end: End, relation: str, other: str) -> Mapping[str, Fact]:
        """Return the samples at one end of a relation that has `other` at its other end, each with the fact."""
        return self._at.get((end, relation, other), {})

    def near(self, sample: str) -> Set[str]:
        """Return the samples that have any fact with one."""
        return self._near.get(sample, frozenset())

    def by_class(self, class_id: str, other: str) -> dict[str, Fact]:
        """Return the samples of a class that have a fact with `other`, where their classes have only one relation."""
        relation = self.only_relation(class_id, self._lookup.samples[other].of)
        found = {} if relation is None else {**self.at("source", relation, other), **self.at("target", relation, other)}
        return {id_: fact for id_, fact in found.items() if self._lookup.samples[id_].of == class_id}

    def only_relation(self, one: str, other: str) -> str | None:
        """Return the relation between samples of two different classes, None where there are several or none."""
        return self._only.get(frozenset((one, other))) if one != other else None
