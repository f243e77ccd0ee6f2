"""Whether the mapping fits the live database: every mapped table and column is there."""

from __future__ import annotations

from collections.abc import Mapping

from theworld.errors import DatabaseError
from theworld.sql.mapping import MappedTable


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


def check_mapping(tables: Mapping[str, MappedTable], live: Mapping[str, frozenset[str]], *, where: str) -> None:
    """Raise DatabaseError naming everything that is missing."""
    found = find_mismatches(tables, live)
    if found:
        remedy = "Mend `table`, `column` or `join` in the ontology file, or the database."
        raise DatabaseError(f"it does not fit its mapping: {'; '.join(found)}", where=where, remedy=remedy)
