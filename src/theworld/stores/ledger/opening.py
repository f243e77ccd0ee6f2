"""Where the ledger of a store lies, by the settings: a file in its folder, or a schema on a server."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from theworld.errors import StoreError
from theworld.settings import LedgerSettings, Settings
from theworld.stores.ledger import schema
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.sqlite import FILE_NAME, SqliteDatabase


def open_database(
    folder: Path, settings: LedgerSettings | None = None, *, create: bool = False, writable: bool = False
) -> Database:
    """Open the ledger of a store, making its tables when `create`.

    A file of an older schema version is brought up to date; a server's tables are not, since other programs use them
    too: `theworld ledger migrate` does it.

    Raises StoreError when there is no ledger or it is damaged, EngineUnavailableError when the server cannot be
    reached, StoreVersionError when the schema version is another.
    """
    database = connect(folder, settings, writable=writable or create)
    try:
        if create:
            schema.make_tables(database, namespace=settings.namespace if settings and database.remote else None)
        elif not database.remote and schema.is_older(database):
            _bring_up_to_date(folder / FILE_NAME)
        schema.check_version(database)
    except BaseException:
        database.close()
        raise
    return database


def connect(folder: Path, settings: LedgerSettings | None = None, *, writable: bool) -> Database:
    """Return the database of a ledger, whatever tables it has; nothing is sent to a server yet."""
    if settings is None or settings.url is None:
        return SqliteDatabase(folder / FILE_NAME, writable=writable)
    from theworld.stores.ledger.postgres import PostgresDatabase

    return PostgresDatabase(settings, writable=writable)


def _bring_up_to_date(file: Path) -> None:
    with closing(SqliteDatabase(file, writable=True)) as database:
        schema.migrate(database)


def ledger_exists(settings: Settings) -> bool:
    """Return whether the store has a ledger; EngineUnavailableError when its server cannot be asked."""
    if settings.ledger.url is None:
        return (settings.store / FILE_NAME).exists()
    database = connect(settings.store, settings.ledger_server, writable=False)
    with closing(database), database.reading() as connection:
        return schema.has_tables(connection)


def require_ledger(settings: Settings) -> None:
    """Raise StoreError when the store has no ledger."""
    if not ledger_exists(settings):
        where = settings.ledger.url or str(settings.store)
        raise StoreError(
            "there is no store here.",
            where=where,
            remedy=f"Make one: `theworld ingest PATH --store {settings.store}`.",
        )
