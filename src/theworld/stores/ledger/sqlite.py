"""A ledger in a SQLite file: one writer at a time, no server."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from theworld.errors import StoreError
from theworld.stores.files import bytes_of
from theworld.stores.ledger.database import Database

FILE_NAME = "ledger.sqlite"
_PRAGMAS = ("foreign_keys=ON", "busy_timeout=10000", "cache_size=-16000", "mmap_size=268435456")
_WRITER = ("journal_mode=WAL", "synchronous=FULL")


class SqliteDatabase(Database):
    """The ledger's file in the folder of a store."""

    remote = False
    namespace: str | None = None

    def __init__(self, file: Path, *, writable: bool) -> None:
        """Open the file, which is made when it is missing and `writable`; a reader's connections refuse to write."""
        self.file, self.where = file, str(file)
        # A folder that cannot be written to has no writer either, and SQLite cannot make its shared-memory file there.
        frozen = not writable and not os.access(file.parent, os.W_OK)
        mode = {"mode": "ro", "immutable": "1"} if frozen else {"mode": "rwc" if writable else "rw"}
        url = URL.create("sqlite", database=file.resolve().as_uri(), query={"uri": "true", **mode})
        self._engine = create_engine(url, pool_size=8, max_overflow=64)
        pragmas = (*_PRAGMAS, *(_WRITER if writable else ("query_only=ON",)))

        @event.listens_for(self._engine, "connect")
        def _configure(connection: SqliteConnection, _record: Any) -> None:
            connection.isolation_level = None
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(self._engine, "begin")
        def _begin(connection: Connection) -> None:
            writing = connection.get_execution_options().get("writing")
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    @contextmanager
    def writing(self, tenants: Collection[str] | None = None) -> Iterator[Connection]:  # noqa: ARG002
        """Enter one transaction that writes; SQLite lets one in at a time."""
        with _clear_errors(self.where), self._engine.connect() as plain:
            connection = plain.execution_options(writing=True)
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self, *, patient: bool = True) -> Iterator[Connection]:  # noqa: ARG002
        """Enter a connection that sees one state of the tables."""
        with _clear_errors(self.where), self._engine.connect() as connection:
            try:
                yield connection
            except ValueError as error:  # a flipped bit: no JSON any more, or none of the types of names
                raise StoreError(f"a row cannot be read: {error}.", where=self.where, remedy=_REBUILD) from error

    @contextmanager
    def lock_alone(self, name: str) -> Iterator[bool]:
        """Enter with whether this process alone has the lock: a file beside the ledger."""
        lock = FileLock(self.file.with_name(f"{name}.lock"), timeout=0)
        with suppress(Timeout):
            lock.acquire()
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def check(self, *, whole: bool = False) -> None:
        """Read the structure (1 s a GB), if `whole` compare the indexes too; StoreError names what is damaged."""
        with _clear_errors(self.where), self._engine.connect() as connection:
            found = connection.exec_driver_sql(f"PRAGMA {'integrity' if whole else 'quick'}_check(1)").scalar()
            dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").first() if whole else None
        if dangling is not None:
            found = f"a row of {dangling[0]} belongs to a row of {dangling[2]} that is not there"
        if found != "ok":
            raise StoreError(f"the ledger is damaged: {found}.", where=self.where, remedy=_REBUILD)

    def bytes(self) -> int:
        """Return the size of the file and of what stands beside it."""
        return bytes_of(self.file.parent.glob(f"{FILE_NAME}*"))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


@contextmanager
def _clear_errors(where: str) -> Iterator[None]:
    """Turn what the database raises into a StoreError that says what to do."""
    try:
        yield
    except DatabaseError as error:
        text = str(error.orig)
        remedy = next((remedy for sign, remedy in _REMEDIES.items() if sign in text), "")
        raise StoreError(f"the ledger failed: {text}.", where=where, remedy=remedy) from error
    except SQLAlchemyError as error:
        raise StoreError(f"the ledger failed: {error}.", where=where) from error


_REBUILD = (
    "The file is damaged: restore a backup (`theworld restore FILE --store DIR`), or delete the folder and run "
    "`theworld ingest PATH --store DIR` again."
)
_REMEDIES = {
    "not a database": _REBUILD,
    "malformed": _REBUILD,
    "decode": _REBUILD,
    "disk I/O error": "Check the disk and its mount.",
    "readonly": "The disk or folder is read-only: make it writable, or open the store for reading.",
    "query_only": "The store was opened for reading; open it with read_only=False.",
    "unable to open": "Check that the folder exists and that you may read and write it.",
    "full": "Free some space; nothing of the last batch was kept.",
    "locked": "Another process is writing for long; try again later.",
    "no such table": (
        "The store is incomplete. If another program is just making it, try again; else delete the folder and run "
        "`theworld ingest PATH --store DIR` again."
    ),
}
