"""What the ledger's role may do on its server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import text

from theworld.doctor.finding import Finding, Status
from theworld.stores.ledger.database import Database

_ROLE = text("SELECT current_user, has_schema_privilege(to_regnamespace(:schema), 'USAGE')")
_TABLES = text(
    "SELECT relname, has_table_privilege(oid, 'SELECT'), has_table_privilege(oid, 'INSERT') AND "
    "has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE') "
    "FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(:schema) ORDER BY relname"
)
_SEQUENCES = text(
    "SELECT relname, has_sequence_privilege(oid, 'USAGE') "
    "FROM pg_class WHERE relkind = 'S' AND relnamespace = to_regnamespace(:schema) ORDER BY relname"
)
_GRANT = "As the owner: GRANT {} TO {}; docs/postgresql.md lists all rights."


def check_rights(database: Database, schema: str) -> Finding | None:
    """Look whether this role may use the schema and read its tables, and whether it may write; None without tables."""
    with database.reading() as connection:
        role, usable = connection.execute(_ROLE, {"schema": schema}).one()
        tables = connection.execute(_TABLES, {"schema": schema}).all()
        sequences = connection.execute(_SEQUENCES, {"schema": schema}).all()
    if usable is None or not tables:
        return None
    closed = [name for name, readable, _ in tables if not readable]
    locked = [name for name, _, writable in tables if not writable]
    without = [name for name, drawable in sequences if not drawable]
    reads_only, everything = len(locked) == len(tables), f"IN SCHEMA {schema}"
    lacking: tuple[tuple[bool, Status, str, str], ...] = (
        (not usable, "failed", f"may not use the schema {schema}", f"USAGE ON SCHEMA {schema}"),
        (bool(closed), "failed", f"may not read {_named(closed)}", f"SELECT ON ALL TABLES {everything}"),
        (
            bool(locked) and not reads_only,
            "warning",
            f"may write some tables, not {_named(locked)}",
            f"INSERT, UPDATE, DELETE ON ALL TABLES {everything}",
        ),
        (
            bool(without) and not reads_only,
            "warning",
            f"may write, but not draw numbers from {_named(without)}",
            f"USAGE ON ALL SEQUENCES {everything}",
        ),
    )
    facts: dict[str, Any] = {"role": role, "writes": usable and not locked and not without}
    for lacks, status, said, grant in lacking:
        if lacks:
            return Finding("rights", status, f"role {role} {said}", _GRANT.format(grant, role), facts)
    return Finding("rights", "ok", f"role {role} may read{', not write' if reads_only else ' and write'}", facts=facts)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
