"""Small things that reading and writing share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, insert, select, update

from theworld.stores.ledger.models import Base, Meta

BATCH = 500
"""Ids in one IN list; well below every engine's limit."""

T = TypeVar("T")


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield consecutive slices of at most BATCH items."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def insert_rows(connection: Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, of which there may be none."""
    if rows:
        connection.execute(insert(table), rows)


def insert_numbered(connection: Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> list[int]:
    """Insert rows and return the number of each."""
    if not rows:
        return []
    statement = insert(table).returning(table.__table__.c.id, sort_by_parameter_order=True)
    return list(connection.scalars(statement, rows))


def read_number(connection: Connection, key: str) -> int | None:
    """Return a number of the meta table, None when it is not there."""
    return connection.scalar(select(Meta.number).where(Meta.key == key))


def set_number(connection: Connection, key: str, number: int) -> None:
    """Write a number of the meta table."""
    if connection.execute(update(Meta).where(Meta.key == key).values(number=number)).rowcount == 0:
        connection.execute(insert(Meta).values(key=key, number=number))
