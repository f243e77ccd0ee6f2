"""Small things that reading and writing share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from sqlalchemy import Connection, insert, select, update

from theworld.stores.ledger.models import Meta

BATCH = 500
"""Ids in one IN list; well below every engine's limit."""

T = TypeVar("T")


def batches(items: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield consecutive slices of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def read_number(connection: Connection, key: str) -> int | None:
    """Return a number of the meta table, None when it is not there."""
    return connection.scalar(select(Meta.number).where(Meta.key == key))


def set_number(connection: Connection, key: str, number: int) -> None:
    """Write a number of the meta table."""
    if connection.execute(update(Meta).where(Meta.key == key).values(number=number)).rowcount == 0:
        connection.execute(insert(Meta).values(key=key, number=number))
