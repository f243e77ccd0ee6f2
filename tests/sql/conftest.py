"""The sample domain's database, with a table and a column that no mapping knows."""

import os
import shutil
import socket
import sqlite3
import subprocess
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from theworld.demo.credit import write_sample
from theworld.settings import Settings
from theworld.sql.database import Database

STARTS_WITHIN_S = 60
"""A server beside much other work takes more than ten seconds to answer."""
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
    binary = shutil.which("initdb") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)
    if binary is None:
        pytest.skip("no PostgreSQL here: set THEWORLD_TEST_POSTGRES_URL, or install it")
    folder = tmp_path_factory.mktemp("postgres")
    user = [] if os.getuid() else ["runuser", "-u", "postgres", "--"]
    if user:
        for part in (folder, *folder.parents[:3]):
            part.chmod(part.stat().st_mode | 0o755)
        shutil.chown(folder, "postgres")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = subprocess.run(
        [*user, binary, "-D", folder / "data", "-U", "theworld", "-A", "trust", "-E", "UTF8"],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"PostgreSQL cannot be set up here: {made.stderr.decode()[-300:]}")
    command = [
        *user,
        str(Path(binary).with_name("postgres")),
        "-D",
        folder / "data",
        "-p",
        str(port),
        "-k",
        folder,
        "-c",
        "listen_addresses=127.0.0.1",
    ]
    log = folder / "log"
    with log.open("wb") as written:
        server = subprocess.Popen(command, stdout=written, stderr=written)
    url = f"postgresql://theworld@127.0.0.1:{port}/postgres"
    import psycopg

    until = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            psycopg.connect(url).close()
            break
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                server.kill()
                pytest.fail(f"PostgreSQL did not start, exit code {server.poll()}: {log.read_text('utf-8')[-1000:]}")
            time.sleep(0.1)
    yield url
    server.terminate()
    server.wait(20)
