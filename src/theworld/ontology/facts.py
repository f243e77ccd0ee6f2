"""What the samples of an ontology have to do with each other, ready to be asked by either end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from typing import Literal, NamedTuple

from theworld.ontology.lookup import Lookup

End = Literal["source", "target"]
"""One end of a relation."""
OTHER: Mapping[End, End] = {"source": "target", "target": "source"}


class Fact(NamedTuple):
    """One relation between two samples, by their ids."""

    source: str
    relation: str
    target: str


class Facts:
    """Every fact of an ontology's samples; symmetric relations hold both ways."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._targets: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        self._sources: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        self._between: dict[frozenset[str], list[Fact]] = defaultdict(list)
        self._near: dict[str, set[str]] = defaultdict(set)
        kinds: dict[frozenset[str], set[str]] = defaultdict(set)
        stated = (
            Fact(sample.id, relation, target)
            for sample in lookup.ontology.samples
            for relation, targets in sample.facts.items()
            for target in targets
        )
        for fact in stated:
            self._targets[fact.relation, fact.source].append(fact)
            self._sources[fact.relation, fact.target].append(fact)
            self._between[frozenset((fact.source, fact.target))].append(fact)
            self._near[fact.source].add(fact.target)
            self._near[fact.target].add(fact.source)
            kinds[frozenset(lookup.samples[id_].of for id_ in (fact.source, fact.target))].add(fact.relation)
        self._only = {pair: next(iter(ids)) for pair, ids in kinds.items() if len(ids) == 1}

    def at(self, end: End, relation: str, other: str) -> list[tuple[str, Fact]]:
        """Return the samples at one end of a relation that has `other` at its other end, each with the fact."""
        if end == "source":
            found = [(fact.source, fact) for fact in self._sources.get((relation, other), ())]
        else:
            found = [(fact.target, fact) for fact in self._targets.get((relation, other), ())]
        if self._lookup.relations[relation].symmetric:
            mirrored = self._targets if end == "source" else self._sources
            both = mirrored.get((relation, other), ())
            found += [(fact.target if end == "source" else fact.source, fact) for fact in both]
        return list(dict(found).items())

    def between(self, one: str, other: str) -> tuple[Fact, ...]:
        """Return all facts of two samples with each other."""
        return tuple(self._between.get(frozenset((one, other)), ()))

    def near(self, sample: str) -> Set[str]:
        """Return the samples that have any fact with one."""
        return self._near.get(sample, frozenset())

    def tied(self, other: str) -> list[tuple[str, Fact]]:
        """Return the samples that state a fact about `other` by the only relation between their classes."""
        facts = (fact for one in sorted(self.near(other)) for fact in self.between(one, other) if fact.target == other)
        of = {one: sample.of for one, sample in self._lookup.samples.items()}
        return [(f.source, f) for f in facts if self.only_relation(of[f.source], of[f.target]) == f.relation]

    def by_class(self, class_id: str, other: str) -> list[tuple[str, Fact]]:
        """Return the samples of a class that have a fact with `other`, where their classes have only one relation."""
        relation = self.only_relation(class_id, self._lookup.samples[other].of)
        if relation is None:
            return []
        ends: tuple[End, End] = ("source", "target")
        found = [pair for end in ends for pair in self.at(end, relation, other)]
        return [(id_, fact) for id_, fact in dict(found).items() if self._lookup.samples[id_].of == class_id]

    def only_relation(self, one: str, other: str) -> str | None:
        """Return the relation between samples of two different classes, None where there are several or none."""
        return self._only.get(frozenset((one, other))) if one != other else None
