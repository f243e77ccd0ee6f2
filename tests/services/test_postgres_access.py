"""Roles with the rights that the documents list, passwords and certificates, on a server of its own."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from made_documents import assert_congruent, make_document
from services.launching import CannotStartError, PostgresServer
from services.postgres_ledger import PATIENT_S
from theworld.doctor import Finding, examine
from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import LedgerSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.opening import connect, make_tables, open_database
from theworld.stores.projections import Engines

pytestmark = pytest.mark.slow
DOCUMENT = Path(__file__).parents[2] / "docs" / "postgresql.md"
PASSWORDS = {"owner": "choose-one", "writer": "choose-another", "reader": "choose-a-third"}


def statements(block: int) -> list[str]:
    """Return the statements of one of the document's blocks."""
    blocks = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return [one for one in blocks[block].split(";\n") if one.strip()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server with a certificate of its own, which asks these roles for their passwords."""
    server = PostgresServer(tmp_path_factory.mktemp("guarded"))
    try:
        server.start()
    except CannotStartError as reason:
        pytest.skip(f"no postgres: {reason}")
    data = server.folder / "data"
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-out", str(data / "server.crt"), "-keyout", str(data / "server.key")]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *name, *files]
    subprocess.run(command, check=True, capture_output=True)
    (data / "server.key").chmod(0o600)
    for file in ("server.crt", "server.key"):
        shutil.chown(data / file, data.owner(), data.group())
    roles = ",".join(f"theworld_{role}" for role in PASSWORDS)
    rules = (data / "pg_hba.conf").read_text(encoding="utf-8")
    (data / "pg_hba.conf").write_text(f"hostssl all {roles} all scram-sha-256\nhost all {roles} all reject\n{rules}")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET ssl = on")
        connection.execute("SELECT pg_reload_conf()")
        for statement in statements(0):
            connection.execute(statement.encode())
    until_encrypted(server)
    yield server
    server.stop()


def until_encrypted(server: PostgresServer) -> None:
    """Wait until the new configuration is in force: the server reads it some time after it was told to."""
    deadline = time.monotonic() + PATIENT_S
    while True:
        try:
            psycopg.connect(server.url, sslmode="require").close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def as_role(server: PostgresServer, role: str, **given: object) -> LedgerSettings:
    return LedgerSettings.model_validate(
        {
            "url": f"postgresql+psycopg://127.0.0.1:{server.port}/theworld",
            "username": f"theworld_{role}",
            "password": PASSWORDS[role],
            "timeout_s": PATIENT_S,
            "ca_file": server.folder / "data" / "server.crt",
            "tls": True,
            **given,
        }
    )


@pytest.fixture(scope="module")
def made(server: PostgresServer) -> PostgresServer:
    """The server, with a ledger made by its owner."""
    parts = {"host": "127.0.0.1", "port": server.port, "dbname": "theworld", "user": "theworld_owner"}
    with psycopg.connect(**parts, password=PASSWORDS["owner"], sslmode="require", autocommit=True) as connection:
        for statement in statements(1):
            connection.execute(statement.encode())
    database = connect(server.folder, as_role(server, "owner"), writable=True)
    assert make_tables(database)
    database.close()
    return server


def test_each_role_can_do_what_it_is_for_and_no_more(made: PostgresServer, tmp_path: Path) -> None:
    writer, reader = (Engines(ledger=as_role(made, role)) for role in ("writer", "reader"))
    with KnowledgeStore.open(tmp_path / "writer", create=True, engines=writer) as store:
        store.put([make_document(number) for number in range(4)])
        store.delete(["doc-00003"], tenant="default")
        store.catch_up()
        notes = assert_congruent(store)
    with open_database(tmp_path, writer.ledger, writable=True) as service, service.lock_alone("jobs") as alone:
        assert alone
    with KnowledgeStore.open(tmp_path / "reader", engines=reader) as store:
        assert assert_congruent(store) == notes
    with (
        Ledger.open(tmp_path, reader.ledger, writable=True) as ledger,
        pytest.raises(StoreError, match=r"permission denied.*docs/postgresql\.md"),
    ):
        ledger.put([make_document(9)])
    for role in (writer, reader):
        database = connect(tmp_path, role.ledger.model_copy(update={"namespace": "elsewhere"}), writable=True)
        with pytest.raises(StoreError, match=r"permission denied.*docs/postgresql\.md"):
            make_tables(database)
        database.close()


def test_certificates_and_passwords_are_checked_and_never_told(
    made: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    file = tmp_path / "password"
    file.write_text(f"{PASSWORDS['reader']}\n", encoding="utf-8")
    told = []
    for good in ({}, {"password": None, "password_file": file}, {"ca_file": None, "verify": False}):
        with Ledger.open(tmp_path, as_role(made, "reader", **good)) as ledger:
            assert ledger.sequence() > 0
            told.append(repr(ledger) + ledger.where)
    for bad, said in (
        ({"ca_file": None}, "(?i)certificate|ssl"),
        ({"tls": None}, "(?i)no encryption|reject"),
        ({"password": "hunter2"}, "password authentication failed"),
    ):
        with pytest.raises(EngineUnavailableError, match=said) as raised:
            Ledger.open(tmp_path, as_role(made, "reader", **bad))
        told.append(str(raised.value))
    for secret in ("hunter2", PASSWORDS["reader"]):
        assert secret not in caplog.text + "".join(told)


TAKEN_AWAY = [
    ("INSERT ON ALL TABLES IN SCHEMA theworld", "writer", "rights", "ok", "may read, not write", ""),
    ("DELETE ON theworld.note", "writer", "rights", "warning", "not note", "GRANT INSERT, UPDATE, DELETE"),
    ("USAGE ON ALL SEQUENCES IN SCHEMA theworld", "writer", "rights", "warning", "draw numbers", "SEQUENCES"),
    ("USAGE ON SCHEMA theworld", "reader", "rights", "failed", "may not use the schema", "GRANT USAGE ON SCHEMA"),
    ("SELECT ON theworld.note", "reader", "rights", "failed", "may not read note", "GRANT SELECT"),
    ("SELECT ON theworld.meta", "reader", "rights", "failed", "may not read meta", "GRANT SELECT"),
    ("CONNECT ON DATABASE theworld", "reader", "ledger", "failed", "CONNECT privilege", "has CONNECT on the database"),
]


def test_the_doctor_tells_each_role_what_it_lacks(made: PostgresServer, tmp_path: Path) -> None:
    roles = {role: as_role(made, role) for role in ("writer", "reader")}
    KnowledgeStore.open(tmp_path / "store", create=True, engines=Engines(ledger=roles["writer"])).close()

    def found(role: str) -> dict[str, Finding]:
        return {one.subject: one for one in examine(Settings(store=tmp_path / "store", ledger=roles[role]))}

    assert found("writer")["rights"].said == "role theworld_writer may read and write"
    assert found("reader")["rights"].said == "role theworld_reader may read, not write"
    with psycopg.connect(made.url.replace("/postgres", "/theworld"), autocommit=True) as administrator:
        for right, role, subject, status, said, remedy in TAKEN_AWAY:
            administrator.execute(f"REVOKE {right} FROM theworld_{role}".encode())
            finding = found(role)[subject]
            assert finding.status == status, (right, finding)
            assert said in finding.said
            assert remedy in finding.remedy
            administrator.execute(f"GRANT {right} TO theworld_{role}".encode())
            assert found(role)["schema"].status == "ok"
        administrator.execute("ALTER ROLE theworld_reader NOLOGIN")
        assert "may log in" in found("reader")["ledger"].remedy
        administrator.execute("ALTER ROLE theworld_reader LOGIN")
