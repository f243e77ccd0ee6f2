"""What of a database may be asked for: tables, columns and joins, taken from an ontology; and the ways over them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from theworld.errors import DatabaseError
from theworld.ontology import Attribute, ClassTable, Lookup, Ontology, Relation
from theworld.ontology.model import RelationJoin
from theworld.packages import load_table
from theworld.text.tokens import Language

PEOPLE: Mapping[str, list[str]] = load_table("theworld.sql", "data/glossary.yaml")["people"]
"""What people are called, by what they do: served, serving, others."""
MOST_STEPS = 3
"""Relations of the longest way between two classes."""


class Join(NamedTuple):
    """One way from a class's table to another's: the relation, its tables and key columns."""

    relation: str
    source: str
    target: str
    source_column: str
    """Column of the source's table, or of the table between, that the target side is found by."""
    target_column: str
    """Column of the target's table that it equals."""
    link: str | None = None
    """Table between the two, None when a column of one of the tables holds the other's key."""
    link_source: str = ""
    link_target: str = ""
    """Its columns that hold the keys of the two."""
    forward: bool = True
    """False when the relation is read from its target to its source."""

    @property
    def single(self) -> bool:
        """Whether every source has at most one target: a column of the source's table holds its key."""
        return self.forward and self.link is None


Path = tuple[Join, ...]
"""Relations from a class to another."""


@dataclass(frozen=True)
class MappedTable:
    """A table and the only columns of it that may be read."""

    name: str
    columns: tuple[str, ...]
    """The tenant's is not among them."""
    keys: frozenset[str]
    """Columns that joins may compare."""
    tenant: str | None
    """Column that says whose row it is."""
    stamps: Mapping[str, int] = field(default_factory=dict)  # dates since 1970, with units in a second


class DatabaseMapping:
    """The mapped part of a database, by class and by table."""

    def __init__(self, ontology: Ontology) -> None:
        self.lookup = Lookup(ontology)
        self.classes: dict[str, ClassTable] = {
            id_: one.table for id_, one in self.lookup.classes.items() if one.table is not None
        }
        self.unmapped: frozenset[str] = frozenset(
            id_ for id_ in self.lookup.classes if id_ not in self.classes and self.lookup.table(id_) is not None
        )
        """Classes that inherit a table and do not say which of its rows are theirs: never read as all of them."""
        self.attributes: Mapping[str, Mapping[str, Attribute]] = {
            class_id: {one.id: one for _, one in self.lookup.attributes(class_id) if one.column}
            for class_id in self.classes
        }
        """The attributes of each class that have a column, inherited ones included, by id."""
        self.people: frozenset[str] = frozenset(
            class_id
            for class_id, table in self.classes.items()
            if table.given is not None
            or "姓名" in f"{table.label.zh} {table.label.en}"
            or any(self.called(class_id, words) for words in PEOPLE.values())
        )
        """The classes whose rows have a first name, are named by people's names (姓名), or are called so (member)."""
        self.measures = {class_id: [*filter(is_measure, own.values())] for class_id, own in self.attributes.items()}
        self.relations: list[tuple[Relation, RelationJoin]] = [
            (one, one.join)
            for one in self.lookup.relations.values()
            if one.join is not None and one.source in self.classes and one.target in self.classes
        ]
        """The relations that are mapped, as are their two classes."""
        self._order = {relation: i for i, relation in enumerate(self.lookup.relations)}

    def attribute(self, name: str) -> Attribute:
        """Return the attribute that `class.attribute` or `class.attribute=value` names."""
        class_id, _, rest = name.partition(".")
        return self.attributes[class_id][rest.partition("=")[0]]

    def called(self, class_id: str, words: Iterable[str]) -> bool:
        """Return whether a class is called by one of the words."""
        return not set(self.lookup.classes[class_id].labels.all()).isdisjoint(words)

    def name(self, class_id: str, language: Language) -> str:
        """Return what a class is called."""
        return self.lookup.classes[class_id].labels.preferred(language)

    def names_in(self, language: Language) -> dict[str, str]:
        """Return what classes and attributes are called in a language, by their ids and their English names."""
        attributes = (attribute for own in self.attributes.values() for attribute in own.values())
        parts = [*(self.lookup.classes[class_id] for class_id in self.classes), *attributes]
        names = {part.labels.preferred("en"): part.labels.preferred(language) for part in parts}
        return names | {part.id: part.labels.preferred(language) for part in parts}

    @cached_property
    def named(self) -> frozenset[str]:
        """The classes whose rows have names."""
        return frozenset(id_ for id_, table in self.classes.items() if table.label.zh or table.label.en)

    @cached_property
    def joins(self) -> Mapping[str, tuple[Join, Join]]:
        """Every mapped relation, read forward and back."""
        found = {}
        for relation, join in self.relations:
            source, target = relation.source, relation.target
            here, there = join.column or self.classes[source].key, self.classes[target].key
            first, second = join.source_key or "", join.target_key or ""  # of the table between, where there is one
            forward = Join(relation.id, source, target, here, there, join.table, first, second)
            back = Join(relation.id, target, source, there, here, join.table, second, first, forward=False)
            found[relation.id] = forward, back
        return found

    @cached_property
    def tables(self) -> Mapping[str, MappedTable]:
        """Every table that may be read, by name."""
        columns: defaultdict[str, dict[str, None]] = defaultdict(dict)
        keys: defaultdict[str, set[str]] = defaultdict(set)
        tenants: dict[str, str | None] = {}
        for class_id, table in self.classes.items():
            shown = [table.key, table.label.zh, table.label.en, table.given, table.time, *table.counts]
            shown += [c for a in self.attributes[class_id].values() for c in (a.column, *a.times, a.less, a.since)]
            columns[table.name].update(dict.fromkeys(c for c in shown if c))
            keys[table.name].add(table.key)
            tenants[table.name] = table.tenant or tenants.get(table.name)
        for relation, join in self.relations:
            name = join.table or self.classes[relation.source].name
            found = [c for c in (join.column, join.source_key, join.target_key) if c]
            columns[name].update(dict.fromkeys(c for c in (*found, join.time) if c))
            keys[name].update(found)
            tenants[name] = join.tenant or tenants.get(name)
        shown_of = {name: tuple(c for c in own if c != tenants[name]) for name, own in columns.items()}
        return {
            name: MappedTable(name, own, frozenset(keys[name]), tenants[name], self._stamps(name))
            for name, own in shown_of.items()
        }

    def _stamps(self, table: str) -> Mapping[str, int]:
        own = (one for id_, its in self.classes.items() if its.name == table for one in self.attributes[id_].values())
        return {one.column: unit for one in own if one.column and (unit := one.per_second)}

    @property
    def tenants(self) -> tuple[str, ...]:
        """The columns that say to which tenant alone a row is shown, each with its table."""
        return tuple(f"{name}.{table.tenant}" for name, table in self.tables.items() if table.tenant is not None)

    def check(self, live: Iterable[tuple[str, str]], *, where: str) -> None:
        """Raise DatabaseError naming what is missing: a table or column, or the table of a join's class.

        `live` are the tables that there are, each with each of its columns.
        """
        known: defaultdict[str, set[str]] = defaultdict(set)
        for name, column in live:
            known[name.casefold()].add(column.casefold())
        found = []
        for name, table in self.tables.items():
            columns, wanted = known.get(name.casefold()), filter(None, (*table.columns, table.tenant))
            if columns is None:
                found.append(f"there is no table {name}")
            else:
                found += [f"table {name} has no column {c}" for c in wanted if c.casefold() not in columns]
        found += [
            f"the join of {relation.id} is on {class_id}, which has no table"
            for relation in self.lookup.relations.values()
            for class_id in (relation.source, relation.target)
            if relation.join is not None and class_id not in self.classes
        ]
        if found:
            remedy = "Fix `table`, `column` or `join` in the ontology file, or the database."
            raise DatabaseError(f"it does not fit its mapping: {'; '.join(found)}", where=where, remedy=remedy)

    def steps(self, class_id: str) -> list[Join]:
        """Return the mapped relations that lead from a class or what it inherits."""
        line = set(self.lookup.ancestors(class_id))
        return [join for both in self.joins.values() for join in both if join.source in line]

    def path(self, start: str, goal: str, *, via: Collection[str] = (), single: bool = False) -> Path | None:
        """Return the best path from a class to another, the first of `paths`; None where there is none."""
        return next(iter(self.paths(start, goal, via=via, single=single)), None)

    def paths(self, start: str, goal: str, *, via: Collection[str] = (), single: bool = False) -> list[Path]:
        """Return the paths from a class to another, within three steps, than which none is better.

        Steps with one target come before others, ways over what the question mentions (`via`: relations and classes)
        before those that do not, what leads to both before what both belong to, then shorter ones; they stand in the
        order of the relations in the ontology: the first relation of a class is its primary one. Relations between
        instances of one class are never walked, tables between two only where they are mentioned or nothing else leads
        there. `single` allows steps with one target only.
        """
        if start == goal:
            return [()]

        def ways(class_id: str, path: Path, seen: frozenset[str], *, linked: bool) -> Iterator[Path]:
            for join in self.steps(class_id):
                if join.target in seen or join.source == join.target:
                    continue
                if join.link and join.relation not in via and not linked:
                    continue
                if not join.single and (single or any(not step.single for step in path)):
                    continue
                longer = (*path, join)
                if goal in self.lookup.ancestors(join.target):
                    yield longer
                elif len(longer) < MOST_STEPS:
                    yield from ways(join.target, longer, seen | {join.target}, linked=linked)

        def cost(path: Path) -> tuple[int, int, bool, int]:
            met = {step.relation for step in path} | {step.target for step in path[:-1]}
            several, siblings = _to_many(path)
            return several, -len(met & set(via)), siblings, len(path)

        found = list(ways(start, (), frozenset({start}), linked=False))
        if not found and not single:
            found = list(ways(start, (), frozenset({start}), linked=True))
        least = min(map(cost, found), default=None)
        best = [path for path in found if cost(path) == least]
        return sorted(best, key=lambda path: [self._order[step.relation] for step in path])

    def ways(self, start: str, needs: Iterable[Collection[str]]) -> list[list[Path]] | None:
        """Return the ways over steps with one target from a class to one of each of others; None where one has none."""
        ways = [[self.path(start, one, single=True) for one in sorted(goals)] for goals in needs]
        found = [[way for way in some if way is not None] for some in ways]
        return found if all(found) else None

    def event_of(
        self, classes: Iterable[str], needs: Iterable[Collection[str]] = (), dated: Collection[str] = ()
    ) -> str | None:
        """Return the class of what happens whose rows belong to one of each of the classes; None for none, or several.

        One whose rows belong to those of another (payments of orders) comes after it. `needs` are further classes, of
        one of each of which the rows are; `dated` those that may say when it happened, all where there are none.
        """
        wanted = [*({one} for one in classes), *needs]
        found: dict[str, set[str]] = {}
        for event in self.classes:
            when, ways = self.happens(event), self.ways(event, wanted)
            if when and (when in dated or not dated) and ways is not None:
                found[event] = {join.target for some in ways for way in some for join in way}
        nearest = [event for event, passed in found.items() if not passed & {*found}]
        return nearest[0] if len(nearest) == 1 else None

    def over(self, event: str, start: str, goal: str) -> Path:
        """Return the way from a class to what happens to its rows, and on to another class that this belongs to."""
        back = self.path(event, start, single=True) or ()
        return (*(self.joins[join.relation][1] for join in back[::-1]), *(self.path(event, goal, single=True) or ()))

    def happens(self, class_id: str) -> str | None:
        """Return the class that says when rows happen: their own, else the one that they are lines of."""
        if self.classes[class_id].time is not None:
            return class_id
        targets = {j.target for j in self.steps(class_id) if j.single and self.classes[j.target].time is not None}
        if len(targets) > 1:  # the line of an order happens with it, not with its product, which has a name
            targets -= self.named
        return targets.pop() if len(targets) == 1 else None

    def belongs_by(self, class_id: str) -> str | None:
        """Return the column by which instances of a class belong to others of it (a city to a district)."""
        table = self.classes[class_id].name
        own = (j for j in self.steps(class_id) if j.single and j.source == j.target)
        own = (j for j in own if self.classes[j.source].name == table and self.lookup.relations[j.relation].contains)
        return next((join.source_column for join in own), None)


def _to_many(path: Path) -> tuple[int, bool]:
    """Return how many steps have many targets, and whether one is to others of one parent: not enrolled, but taught."""
    return sum(not step.single for step in path), any(a.single and not b.single for a, b in pairwise(path))


def leads_to_many(path: Path) -> bool:
    """Return whether a row belongs to several of another class at the end of a path, or on the way."""
    return not all(step.single or step.source == step.target for step in path)


def is_measure(attribute: Attribute) -> bool:
    """Return whether numbers of an attribute can be put together."""
    return attribute.type in {"number", "integer"} and attribute.aggregation is not None
