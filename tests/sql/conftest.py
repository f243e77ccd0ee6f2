"""The sample domain's database, with a table and a column that no mapping knows."""

import os
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from services.launching import CannotStartError, PostgresServer
from theworld.demo.credit import write_sample
from theworld.settings import Settings
from theworld.sql.database import Database

NOW = datetime(2024, 12, 31, 12)  # noqa: DTZ001 - meant in the database's zone


@pytest.fixture(scope="session")
def credit_files(tmp_path_factory) -> dict[str, Path]:
    paths = write_sample(tmp_path_factory.mktemp("credit"))
    with closing(sqlite3.connect(paths["database"])) as connection, connection:
        connection.execute("CREATE TABLE secrets (id TEXT, name TEXT, token TEXT)")
        connection.execute("INSERT INTO secrets VALUES ('1', 'key', 'hunter2')")
        connection.execute("ALTER TABLE company ADD COLUMN secret_note TEXT DEFAULT 'hunter2'")
    return paths


@pytest.fixture(scope="session")
def credit_settings(credit_files) -> Settings:
    database = {
        "url": f"sqlite:///{credit_files['database']}",
        "ontology": credit_files["ontology"],
        "timezone": "Asia/Shanghai",
    }
    return Settings(database=database)


@pytest.fixture(scope="session")
def database(credit_settings):
    opened = Database.open(credit_settings.database)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A PostgreSQL of our own, or the one THEWORLD_TEST_POSTGRES_URL names."""
    given = os.environ.get("THEWORLD_TEST_POSTGRES_URL")
    if given:
        yield given
        return
    pytest.importorskip("psycopg")
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    try:
        server.start()
    except CannotStartError as reason:
        pytest.skip(f"no PostgreSQL: {reason}, and THEWORLD_TEST_POSTGRES_URL is not set")
    yield server.url
    server.stop()
