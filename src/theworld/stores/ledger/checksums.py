"""A checksum beside each row of knowledge, by which a bit that flipped in the ledger's file is noticed.

A database sees damage of its own structure, not a changed letter of a text; the projections would take that over. The
sum (CRC-32) is of all columns but the row's own number, NULL left out, so that a later version may add columns. It is
written with the row; rows of a ledger from before there were sums have none until they are written again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from sqlalchemy import BigInteger, Connection, Float, FromClause, MetaData, RowMapping, select
from sqlalchemy.orm import Mapped, mapped_column

from theworld.errors import StoreError

_OWN = {"id", "checksum"}
_NAMES = ("note_id", "document_id", "key", "surface", "name", "space", "kind")
"""Columns by the first of which a message names a row."""
_PAGE = 1000


def _sum_of_insert(context: Any) -> int:
    """Return the sum of the row that SQLAlchemy is about to insert."""
    return row_sum(context.compiled.statement.table, context.get_current_parameters())


class Checked:
    """A table whose rows have a checksum."""

    checksum: Mapped[int | None] = mapped_column(BigInteger, default=_sum_of_insert)


def row_sum(table: FromClause, values: Mapping[str, Any] | RowMapping) -> int:
    """Return the sum of a row given by column name; what is missing counts as NULL."""
    found = 0
    for column in table.columns:
        value = values.get(column.name)
        if value is None or column.name in _OWN:
            continue
        if isinstance(column.type, Float):
            value = float(value)
        content = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
        found = crc32(content, crc32(column.name.encode(), found))
    return found


def check_rows(connection: Connection, metadata: MetaData, where: str) -> None:
    """Read all rows that have a sum; raises StoreError naming the first that is no longer as it was written."""
    for table in (table for table in metadata.sorted_tables if "checksum" in table.columns):
        rows = connection.execution_options(yield_per=_PAGE).execute(select(table))
        for row in rows.mappings():
            if row["checksum"] not in (None, row_sum(table, row)):
                name = next(row[key] for key in _NAMES if key in row)
                raise StoreError(
                    f"the ledger is damaged: {table.name} {name!r} is not as it was written.",
                    where=where,
                    remedy="Restore a backup, or ingest into a new store.",
                )
