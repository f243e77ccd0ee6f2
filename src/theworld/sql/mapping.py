"""What of a database may be asked for: tables, columns and joins, taken from an ontology and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from theworld.ontology import Attribute, ClassTable, Lookup, Ontology, Relation


class Join(NamedTuple):
    """One way from a class's table to another's: the relation, its tables and key columns."""

    relation: str
    """Id of the relation."""
    source: str
    """Class it leads from."""
    target: str
    """Class it leads to."""
    source_column: str
    """Column of the source's table, or of the table between, that the target side is found by."""
    target_column: str
    """Column of the target's table that it equals."""
    link: str | None = None
    """Table between the two, None when a column of one of the tables holds the other's key."""
    link_source: str = ""
    """Column of the table between that holds the source's key."""
    link_target: str = ""
    """Column of the table between that holds the target's key."""
    forward: bool = True
    """False when the relation is read from its target to its source."""


@dataclass(frozen=True)
class MappedTable:
    """A table and the only columns of it that may be read."""

    name: str
    columns: tuple[str, ...]
    """Mapped columns; the tenant's is not among them."""
    keys: frozenset[str]
    """Columns that joins may compare."""
    tenant: str | None
    """Column that says whose row it is."""


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

    def __bool__(self) -> bool:
        """Whether anything is mapped."""
        return bool(self.classes)

    def attributes(self, class_id: str) -> dict[str, Attribute]:
        """Return the attributes of a class that have a column, inherited ones included, by id."""
        return {attribute.id: attribute for _, attribute in self.lookup.attributes(class_id) if attribute.column}

    @cached_property
    def joins(self) -> tuple[Join, ...]:
        """Every mapped relation, read both ways."""
        return tuple(join for relation in self.lookup.relations.values() for join in self._joins_of(relation))

    def _joins_of(self, relation: Relation) -> Iterator[Join]:
        join, source, target = relation.join, relation.source, relation.target
        if join is None or source not in self.classes or target not in self.classes:
            return
        source_key, target_key = self.classes[source].key, self.classes[target].key
        if join.column is not None:
            yield Join(relation.id, source, target, join.column, target_key)
            yield Join(relation.id, target, source, target_key, join.column, forward=False)
            return
        link, first, second = join.table or "", join.source_key or "", join.target_key or ""
        yield Join(relation.id, source, target, source_key, target_key, link, first, second)
        yield Join(relation.id, target, source, target_key, source_key, link, second, first, forward=False)

    @cached_property
    def tables(self) -> Mapping[str, MappedTable]:
        """Every table that may be read, by name."""
        columns: dict[str, dict[str, None]] = {}
        keys: dict[str, set[str]] = {}
        tenants: dict[str, str] = {}
        for class_id, table in self.classes.items():
            shown = [table.key, table.label.zh, table.label.en, table.given, table.time, *table.counts]
            shown += [c for a in self.attributes(class_id).values() for c in (a.column, *a.times, a.less)]
            columns.setdefault(table.name, {}).update(dict.fromkeys(c for c in shown if c))
            keys.setdefault(table.name, set()).add(table.key)
            if table.tenant:
                tenants[table.name] = table.tenant
        for relation in self.lookup.relations.values():
            join, source = relation.join, self.classes.get(relation.source)
            if join is None or source is None or relation.target not in self.classes:
                continue
            name = join.table or source.name
            found = [c for c in (join.column, join.source_key, join.target_key) if c]
            columns.setdefault(name, {}).update(dict.fromkeys([*found, *([join.time] if join.time else [])]))
            keys.setdefault(name, set()).update(found)
            if join.table and join.tenant:
                tenants[name] = join.tenant
        return {
            name: MappedTable(
                name,
                tuple(c for c in columns[name] if c != tenants.get(name)),
                frozenset(keys.get(name, ())),
                tenants.get(name),
            )
            for name in columns
        }


def is_measure(attribute: Attribute) -> bool:
    """Return whether numbers of an attribute can be put together."""
    return attribute.type in {"number", "integer"} and attribute.aggregation is not None
