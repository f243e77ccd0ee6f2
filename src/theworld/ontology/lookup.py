"""Answers about one ontology: what an id means, what a class inherits, which relations meet at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

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


class Lookup:
    """Fast answers about an ontology that has been checked; everything is in the order of the ontology."""

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology
        self.classes: Mapping[str, OntologyClass] = {one.id: one for one in ontology.classes}
        self.relations: Mapping[str, Relation] = {one.id: one for one in ontology.relations}
        self.capabilities: Mapping[str, Capability] = {one.id: one for one in ontology.capabilities}
        self.samples: Mapping[str, EntitySample] = {one.id: one for one in ontology.samples}

    @cached_property
    def elements(self) -> Mapping[Ref, Element]:
        """Every element by reference."""
        return dict(self.ontology.elements())

    @cached_property
    def _children(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for one in self.ontology.classes:
            for parent in one.inherits:
                found[parent] = (*found.get(parent, ()), one.id)
        return found

    def ancestors(self, class_id: str) -> tuple[str, ...]:
        """Return the class and all it inherits, nearest first."""
        return _reached(class_id, lambda id_: self.classes[id_].inherits)

    def generations(self, class_id: str) -> Iterator[tuple[int, str]]:
        """Yield what the class inherits, without itself, each with its least number of generations."""
        seen, level, depth = {class_id}, [class_id], 0
        while level:
            depth += 1
            level = list(dict.fromkeys(p for id_ in level for p in self.classes[id_].inherits if p not in seen))
            seen.update(level)
            yield from ((depth, id_) for id_ in level)

    def descendants(self, class_id: str) -> tuple[str, ...]:
        """Return the class and all that inherit it, nearest first."""
        return _reached(class_id, lambda id_: self._children.get(id_, ()))

    def attributes(self, class_id: str) -> Iterator[tuple[Ref, Attribute]]:
        """Yield own and inherited attributes, own first; one with the id of a nearer one is overridden by it."""
        seen: set[str] = set()
        for owner in self.ancestors(class_id):
            for attribute in self.classes[owner].attributes:
                if attribute.id not in seen:
                    seen.add(attribute.id)
                    yield Ref("Attribute", f"{owner}.{attribute.id}"), attribute

    def relations_from(self, class_id: str) -> tuple[Relation, ...]:
        """Return the relations whose source the class is or inherits."""
        line = set(self.ancestors(class_id))
        return tuple(one for one in self.ontology.relations if one.source in line)

    def table(self, class_id: str) -> ClassTable | None:
        """Return the class's table, or the nearest inherited one."""
        tables = (self.classes[owner].table for owner in self.ancestors(class_id))
        return next((table for table in tables if table is not None), None)


def _reached(start: str, following: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    found = {start: None}
    level = [start]
    while level:
        level = [one for id_ in level for one in following(id_) if one not in found]
        found.update(dict.fromkeys(level))
    return tuple(found)
