"""What a ledger needs of its database; SQLite and PostgreSQL are the two there are."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlalchemy import Connection, Select


class Database(Protocol):
    """Transactions over the ledger's tables. Thread-safe; whatever goes wrong comes as a StoreError."""

    namespace: str | None
    """Name of the server's schema that the tables are in."""

    @property
    def where(self) -> str:
        """File or address, for people; never a password."""

    @property
    def remote(self) -> bool:
        """Whether it lies on a server, which may be out of reach and which others write to as well."""

    def writing(self, tenants: Collection[str] | None = None) -> AbstractContextManager[Connection]:
        """Enter one transaction that writes; a failed one leaves nothing.

        No other transaction writes the knowledge of the same tenants meanwhile; None means all tenants, an empty
        collection none: rows that nobody else changes.
        """

    def reading(self, *, patient: bool = True) -> AbstractContextManager[Connection]:
        """Enter a connection that sees one state of the tables; not `patient` while a query waits."""

    def glance(self, query: Select[Any]) -> Any:
        """Return the one value of a small query, as cheaply as can be; None when there is no row."""

    def lock_alone(self, name: str) -> AbstractContextManager[bool]:
        """Enter with whether this process alone has the lock of that name on this ledger, without waiting for it."""

    def check(self, *, whole: bool = False) -> None:
        """Raise StoreError when the file is damaged; nothing to do where a server sees to it."""

    def bytes(self) -> int:
        """Return the space that the tables take, with their indexes."""

    def close(self) -> None:
        """Close all connections."""
