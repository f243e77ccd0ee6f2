"""One service over a copy of the demo corpus's store, and a client on the same machine; tests of it share both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, settings_over
from service_process import listening
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


@pytest.fixture(scope="session")
def live(service: Service) -> Iterator[str]:
    """The address of a real server over the service, for clients that bring their own HTTP."""
    with listening(create_app(replace(service))) as url:
        yield url


@pytest.fixture(scope="session")
def guarded(service: Service) -> Iterator[tuple[str, Service, dict[str, str]]]:
    """A real server that always wants keys, and a key for each of two tenants, of which one has documents."""
    settings = service.settings.model_copy(
        update={"service": service.settings.service.model_copy(update={"keys": "required"})}
    )
    wanting = replace(service, resources=replace(service.resources, settings=settings))
    keys = {tenant: wanting.keys.create(tenant, [tenant]) for tenant in ("default", "other")}
    with listening(create_app(wanting)) as url:
        yield url, wanting, keys
