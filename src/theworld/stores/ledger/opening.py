"""Opening a ledger, a file in the store's folder or a schema on a server, and making or bringing up to date its tables.

New ledgers get the tables of the models and their version; an older one is led there in one transaction: tables,
columns and indexes that the models have and the ledger has not are made. New columns may be null or have a constant
default, which rewrites no row. A ledger whose content meant something else is not brought up to date: its documents are
ingested again. The version stands in the table `meta`, and nowhere else.
"""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, insert, inspect, select, text, update
from sqlalchemy.schema import CreateColumn

from theworld.errors import StoreError, StoreVersionError
from theworld.settings import LedgerSettings, Settings
from theworld.stores.ledger import service_tables
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.models import SCHEMA_VERSION, Base, Meta
from theworld.stores.ledger.sqlite import FILE_NAME, SqliteDatabase

OLDEST = 5
"""The first version from which a ledger can be brought up to date."""
MIGRATE = "Bring it up to date: `theworld ledger migrate`."
_OTHER_PROGRAM = "Use the version of TheWorld that wrote it, or ingest into a new store."
_VERSION = select(Meta.number).where(Meta.key == "schema_version")

assert service_tables.ApiKey.metadata is Base.metadata


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
            make_tables(database)
        elif not database.remote and is_older(read_version(database)):
            with closing(connect(folder, writable=True)) as writing:
                migrate_tables(writing)
        check_version(database)
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


def ledger_exists(settings: Settings) -> bool:
    """Return whether the store has a ledger; EngineUnavailableError when its server cannot be asked."""
    if settings.ledger.url is None:
        return (settings.store / FILE_NAME).exists()
    database = connect(settings.store, settings.ledger_server, writable=False)
    with closing(database), database.reading() as connection:
        return has_tables(connection)


def require_ledger(settings: Settings) -> None:
    """Raise StoreError when the store has no ledger."""
    if not ledger_exists(settings):
        remedy = f"Make one: `theworld ingest PATH --store {settings.store}`."
        raise StoreError("there is no store here.", where=settings.ledger.url or str(settings.store), remedy=remedy)


def has_tables(connection: Connection) -> bool:
    """Return whether there is a ledger, whatever its version."""
    return inspect(connection).has_table(Meta.__tablename__)


def make_tables(database: Database) -> bool:
    """Make a new ledger's tables, on a server in a schema of their own; False when they are there."""
    with database.writing() as connection:
        if has_tables(connection):
            return False
        if database.namespace is not None:
            there = text("SELECT to_regnamespace(:name) IS NOT NULL")
            if not connection.scalar(there, {"name": database.namespace}):
                connection.execute(text(f'CREATE SCHEMA "{database.namespace}"'))
        Base.metadata.create_all(connection)
        numbers = {"schema_version": SCHEMA_VERSION, "sequence": 0, "identity": secrets.randbits(62)}
        connection.execute(insert(Meta), [{"key": key, "number": n} for key, n in numbers.items()])
        return True


def read_version(database: Database) -> int | None:
    """Return the schema version; StoreError when there are no tables."""
    version: int | None = database.glance(_VERSION)
    return version


def is_older(version: int | None) -> bool:
    """Return whether a ledger of this version can be brought up to date."""
    return version is not None and OLDEST <= version < SCHEMA_VERSION


def check_version(database: Database) -> None:
    """Raise StoreVersionError when this program cannot work with the ledger's tables."""
    version = read_version(database)
    if version != SCHEMA_VERSION:
        what = f"the store has schema version {version}, this program knows {SCHEMA_VERSION}."
        remedy = MIGRATE if is_older(version) else _OTHER_PROGRAM
        raise StoreVersionError(what, where=database.where, remedy=remedy)


def migrate_tables(database: Database) -> list[int]:
    """Bring the tables up to date in one transaction; return the versions gone through, none when they are."""
    with database.writing() as connection:
        version = connection.scalar(_VERSION)
        if version == SCHEMA_VERSION:
            return []
        if version is None or not is_older(version):
            message = f"schema version {version} cannot be brought to {SCHEMA_VERSION}."
            raise StoreError(message, where=database.where, remedy=_OTHER_PROGRAM)
        # Tables, columns and indexes that are not there yet.
        Base.metadata.create_all(connection)
        found = inspect(connection)
        for table in Base.metadata.sorted_tables:
            known = {column["name"] for column in found.get_columns(table.name)}
            for column in table.columns:
                if column.name not in known:
                    described = CreateColumn(column).compile(dialect=connection.dialect)
                    connection.execute(text(f'ALTER TABLE "{table.name}" ADD COLUMN {described}'))
            for index in table.indexes:
                index.create(connection, checkfirst=True)
        connection.execute(update(Meta).where(Meta.key == "schema_version").values(number=SCHEMA_VERSION))
        return list(range(version + 1, SCHEMA_VERSION + 1))
