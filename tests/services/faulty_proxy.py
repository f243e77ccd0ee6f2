"""A TCP proxy that misbehaves on demand: what stands between a client and a real server when the network is bad."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from services.launching import free_port
from theworld.errors import EngineUnavailableError

PATIENT_S = 60.0

Change = Callable[[bytes], bytes]
"""Takes a piece of a reply, returns what is passed on."""


class FaultyProxy:
    """Passes bytes on to a server; the attributes say what goes wrong, from the next bytes on."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        """Listen on a free port for the server of a URL, with TLS towards clients where a context is given."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._tls = tls
        self.delay_s = 0.0
        """Waited before each piece of a reply."""
        self.cut_after: int | None = None
        """Bytes of replies, counted from now, after which the connection is cut."""
        self.change: Change | None = None
        """What is done to each piece of a reply."""
        self.rewriting: Callable[[], Change] | None = None
        """Makes, for each connection, what is done to its replies, where that has to know what came before."""
        self.silent = False
        """Whether what clients send is swallowed."""
        self.cut_requests_after: int | None = None
        """Bytes of requests, counted from now, after which the connection is cut."""
        self.seen = bytearray()
        """What clients have sent."""
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self.port = free_port()
        self.accept()

    def accept(self) -> None:
        """Listen, again if need be on the same port."""
        self._listener = socket.create_server(("127.0.0.1", self.port), reuse_port=False)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def refuse(self) -> None:
        """Stop listening and cut all connections."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.cut()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        """Misbehave no more."""
        self.delay_s, self.cut_after, self.change = 0.0, None, None
        self.rewriting, self.silent, self.cut_requests_after = None, False, None
        if self._listener is None:
            self.accept()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(client.close)
            try:
                if self._tls is not None:
                    client = self._tls.wrap_socket(client, server_side=True)
                    stack.callback(client.close)
                server = socket.create_connection(self._target)
            except OSError:
                return
            stack.callback(server.close)
            with self._lock:
                self._open.update((client, server))
            back = threading.Thread(target=self._pass, args=(server, client, True), daemon=True)
            back.start()
            self._pass(client, server, False)
            back.join()
            with self._lock:
                self._open.difference_update((client, server))

    def _pass(self, source: socket.socket, target: socket.socket, replies: bool) -> None:
        passed = 0
        made: Callable[[], Change] | None = None
        rewrite: Change | None = None
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if replies:
                    time.sleep(self.delay_s)
                    if self.rewriting is not made:
                        made = self.rewriting
                        rewrite = made() if made is not None else None
                    for change in (self.change, rewrite):
                        piece = change(piece) if change is not None else piece
                else:
                    self.seen += piece
                    piece = b"" if self.silent else piece
                limit = self.cut_after if replies else self.cut_requests_after
                if limit is None:
                    passed = 0
                elif passed + len(piece) > limit:
                    target.sendall(piece[: max(0, limit - passed)])
                    break
                else:
                    passed += len(piece)
                target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of everything."""
        self.refuse()


def until_answered(ask: Callable[[], Any]) -> Any:
    """Ask again and again: the client has to recover by itself."""
    deadline = time.monotonic() + PATIENT_S
    while True:
        try:
            return ask()
        except EngineUnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _garbled(piece: bytes) -> bytes:
    return piece[: len(piece) // 2] + b"\x00" * (len(piece) - len(piece) // 2)


def _shifted(piece: bytes) -> bytes:
    """Note ids end in their number: they all become those of others."""
    return piece.replace(b"#0", b"#7")


def _break_off(proxy: FaultyProxy) -> None:
    proxy.cut_after = 40
    proxy.cut()


FAULTS: dict[str, Callable[[FaultyProxy], None]] = {
    "refuse": FaultyProxy.refuse,
    "crawl": lambda proxy: setattr(proxy, "delay_s", 30.0),
    "break off": _break_off,
    "garble": lambda proxy: setattr(proxy, "change", _garbled),
    "lie": lambda proxy: setattr(proxy, "change", _shifted),
}
"""What can go wrong between a client and a server, by name."""
