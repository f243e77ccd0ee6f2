"""A scripted HTTP server on a thread: real sockets, real bytes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, json.loads(body)))
        self.server.next_answer()(self)

    def log_message(self, *args: Any) -> None:
        pass


class ScriptedServer(ThreadingHTTPServer):
    """Answers each POST with the next scripted answer; the last one repeats."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.script: list[Answer] = []
        self.test_is_over = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_answer(self) -> Answer:
        with self._lock:
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is part of these tests."""

    def sends(self, status: int, body: Any, kind: str = "application/json", **headers: str) -> None:
        """Add an answer: a JSON value, or bytes as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()

        def answer(handler: Handler) -> None:
            handler.send_response(status)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(data)

        self.script.append(answer)

    def streams(self, *events: Any, done: bool = True) -> None:
        """Add a server-sent-event answer; without `done` the connection closes half-way."""

        def answer(handler: Handler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Connection", "close")
            handler.end_headers()
            for event in [*(json.dumps(event) for event in events), *(["[DONE]"] if done else [])]:
                handler.wfile.write(f"data: {event}\n\n".encode())
                handler.wfile.flush()
            handler.close_connection = True

        self.script.append(answer)

    def hangs(self) -> None:
        """Add an answer that never comes."""
        self.script.append(lambda handler: self.test_is_over.wait(20) and None)

    def breaks_off(self, promised: int = 1000) -> None:
        """Add an answer that ends before the length it promised."""

        def answer(handler: Handler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(promised))
            handler.end_headers()
            handler.wfile.write(b'{"choices": [')
            handler.close_connection = True

        self.script.append(answer)

    def drips(self, interval_s: float = 0.1, *, kind: str = "application/json", what: bytes = b" ") -> None:
        """Add an answer that sends a little now and then, for ever."""

        def answer(handler: Handler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(10**12))
            handler.end_headers()
            while not self.test_is_over.is_set():
                handler.wfile.write(what)
                handler.wfile.flush()
                time.sleep(interval_s)

        self.script.append(answer)


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    """Run a server until the test is over."""
    scripted = ScriptedServer()
    thread = threading.Thread(target=scripted.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        scripted.test_is_over.set()
        scripted.shutdown()
        thread.join()
        scripted.server_close()
