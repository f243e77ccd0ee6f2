"""A store's ledger moved from its folder to a server: every row with its number, so that projections go on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from sqlalchemy import Connection, Table, delete, func, insert, select, text

from theworld.errors import StoreError
from theworld.settings import Settings
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.models import Base, Document, Meta
from theworld.stores.ledger.opening import open_database
from theworld.stores.store_folder import WriterLock, check_folder, remember

PAGE = 500
"""Rows in memory at once."""

Progress = Callable[[int, int], None]
"""Called with (rows copied, rows in all)."""


def move_ledger(settings: Settings, progress: Progress | None = None) -> int:
    """Copy the ledger in the store's folder to the server that the settings name; return the number of rows.

    The projections of the folder go on where they are. Raises StoreError when the folder has no ledger or the server's
    has documents, StoreLockedError while another process writes.
    """
    check_folder(settings.store, create=False)
    lock = WriterLock(settings.store)
    lock.acquire()
    try:
        with (
            closing(open_database(settings.store, writable=True)) as source,
            closing(open_database(settings.store, settings.ledger_server, create=True)) as target,
        ):
            Ledger(source).identity()
            rows = copy_ledger(source, target, progress)
            remember(settings.store, Ledger(target))
            return rows
    finally:
        lock.release()


def copy_ledger(source: Database, target: Database, progress: Progress | None = None) -> int:
    """Copy all rows, in one transaction, into a ledger that has no documents yet; return how many.

    Raises StoreError when the target holds something.
    """
    tables = [table for table in Base.metadata.sorted_tables if table is not Meta.__table__]
    with source.reading() as old, target.writing() as new:
        if new.scalar(select(Document.id).limit(1)) is not None:
            raise StoreError(
                "this ledger has documents already.",
                where=target.where,
                remedy="Name another schema with ledger.namespace, or ingest into this one.",
            )
        total = sum(old.scalar(select(func.count()).select_from(table)) or 0 for table in tables)
        done = 0
        for table in tables:
            for rows in old.execution_options(yield_per=PAGE).execute(select(table)).partitions():
                new.execute(insert(table), [dict(row._mapping) for row in rows])
                done += len(rows)
                if progress is not None:
                    progress(done, total)
            _go_on_numbering(new, table)
        new.execute(delete(Meta))
        new.execute(insert(Meta), [dict(row._mapping) for row in old.execute(select(Meta.__table__))])
        return done


def _go_on_numbering(connection: Connection, table: Table) -> None:
    """Let new rows get numbers after those copied; SQLite does so by itself."""
    if connection.dialect.name != "postgresql" or "id" not in table.c:
        return
    sequence = text("SELECT pg_get_serial_sequence(:table, 'id')").bindparams(table=table.name)
    last = connection.scalar(select(func.max(table.c.id)))
    if last is not None:
        connection.execute(select(func.setval(connection.scalar(sequence), last)))
