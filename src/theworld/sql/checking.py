"""Whether the mapping fits the live database: every mapped table and column is there."""

from __future__ import annotations

from collections.abc import Mapping

from theworld.errors import DatabaseError
from theworld.sql.mapping import DatabaseMapping, MappedTable


def find_mismatches(tables: Mapping[str, MappedTable], live: Mapping[str, frozenset[str]]) -> list[str]:
    """Return what the mapping names and the database does not have, one sentence each."""
    known = {name.casefold(): frozenset(c.casefold() for c in columns) for name, columns in live.items()}
    found = []
    for name, table in tables.items():
        columns = known.get(name.casefold())
        if columns is None:
            found.append(f"there is no table {name}")
            continue
        wanted = [*table.columns, *([table.tenant] if table.tenant else [])]
        found += [f"table {name} has no column {column}" for column in wanted if column.casefold() not in columns]
    return found


def find_loose_joins(mapping: DatabaseMapping) -> list[str]:
    """Return the relations with a `join` that cannot be followed, since a class has no table, one sentence each."""
    return [
        f"the join of {relation.id} is on {class_id}, which has no table"
        for relation in mapping.lookup.relations.values()
        for class_id in (relation.source, relation.target)
        if relation.join is not None and class_id not in mapping.classes
    ]


def check_mapping(mapping: DatabaseMapping, live: Mapping[str, frozenset[str]], *, where: str) -> None:
    """Raise DatabaseError naming everything that is missing, in the database or in the mapping."""
    found = [*find_mismatches(mapping.tables, live), *find_loose_joins(mapping)]
    if found:
        remedy = "Fix `table`, `column` or `join` in the ontology file, or the database."
        raise DatabaseError(f"it does not fit its mapping: {'; '.join(found)}", where=where, remedy=remedy)
