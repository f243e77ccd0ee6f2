"""A copy of a store while it is in use, and a store made from it; a ledger moved from its folder to a server.

Only the ledger is copied: it is the only truth, and the projections are made from it when the restored store is opened.
SQLite's own online backup gives one state of the file, whatever is written meanwhile. A file that is open anywhere is
not replaced: who has it open would go on with the old one, which nobody else sees any more. On its way to a server
every row keeps its number, so that projections go on.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import delete, func, insert, select, text

from theworld.errors import StoreError, StoreLockedError, StoreVersionError
from theworld.settings import Settings
from theworld.stores.files import sync_folder
from theworld.stores.ledger import Ledger, opening
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.models import Base, Document, Meta
from theworld.stores.ledger.opening import open_database
from theworld.stores.ledger.sqlite import FILE_NAME, SqliteDatabase
from theworld.stores.opening import DERIVED, WriterLock, check_folder, remember
from theworld.stores.projections import Progress

_SQLITE = b"SQLite format 3\0"
_PAGES = 2_000
"""Copied at once; writers wait for no longer than this takes."""
_PATIENCE_S = 1.0
"""How long is waited for a process that is just closing a store."""


def back_up(store: Path, file: Path, progress: Progress | None = None) -> int:
    """Copy the ledger of a store to a file, which appears whole or not at all; return its size in bytes.

    Raises StoreError when there is no store, its ledger lies on a server or is damaged, or the file is there already.
    """
    check_folder(store, create=False)
    source = store / FILE_NAME
    if not source.is_file():
        raise StoreError(
            "the ledger of this store lies on a server.", where=str(store), remedy="Back it up there: `pg_dump -Fc`."
        )
    if file.exists():
        raise StoreError("there is such a file already.", where=str(file), remedy="Name a new file, or remove it.")
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        _copy(source, temporary, progress)
        temporary.replace(file)
        sync_folder(file.absolute().parent)
    finally:
        temporary.unlink(missing_ok=True)
    return file.stat().st_size


def restore(file: Path, store: Path, progress: Progress | None = None) -> None:
    """Make a store from a backup, in an empty or new folder or in place of the ledger of a store.

    Raises StoreError when the file is no backup or the folder holds something else, StoreLockedError while a process
    writes to the store or has it open.
    """
    if not file.is_file():
        raise StoreError("there is no such file.", where=str(file), remedy="Name a file made by `theworld backup`.")
    _check_backup(file)
    check_folder(store, create=True)
    lock = WriterLock(store)
    lock.acquire()
    temporary = store / f"{FILE_NAME}-restored"
    try:
        with _nobody_has(store / FILE_NAME):
            _copy(file, temporary, progress)
            for name in (*DERIVED, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"):
                path = store / name
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            temporary.replace(store / FILE_NAME)
            sync_folder(store)
    finally:
        temporary.unlink(missing_ok=True)
        lock.release()


@contextmanager
def _nobody_has(file: Path) -> Iterator[None]:
    """Keep a ledger's file, if there is one, from being opened meanwhile; StoreLockedError while a process has it open.

    In its WAL mode SQLite keeps a shared lock on the file as long as a connection lasts, so leaving that mode says
    whether there is another one in any process: a service, a reader. A file too damaged for that has no readers.
    """
    if not file.is_file():
        yield
        return
    with closing(sqlite3.connect(file, timeout=_PATIENCE_S, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                what = "another process has this store open."
                remedy = "Stop the service (`theworld serve`), and whatever else reads this store; then restore it."
                raise StoreLockedError(what, where=str(file.parent), remedy=remedy) from error
        yield


def _copy(source: Path, target: Path, progress: Progress | None) -> None:
    """Copy one state of a SQLite file, check it, and wait until it is on disk."""
    told = None if progress is None else lambda _status, left, total: progress(total - left, total)
    try:
        descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
        address = f"{source.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written, pages=_PAGES, progress=told)
            written.execute("PRAGMA journal_mode=DELETE")
        _check(target)
        with target.open("rb") as copied:
            os.fsync(copied.fileno())
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the ledger cannot be copied: {error}.", where=str(source)) from error


def _check_backup(file: Path) -> None:
    """Raise StoreError when a file is no backup, is damaged, or was made by a program that this one does not know."""
    with file.open("rb") as begun:
        if begun.read(len(_SQLITE)) != _SQLITE:
            raise StoreError("this is no backup.", where=str(file), remedy="Name a file made by `theworld backup`.")
    try:
        _check(file)
    except StoreVersionError:
        raise
    except StoreError as error:
        what = "this backup is damaged, cut off, or one of something else."
        raise StoreError(what, where=str(file), remedy="Name another one; the store is left as it was.") from error


def _check(file: Path) -> None:
    """Raise StoreError when a file is no ledger of a version that this program knows, or is damaged."""
    with closing(SqliteDatabase(file, writable=False)) as database:
        database.check()
        if not opening.is_older(opening.read_version(database)):
            opening.check_version(database)


PAGE = 500
"""Rows in memory at once."""


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
            rows = copy_ledger(source, target, progress)
            remember(settings.store, Ledger(target))
            return rows
    finally:
        lock.release()


def copy_ledger(source: Database, target: Database, progress: Progress | None = None) -> int:
    """Copy all rows in one transaction; return how many. Raises StoreError when the target has documents already."""
    tables = [table for table in Base.metadata.sorted_tables if table is not Meta.__table__]
    with source.reading() as old, target.writing() as new:
        if new.scalar(select(Document.id).limit(1)) is not None:
            remedy = "Name another schema with ledger.namespace, or ingest into this one."
            raise StoreError("this ledger has documents already.", where=target.where, remedy=remedy)
        total = sum(old.scalar(select(func.count()).select_from(table)) or 0 for table in tables)
        done = 0
        for table in tables:
            for rows in old.execution_options(yield_per=PAGE).execute(select(table)).partitions():
                new.execute(insert(table), [dict(row._mapping) for row in rows])
                done += len(rows)
                if progress is not None:
                    progress(done, total)
            last = new.scalar(select(func.max(table.c.id))) if "id" in table.c else None
            if last is not None and new.dialect.name == "postgresql":  # SQLite goes on numbering by itself
                sequence = text("SELECT pg_get_serial_sequence(:table, 'id')").bindparams(table=table.name)
                new.execute(select(func.setval(new.scalar(sequence), last)))
        new.execute(delete(Meta))
        new.execute(insert(Meta), [dict(row._mapping) for row in old.execute(select(Meta.__table__))])
        return done
