"""Tables of the ledger, in types that SQLite and PostgreSQL share, and a checksum beside each row of knowledge.

A database sees damage of its own structure, not a changed letter of a text; the projections would take that over. The
sum (CRC-32) is of all columns but the row's own number, NULL left out, so that a later version may add columns. It is
written with the row; rows of a ledger from before there were sums have none until they are written again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column

_OWN = {"id", "checksum"}


class Checked:
    """A table whose rows have a checksum."""

    checksum: Mapped[int | None] = mapped_column(
        sa.BigInteger, default=lambda insert: row_sum(insert.compiled.statement.table, insert.get_current_parameters())
    )


def row_sum(table: sa.FromClause, values: Mapping[str, Any] | sa.RowMapping) -> int:
    """Return the sum of a row given by column name; what is missing counts as NULL."""
    found = 0
    for name, heading, is_float in _summed(table):
        if (value := values.get(name)) is None:
            continue
        if is_float:
            value = float(value)
        # A number as JSON has it: for each, an encoder would be made.
        content = value if isinstance(value, bytes) else (str(value) if type(value) is int else _json(value)).encode()
        found = crc32(content, crc32(heading, found))
    return found


_json = json.JSONEncoder(sort_keys=True).encode


@cache
def _summed(table: sa.FromClause) -> list[tuple[str, bytes, bool]]:
    """Return the columns that a sum is of, with what stands for each in it, and whether they hold floats."""
    columns = [column for column in table.columns if column.name not in _OWN]
    return [(column.name, column.name.encode(), isinstance(column.type, sa.Float)) for column in columns]


SCHEMA_VERSION = 7
"""1 had token vectors as int8; 2 has token codes; 3 the tables of the service; 4 keys in simplified Chinese; 5 the
place of notes in their documents; 6 when documents were written; 7 checksums of rows."""

_ROW = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite numbers rows by itself only when the key is exactly INTEGER."""
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Ordered by code points, as SQLite does it: the order of a list must not depend on a server's language."""

Long = Annotated[int, mapped_column(sa.BigInteger)]
"""An integer that may need more than 32 bits: a sequence number, or milliseconds since 1970."""


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {  # noqa: RUF012
        str: _TEXT,
        list[str]: sa.JSON,
        dict[str, Any]: sa.JSON,
        dict[str, float]: sa.JSON,
        dict[str, int]: sa.JSON,
    }

    @declared_attr.directive
    def __tablename__(cls) -> str:  # noqa: N805
        """The name of the class in small letters: `note_vector` for NoteVector."""
        return "".join(f"_{letter}" if letter.isupper() else letter for letter in cls.__name__).lower()[1:]


class Numbered(Base):
    """Base of those whose rows have numbers, given by the database."""

    __abstract__ = True

    id: Mapped[int] = mapped_column(_ROW, primary_key=True, sort_order=-1)


def row_of(table: str) -> sa.ForeignKey:
    """Return the reference to a row of another table, with which this one is deleted."""
    return sa.ForeignKey(f"{table}.id", ondelete="CASCADE")


class Meta(Base):
    """Numbers about the ledger itself: `schema_version`, the last `sequence` given out, and its `identity`."""

    key: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[Long]


class Document(Checked, Numbered):
    """A document as the source gave it."""

    __table_args__ = (sa.UniqueConstraint("tenant", "document_id"),)

    tenant: Mapped[str]
    document_id: Mapped[str]
    title: Mapped[str]
    source: Mapped[str]
    content_hash: Mapped[str]
    aliases: Mapped[list[str]]
    properties: Mapped[dict[str, Any]]
    """The metadata (a name that SQLAlchemy keeps for itself)."""
    text: Mapped[str]
    written_at: Mapped[str | None]
    """ISO 8601 in UTC."""


class Note(Checked, Numbered):
    """A paragraph-sized piece of a document."""

    __table_args__ = (sa.UniqueConstraint("tenant", "note_id"),)

    document: Mapped[int] = mapped_column(row_of("document"), index=True)
    tenant: Mapped[str]
    note_id: Mapped[str]
    ordinal: Mapped[int]
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    language: Mapped[str]
    text: Mapped[str]
    section: Mapped[list[str]] = mapped_column(server_default="[]")
    kind: Mapped[str] = mapped_column(server_default="paragraph")
    lead: Mapped[str] = mapped_column(server_default="")


class NoteVector(Checked, Base):
    """A note's vectors in one space."""

    __table_args__ = (sa.Index("ix_note_vector_space", "space", "note"),)

    note: Mapped[int] = mapped_column(row_of("note"), primary_key=True)
    space: Mapped[str] = mapped_column(primary_key=True)
    dimension: Mapped[int]
    vector: Mapped[bytes]
    """float32, little endian, shape (dimension,)."""
    token_ids: Mapped[bytes | None]
    """uint16 or, where an id is larger, uint32, little endian, shape (n,)."""
    token_codes: Mapped[bytes | None]
    """uint8, shape (n, CODE_BYTES) of theworld.stores.token_codes."""


class Entity(Checked, Numbered):
    """Something that notes name, known by its key."""

    __table_args__ = (sa.UniqueConstraint("tenant", "key"),)

    tenant: Mapped[str]
    key: Mapped[str]
    label: Mapped[str]
    type: Mapped[str]
    qid: Mapped[str | None]


class Alias(Checked, Base):
    """A name of a document: its title or an alias, and the entity it stands for."""

    document: Mapped[int] = mapped_column(row_of("document"), primary_key=True)
    entity: Mapped[int] = mapped_column(row_of("entity"), primary_key=True, index=True)
    name: Mapped[str]


class Mention(Checked, Numbered):
    """A typed mention of an entity in a note."""

    note: Mapped[int] = mapped_column(row_of("note"), index=True)
    entity: Mapped[int] = mapped_column(row_of("entity"), index=True)
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    surface: Mapped[str]
    type: Mapped[str]
    titled: Mapped[bool]


class GraphNode(Checked, Numbered):
    """A node of the ontology graph."""

    __table_args__ = (sa.UniqueConstraint("tenant", "kind", "key"),)

    tenant: Mapped[str]
    kind: Mapped[str]
    key: Mapped[str]
    label: Mapped[str]
    properties: Mapped[dict[str, Any]]
    document: Mapped[int | None] = mapped_column(row_of("document"), index=True)


class GraphEdge(Checked, Numbered):
    """An edge of the ontology graph; `parts` keeps what its weight was mixed from."""

    __table_args__ = (sa.UniqueConstraint("source", "target", "kind"),)

    source: Mapped[int] = mapped_column(row_of("graph_node"))
    target: Mapped[int] = mapped_column(row_of("graph_node"), index=True)
    kind: Mapped[str]
    weight: Mapped[float]
    parts: Mapped[dict[str, float]]
    document: Mapped[int | None] = mapped_column(row_of("document"), index=True)


class Change(Checked, Base):
    """The last change of each note ever seen; a removed note keeps its row, so that projections learn of it."""

    __table_args__ = (sa.UniqueConstraint("tenant", "note_id"),)

    sequence: Mapped[Long] = mapped_column(primary_key=True, autoincrement=False)
    tenant: Mapped[str]
    note_id: Mapped[str]
    document_id: Mapped[str]
    removed: Mapped[bool]
