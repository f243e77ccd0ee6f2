"""Each server is started once per session, on a free port, when the first test asks for it.

`THEWORLD_TEST_OPENSEARCH_URL`, `THEWORLD_TEST_NEO4J_URL`, `THEWORLD_TEST_POSTGRES_URL` and `THEWORLD_TEST_QDRANT_URL`
name servers to be used instead; they are left running. Where neither is to be had, tests are skipped, with the reason:
Qdrant is started where its program is on the PATH.
"""

from __future__ import annotations

import gc
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.launching import (
    CannotStartError,
    JavaServer,
    Neo4jServer,
    OpenSearchServer,
    PostgresServer,
    QdrantServer,
    Server,
)


@pytest.fixture(scope="module", autouse=True)
def _garbage_of_a_module() -> Iterator[None]:
    """Broken connections that only the collector frees are finalised in their own module, and warn there."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """The servers that this session started, by name."""
    running: dict[str, Server] = {}
    yield running
    for server in running.values():
        server.stop()


def _url(kind: type[Server], servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> str:
    variable = f"THEWORLD_TEST_{kind.name.upper()}_URL"
    given = os.environ.get(variable)
    if given:
        return given
    server = kind(tmp_path_factory.mktemp(kind.name))
    if isinstance(server, JavaServer):
        server.short_lived = True
    try:
        server.start()
    except CannotStartError as reason:
        pytest.skip(f"no {kind.name}: {reason}, and {variable} is not set")
    servers[kind.name] = server
    return server.url


@pytest.fixture(scope="session")
def opensearch_url(servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real OpenSearch."""
    return _url(OpenSearchServer, servers, tmp_path_factory)


@pytest.fixture(scope="session")
def neo4j_url(servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real Neo4j."""
    return _url(Neo4jServer, servers, tmp_path_factory)


@pytest.fixture(scope="session")
def postgres_url(servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real PostgreSQL."""
    return _url(PostgresServer, servers, tmp_path_factory)


@pytest.fixture(scope="session")
def qdrant_url(servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real Qdrant; gRPC is on the next port."""
    return _url(QdrantServer, servers, tmp_path_factory)


@pytest.fixture(scope="session")
def qdrant_url_if_any(request: pytest.FixtureRequest) -> str | None:
    """A real Qdrant, where there is one, for stores that take it into their mix."""
    try:
        found: str = request.getfixturevalue("qdrant_url")
    except pytest.skip.Exception as reason:
        print(f"without Qdrant: {reason}")
        return None
    return found


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of one's own for 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    files = folder / "own.pem", folder / "own.key"
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *name]
    subprocess.run([*command, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


@pytest.fixture
def ledger() -> str:
    """The identity of a ledger that no other test has."""
    return secrets.token_hex(8)
