"""The Cypher of the graph on a server; and what speaks Bolt only at first is distinguished from an answer."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator

import pytest

from theworld.errors import EngineUnavailableError
from theworld.settings import GraphSettings
from theworld.stores.graph import neo4j_queries
from theworld.stores.graph.neo4j_client import Neo4jClient

TEXTS = {name: text for name, text in vars(neo4j_queries).items() if name.isupper() and isinstance(text, str)}


def test_all_values_come_in_one_map_so_that_the_size_of_a_list_is_no_reason_to_plan_anew() -> None:
    assert len(TEXTS) > 20
    for name, text in TEXTS.items():
        assert set(re.findall(r"\$\w+", text)) <= {"$given"}, name


def test_what_questions_ask_is_planned_before_they_ask() -> None:
    reading = {
        text for text in TEXTS.values() if "RETURN collect([" in text and not re.search("DELETE|SET|MERGE", text)
    }
    verifying = {neo4j_queries.HELD}
    parts = {text for name, text in TEXTS.items() if name.startswith("_")}
    assert reading - verifying - parts == set(neo4j_queries.QUERIES)


BOLT_5_4 = b"\x00\x00\x04\x05"
UNKNOWN_MESSAGE = b"\x00\x03\xb1\x00\xa0\x00\x00"
"""A chunk of three bytes: a structure of signature 0 with an empty map."""


@pytest.fixture
def garbling() -> Iterator[str]:
    """The address of a server that shakes hands, and then sends messages of no known kind."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(20)
                        connection.sendall(BOLT_5_4)
                        connection.recv(4096)
                        connection.sendall(UNKNOWN_MESSAGE)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"bolt://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_message_of_no_known_kind_is_a_failure_of_the_engine(garbling: str) -> None:
    client = Neo4jClient(GraphSettings(url=garbling, username="neo4j", password="secret", timeout_s=60.0))
    try:
        with pytest.raises(EngineUnavailableError, match="something else than it should: BoltProtocolError"):
            client.version()
    finally:
        client.close()
