"""The service's part of the ledger: opened for writing beside the writers of documents, in any number of processes.

Requests, jobs and keys are no knowledge, so they take no part in the sequence and need no writer lock; every write is
one short transaction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Executable, Select

from theworld.settings import LedgerSettings, Settings
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.opening import open_database

T = TypeVar("T")


class ServiceLedger:
    """Transactions over the service's tables. Thread-safe; errors of the database come as StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reading, self.lock_alone, self.close = database.reading, database.lock_alone, database.close

    @classmethod
    def open(cls, store: Path, settings: LedgerSettings | None = None) -> Self:
        """Open the ledger of a store: in its folder, or on the server that the settings name.

        Raises StoreError when there is no ledger or it cannot be written.
        """
        return cls(open_database(store, settings, writable=True))

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Open the ledger of the store that the settings name; see `open`."""
        return cls.open(settings.store, settings.ledger_server)

    def writing(self) -> AbstractContextManager[Connection]:
        """Enter one transaction; a failed one leaves nothing."""
        return self._database.writing(())

    def rows(self, query: Select[*tuple[Any, ...]]) -> Sequence[Any]:
        """Return what a query finds."""
        with self.reading() as connection:
            return connection.execute(query).all()

    def row(self, query: Select[*tuple[Any, ...]]) -> Any:
        """Return the one row that a query finds, None when there is none."""
        with self.reading() as connection:
            return connection.execute(query).one_or_none()

    def value(self, query: Select[T]) -> T | None:
        """Return the first value that a query finds, None when there is none."""
        with self.reading() as connection:
            return connection.scalar(query)

    def execute(self, *statements: Executable) -> int:
        """Execute statements in one transaction; return how many rows the first has changed."""
        with self.writing() as connection:
            first, *_ = [connection.execute(statement) for statement in statements]
            return int(first.rowcount)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
