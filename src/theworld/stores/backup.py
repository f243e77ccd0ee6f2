"""A copy of a store while it is in use, and a store made from it.

Only the ledger is copied: it is the only truth, and the projections are made from it when the restored store is opened.
SQLite's own online backup gives one state of the file, whatever is written meanwhile.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from theworld.errors import StoreError
from theworld.stores.files import sync_file, sync_folder
from theworld.stores.ledger import opening
from theworld.stores.ledger.sqlite import FILE_NAME, SqliteDatabase
from theworld.stores.store_folder import DERIVED, WriterLock, check_folder

_PAGES = 2_000
"""Copied at once; writers wait for no longer than this takes."""

Progress = Callable[[int, int], None]
"""Called with (pages copied, pages in all)."""


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
    writes to the store.
    """
    if not file.is_file():
        raise StoreError("there is no such file.", where=str(file), remedy="Name a file made by `theworld backup`.")
    _check(file)
    check_folder(store, create=True)
    lock = WriterLock(store)
    lock.acquire()
    temporary = store / f"{FILE_NAME}-restored"
    try:
        _copy(file, temporary, progress)
        for name in (*DERIVED, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"):
            path = store / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        temporary.replace(store / FILE_NAME)
        sync_folder(store)
    finally:
        temporary.unlink(missing_ok=True)
        lock.release()


def _copy(source: Path, target: Path, progress: Progress | None) -> None:
    """Copy one state of a SQLite file, check it, and wait until it is on disk."""

    def told(_status: int, left: int, total: int) -> None:
        if progress is not None:
            progress(total - left, total)

    try:
        descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
        address = f"{source.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written, pages=_PAGES, progress=told)
            written.execute("PRAGMA journal_mode=DELETE")
        _check(target)
        sync_file(target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the ledger cannot be copied: {error}.", where=str(source)) from error


def _check(file: Path) -> None:
    """Raise StoreError when a file is no ledger of a version that this program knows, or is damaged."""
    with closing(SqliteDatabase(file, writable=False)) as database:
        database.check()
        if not opening.is_older(opening.read_version(database)):
            opening.check_version(database)
