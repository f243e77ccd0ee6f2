"""The tables of a ledger: made at once for a new one, brought up to date step by step for an older one.

New ledgers get the tables of the models and their version; an older one is led there in one transaction, as
theworld.stores.ledger.migrations says. The version stands in the table `meta`, and nowhere else.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, Inspector, insert, inspect, select, text, update

from theworld.errors import StoreError, StoreVersionError
from theworld.stores.ledger import service_tables
from theworld.stores.ledger.columns import Base
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.models import SCHEMA_VERSION, Meta

OLDEST = 2
"""The first version from which a ledger can be brought up to date."""
MIGRATE = "Bring it up to date: `theworld ledger migrate`."
_VERSION = select(Meta.number).where(Meta.key == "schema_version")

assert service_tables.ApiKey.metadata is Base.metadata


def has_tables(connection: Connection) -> bool:
    """Return whether there is a ledger, whatever its version."""
    found: Inspector = inspect(connection)
    return found.has_table(Meta.__tablename__)


def new_identity() -> int:
    """Return a number that no other ledger has."""
    return secrets.randbits(62)


def make_tables(database: Database, *, namespace: str | None = None) -> bool:
    """Make a new ledger's tables, in a schema of the database where one is named; False when they are there."""
    with database.writing() as connection:
        if has_tables(connection):
            return False
        if namespace is not None:
            there = connection.scalar(text("SELECT to_regnamespace(:name) IS NOT NULL"), {"name": namespace})
            if not there:
                connection.execute(text(f'CREATE SCHEMA "{namespace}"'))
        Base.metadata.create_all(connection)
        numbers = {"schema_version": SCHEMA_VERSION, "sequence": 0, "identity": new_identity()}
        connection.execute(insert(Meta), [{"key": key, "number": n} for key, n in numbers.items()])
        return True


def read_version(database: Database) -> int | None:
    """Return the schema version; StoreError when there are no tables."""
    version: int | None = database.glance(_VERSION)
    return version


def check_version(database: Database) -> None:
    """Raise StoreVersionError when this program cannot work with the ledger's tables."""
    version = read_version(database)
    if version == SCHEMA_VERSION:
        return
    older = version is not None and OLDEST <= version < SCHEMA_VERSION
    raise StoreVersionError(
        f"the store has schema version {version}, this program knows {SCHEMA_VERSION}.",
        where=database.where,
        remedy=MIGRATE if older else "Use the version of TheWorld that wrote it, or ingest into a new store.",
    )


def is_older(database: Database) -> bool:
    """Return whether the ledger can be brought up to date."""
    version = read_version(database)
    return version is not None and OLDEST <= version < SCHEMA_VERSION


def migrate(database: Database) -> list[int]:
    """Bring the tables up to date in one transaction; return the versions gone through, none when they are."""
    from theworld.stores.ledger.migrations import upgrade

    with database.writing() as connection:
        version = connection.scalar(_VERSION)
        if version == SCHEMA_VERSION:
            return []
        if version is None or not OLDEST <= version < SCHEMA_VERSION:
            raise StoreError(
                f"schema version {version} cannot be brought to {SCHEMA_VERSION}.",
                where=database.where,
                remedy="Use the version of TheWorld that wrote it, or ingest into a new store.",
            )
        upgrade(connection, version)
        connection.execute(update(Meta).where(Meta.key == "schema_version").values(number=SCHEMA_VERSION))
        return list(range(version + 1, SCHEMA_VERSION + 1))
