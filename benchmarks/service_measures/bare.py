"""A server that does nothing: to every request it sends the same bytes. What it takes is the client's own time."""

from __future__ import annotations

import multiprocessing
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection


class _Reply(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    reply = b""

    def handle(self) -> None:
        while self.rfile.readline():
            length = 0
            while (line := self.rfile.readline().strip().lower()) != b"":
                name, _, value = line.partition(b":")
                length = int(value) if name == b"content-length" else length
            self.rfile.read(length)
            self.wfile.write(self.reply)


def _serve(body: bytes, told: Connection) -> None:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    handler = type("Reply", (_Reply,), {"reply": head.encode() + body})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        told.send(server.server_address[1])
        server.serve_forever()


@contextmanager
def bare_server(body: bytes) -> Iterator[str]:
    """Send `body` to whoever asks, from a process of its own; yields the address."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe()
    process = context.Process(target=_serve, args=(body, its), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{mine.recv()}"
    finally:
        process.kill()
        process.join()
