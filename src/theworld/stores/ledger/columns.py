"""The shapes of columns that all tables share, in types that SQLite and PostgreSQL both have."""

from __future__ import annotations

from typing import Annotated, Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Integer, Text
from sqlalchemy.orm import DeclarativeBase, mapped_column

_ROW = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only when the key is exactly INTEGER."""
_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Ordered by code points, as SQLite does it: the order of a list must not depend on a server's language."""

RowKey = Annotated[int, mapped_column(_ROW, primary_key=True)]
"""Number of a row, given by the database."""
Long = Annotated[int, mapped_column(BigInteger)]
"""An integer that may need more than 32 bits: a sequence number, or milliseconds since 1970."""


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {  # noqa: RUF012
        str: _TEXT,
        list[str]: JSON,
        dict[str, Any]: JSON,
        dict[str, float]: JSON,
        dict[str, int]: JSON,
    }


def row_of(table: str) -> ForeignKey:
    """Return the reference to a row of another table, with which this one is deleted."""
    return ForeignKey(f"{table}.id", ondelete="CASCADE")
