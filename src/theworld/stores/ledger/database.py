"""What a ledger needs of its database, SQLite or PostgreSQL, and small statements that reading and writing share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, Select, insert
from sqlalchemy.orm import InstrumentedAttribute

from theworld.stores.ledger.models import Base
from theworld.stores.records import is_text


class Database(AbstractContextManager["Database"]):
    """Transactions over the ledger's tables. Thread-safe; whatever goes wrong comes as a StoreError.

    The service's requests, jobs and keys are no knowledge: they take no part in the sequence, and `execute` writes them
    beside the writers of documents, each time in one short transaction of its own.
    """

    namespace: str | None
    """Name of the server's schema that the tables are in."""
    where: str
    """File or address, for people; never a password."""
    remote: bool
    """Whether it lies on a server, which may be out of reach and which others write to as well."""

    @abstractmethod
    def writing(self, tenants: Collection[str] | None = None) -> AbstractContextManager[Connection]:
        """Enter one transaction that writes; a failed one leaves nothing.

        No other transaction writes the knowledge of the same tenants meanwhile; None means all tenants, an empty
        collection none: rows that nobody else changes.
        """

    @abstractmethod
    def reading(self, *, patient: bool = True) -> AbstractContextManager[Connection]:
        """Enter a connection that sees one state of the tables; not `patient` while a query waits."""

    def glance(self, query: Select[Any]) -> Any:
        """Return the first value of a small query, as cheaply as can be (about 0.1 ms in a file); None without one."""
        with self.reading() as connection:
            return connection.scalar(query)

    def rows(self, query: Select[*tuple[Any, ...]]) -> Sequence[Any]:
        """Return what a query finds."""
        with self.reading() as connection:
            return connection.execute(query).all()

    def row(self, query: Select[*tuple[Any, ...]]) -> Any:
        """Return the one row that a query finds, None when there is none."""
        with self.reading() as connection:
            return connection.execute(query).one_or_none()

    def execute(self, *statements: Executable) -> int:
        """Execute statements about rows that nobody else changes in one transaction; return how many the first has."""
        with self.writing(()) as connection:
            first, *_ = [connection.execute(statement) for statement in statements]
            return int(first.rowcount)

    @abstractmethod
    def lock_alone(self, name: str) -> AbstractContextManager[bool]:
        """Enter with whether this process alone has the lock of that name on this ledger, without waiting for it."""

    def check(self, *, whole: bool = False) -> None:
        """Raise StoreError when the file is damaged; nothing to do where a server sees to it."""

    @abstractmethod
    def bytes(self) -> int:
        """Return the space that the tables take, with their indexes."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    def __exit__(self, *_error: object) -> None:
        self.close()


BATCH = 500
"""Ids in one IN list; well below every engine's limit."""
SEPARATOR = "\x1f"
"""In no name that is stored."""

T = TypeVar("T")


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield consecutive slices of at most BATCH items."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def found_in(
    connection: Connection, query: Select[*tuple[Any, ...]], column: InstrumentedAttribute[T], values: Sequence[T]
) -> Iterator[Any]:
    """Yield what a query finds where a column has one of any number of values."""
    for some in batches(values):
        yield from connection.execute(query.where(column.in_(some))).all()


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


def is_storable(text: str) -> bool:
    """Return whether databases can keep a text; nothing is found under one that they cannot."""
    return "\x00" not in text and is_text(text)


def findable(text: str) -> str:
    """Return a text to look for: one that databases cannot keep becomes one that is never stored."""
    return text if is_storable(text) else SEPARATOR
