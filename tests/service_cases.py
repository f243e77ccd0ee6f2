"""What the tests of the service share as plain values."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from service_process import START_S
from theworld.settings import Settings

TWO_HOP = "In which city was the director of Metropolis born?"
CHINESE = "天一阁是由谁主持建造的？"
LOCAL: dict[str, Any] = {"base_url": "http://127.0.0.1:8321", "client": ("127.0.0.1", 50_000)}


def settings_over(store: Path, **service: Any) -> Settings:
    """Settings with time enough for a busy machine, on which jobs of idle priority would not get on."""
    service = {"job_priority": "normal", **service}
    return Settings(store=store, retrieval={"deadline_ms": 60_000}, embedding={"threads": 1}, service=service)


class Held:
    """A graph that after its first node waits until nobody waits for the request any more."""

    def __init__(self, graph: Any, patch: Any) -> None:
        from theworld.service.api import serving

        run_graph = serving.run_graph
        self._graph, self.nodes, self.running = graph, list[str](), threading.Event()

        def followed(*given: Any, cancelled: Any, **options: Any) -> Any:
            self._gone = cancelled
            return run_graph(*given, cancelled=cancelled, **options)

        patch.setattr(serving, "run_graph", followed)

    def stream(self, *given: Any, **options: Any) -> Iterator[Any]:
        for part in self._graph.stream(*given, **options):
            if part[0] == "updates":
                self.nodes.extend(part[1])
                self.running.set()
                wait_until(self._gone)
            yield part


class Telling:
    """A graph whose model says something first that turns out not to be the answer."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def stream(self, *given: Any, **options: Any) -> Iterator[Any]:
        yield "custom", {"type": "token", "text": "no"}
        yield "custom", {"type": "restart"}
        yield "custom", {"type": "token", "text": "maybe"}
        yield from self._graph.stream(*given, **options)


def leave_half_way(url: str, body: Any, held: Held) -> None:
    """Post, and go when the first node has run."""
    place, content = httpx.URL(url), json.dumps(body).encode()
    head = f"Host: {place.netloc.decode()}\r\nAccept: */*\r\nContent-Type: application/json"
    with socket.create_connection((place.host, place.port)) as client:
        length = f"Content-Length: {len(content)}"
        client.sendall(f"POST {place.path} HTTP/1.1\r\n{head}\r\n{length}\r\n\r\n".encode() + content)
        assert held.running.wait(START_S)


def wait_until(holds: Callable[[], Any]) -> None:
    """Wait for something, for long: the machine may be busy."""
    end = time.monotonic() + START_S
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def wait_for_b(service: Any) -> None:
    """Wait until no run of strategy B is under way."""
    service._shadows.submit(lambda: None).result()


def code(reply: Any) -> tuple[int, int]:
    """Return the status and the code of a reply in the envelope."""
    assert reply.headers["x-trace-id"] == reply.json()["trace_id"]
    return reply.status_code, reply.json()["code"]


def data_of(reply: Any) -> Any:
    """Return what a reply without a fault holds."""
    assert reply.status_code < 300, reply.text
    return reply.json()["data"]
