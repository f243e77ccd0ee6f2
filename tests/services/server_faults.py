"""What can go wrong with one engine's server, by name: with the network before it, in what it says, or with itself."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import pytest

from services.faulty_proxy import FAULTS, Change, FaultyProxy
from services.launching import Server

Engine = Literal["sparse", "dense", "graph", "ledger"]
During = Literal["question", "ingestion"]

HALF_OPEN = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <(function Bolt.__del__|socket.socket):pytest.PytestUnraisableExceptionWarning"
)
"""A peer that closes while Neo4j's driver opens a connection leaves one that its finalizer cannot close."""


class HttpReplies:
    """Rewrites the replies on one connection, each when it is whole."""

    def __init__(self, change: Callable[[bytes, bytes], tuple[bytes, bytes]]) -> None:
        """Take what changes head (with its last empty line, without its length) and body."""
        self._change, self._waiting = change, b""

    def __call__(self, piece: bytes) -> bytes:
        self._waiting += piece
        passed = b""
        while b"\r\n\r\n" in self._waiting:
            head, _, rest = self._waiting.partition(b"\r\n\r\n")
            told = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            length = int(told[1]) if told is not None else 0
            if len(rest) < length:
                break
            self._waiting = rest[length:]
            head, body = self._change(re.sub(rb"(?i)\r\ncontent-length: *\d+", b"", head), rest[:length])
            passed += head + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        return passed


def _truncated(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    return head, body[: len(body) // 2]


def _emptied(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    return head, b"{}"


def _not_a_number(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    return head, re.sub(rb'"(_?score)":-?[0-9.]+(E-?[0-9]+)?', rb'"\1":NaN', body)


def _failed(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    _, _, fields = head.partition(b"\r\n")
    return b"HTTP/1.1 500 Internal Server Error\r\n" + fields, b'{"error": {"reason": "out of memory"}, "status": 500}'


def _bolt_failure() -> Change:
    def text(value: str) -> bytes:
        return b"\xd0" + bytes([len(value)]) + value.encode()

    told = {"neo4j_code": "Neo.DatabaseError.General.OutOfMemoryError", "message": "out of memory"}
    told |= {"code": told["neo4j_code"], "gql_status": "50N42", "description": "error: general processing exception"}
    body = b"\xb1\x7f" + bytes([0xA0 + len(told)]) + b"".join(text(part) for pair in told.items() for part in pair)
    message = struct.pack(">H", len(body)) + body + b"\x00\x00"
    return lambda _: message


def _postgres_failure() -> Change:
    fields = b"SERROR\x00VERROR\x00C53200\x00Mout of memory\x00\x00"
    message = b"E" + struct.pack(">I", len(fields) + 4) + fields + b"Z" + struct.pack(">I", 5) + b"I"
    return lambda _: message


def _rewrite(change: Callable[[bytes, bytes], tuple[bytes, bytes]]) -> Callable[[FaultyProxy], None]:
    return lambda proxy: setattr(proxy, "rewriting", lambda: HttpReplies(change))


def _mid_reply(proxy: FaultyProxy) -> None:
    proxy.cut_after = 150


def _mid_request(proxy: FaultyProxy) -> None:
    proxy.cut_requests_after = 150


Injury = Callable[[FaultyProxy], None]
NETWORK: Mapping[str, Injury] = {
    **{name: FAULTS[name] for name in ("refuse", "crawl", "break off", "garble")},
    "hang": lambda proxy: setattr(proxy, "silent", True),
    "cut in a reply": _mid_reply,
    "cut in a request": _mid_request,
}
_HTTP: Mapping[str, Injury] = {
    "truncated JSON": _rewrite(_truncated),
    "empty JSON": _rewrite(_emptied),
    "error 500": _rewrite(_failed),
}
SAID: Mapping[Engine, Mapping[str, Injury]] = {
    "sparse": _HTTP,
    "dense": _HTTP,
    "graph": {"error 500": lambda proxy: setattr(proxy, "rewriting", _bolt_failure)},
    "ledger": {"error 500": lambda proxy: setattr(proxy, "rewriting", _postgres_failure)},
}
"""What only answers to questions can be: what a server says of a write holds no notes and no scores."""
LIES: Mapping[Engine, Mapping[str, Injury]] = {
    "sparse": {"wrong ids": FAULTS["lie"], "NaN scores": _rewrite(_not_a_number)},
    "dense": {"wrong ids": FAULTS["lie"], "NaN scores": _rewrite(_not_a_number)},
    "graph": {"wrong ids": FAULTS["lie"]},
    "ledger": {"wrong ids": FAULTS["lie"]},
}
REAL = ("killed", "stopped", "suspended")
"""What is done to the server itself: it is killed and started, stopped in order and started, or let hang."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault to be injected."""

    engine: Engine
    kind: str
    during: During

    def inject(self, proxy: FaultyProxy, server: Server | None) -> None:
        """Let it begin."""
        if self.kind in REAL:
            assert server is not None
            {"killed": server.kill, "stopped": server.stop, "suspended": server.suspend}[self.kind]()
        else:
            {**NETWORK, **SAID[self.engine], **LIES[self.engine]}[self.kind](proxy)

    def mend(self, proxy: FaultyProxy, server: Server | None) -> None:
        """Let it end; returns when the server answers."""
        if self.kind == "suspended":
            assert server is not None
            server.resume()
        elif self.kind in REAL:
            assert server is not None
            server.start()
        else:
            proxy.heal()
            proxy.cut()


def kinds(engine: Engine, during: During, *, real: bool) -> list[str]:
    """Return what can happen to an engine; `real`: to the server itself."""
    if real:
        return list(REAL)
    told = [*NETWORK, *SAID[engine]]
    return told if during == "ingestion" else [*told, *LIES[engine]]
