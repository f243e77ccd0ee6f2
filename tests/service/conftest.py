"""One service over a copy of the demo corpus's store, and a client on the same machine; tests of it share both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, settings_over
from theworld.service.app import create_app
from theworld.service.runtime import Service, open_service


@pytest.fixture(scope="session")
def service(copy_of_demo: Callable[[], Path]) -> Iterator[Service]:
    with open_service(settings_over(copy_of_demo()), bound_to="127.0.0.1") as opened:
        yield opened


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[TestClient]:
    with TestClient(create_app(service), raise_server_exceptions=False, **LOCAL) as opened:
        yield opened


@pytest.fixture(scope="session")
def call(client: TestClient) -> Callable[..., Any]:
    """Post (or get, without a body) and return the data of a successful reply."""

    def send(path: str, body: Any = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = client.get(path, headers=named) if body is None else client.post(path, json=body, headers=named)
        assert reply.status_code < 300, reply.text
        envelope = reply.json()
        assert envelope["code"] == 0
        assert envelope["trace_id"] == reply.headers["x-trace-id"]
        return envelope["data"]

    return send
