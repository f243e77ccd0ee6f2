"""Entries in the shape of dumps and of the service, and a server on this machine that answers as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from theworld.wikidata import Endpoint, ReplyCache, WikidataClient, WikidataTransport

ENTITIES = Path(__file__).with_name("data") / "entities.jsonl"
CONTACT = "operator@example.org"


@pytest.fixture
def entities() -> dict[str, dict[str, Any]]:
    """QID -> entity."""
    lines = ENTITIES.read_text(encoding="utf-8").splitlines()
    return {entity["id"]: entity for entity in map(json.loads, lines)}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """The entities as a dump."""
    lines = ENTITIES.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "dump.json"
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    return path


@dataclass
class Reply:
    """One scripted answer."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    slow_s: float = 0.0
    """Wait between the halves of the body."""
    drip_s: float = 0.0
    """Wait after every byte."""
    promised: int | None = None
    """Content-Length, if another than the body's."""


@dataclass
class Service:
    """What the server does: the scripted replies first, then as Wikidata would."""

    entities: dict[str, dict[str, Any]]
    url: str = ""
    script: list[Reply] = field(default_factory=list)
    always: Reply | None = None
    asked: list[dict[str, str]] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    """Old QID -> QID."""
    thinks_s: float = 0.0
    """Time every reply takes."""
    ports: set[int] = field(default_factory=set)
    under_way: int = 0
    most_at_once: int = 0
    """Requests worked on at the same time."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        with self.lock:
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)

    def end(self) -> None:
        with self.lock:
            self.under_way -= 1

    def reply(self, query: dict[str, str]) -> Reply:
        if self.script:
            return self.script.pop(0)
        if self.always:
            return self.always
        answer = self.search(query) if query["action"] == "wbsearchentities" else self.get(query)
        return Reply(json.dumps(answer, ensure_ascii=False).encode())

    def search(self, query: dict[str, str]) -> dict[str, Any]:
        found = []
        for qid, entity in self.entities.items():
            code = query["language"]
            names = [entity["labels"][c]["value"] for c in entity["labels"] if c.startswith(code)]
            names += [n["value"] for c in entity["aliases"] if c.startswith(code) for n in entity["aliases"][c]]
            if any(name.casefold().startswith(query["search"].casefold()) for name in names):
                old = next((old for old, new in self.redirects.items() if new == qid), qid)
                found.append({"id": old, "title": old, "label": names[0], "match": {"language": code}})
        return {"searchinfo": {"search": query["search"]}, "search": found[: int(query["limit"])], "success": 1}

    def get(self, query: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for qid in query["ids"].split("|"):
            target = self.redirects.get(qid, qid)
            entity = self.entities.get(target)
            found[qid] = {"id": qid, "missing": ""} if entity is None else dict(entity)
            if target != qid:
                found[qid]["redirects"] = {"from": qid, "to": target}
        return {"entities": found, "success": 1}


@pytest.fixture
def service(entities: dict[str, dict[str, Any]]) -> Iterator[Service]:
    """A running server."""
    service = Service(entities)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            query = dict(parse_qsl(urlsplit(self.path).query))
            service.asked.append(query)
            service.agents.append(self.headers["User-Agent"])
            service.ports.add(self.client_address[1])
            service.begin()
            reply = service.reply(query)
            time.sleep(service.thinks_s)
            service.end()  # before the reply goes out: with it the caller may ask again
            try:
                self.answer(reply)
            except OSError:
                self.close_connection = True

        def answer(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(reply.promised or len(reply.body)))
            self.end_headers()
            for place in range(len(reply.body) if reply.drip_s else 0):
                self.wfile.write(reply.body[place : place + 1])
                self.wfile.flush()
                time.sleep(reply.drip_s)
            if reply.drip_s:
                return
            half = len(reply.body) // 2 if reply.slow_s else 0
            self.wfile.write(reply.body[:half])
            self.wfile.flush()
            time.sleep(reply.slow_s)
            self.wfile.write(reply.body[half:])
            self.close_connection = reply.promised is not None

        def log_message(self, *arguments: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}/w/api.php"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield service
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def reply() -> type[Reply]:
    """The type of scripted answers."""
    return Reply


MakeClient = Callable[..., WikidataClient]


@pytest.fixture
def waits() -> list[float]:
    """What the client slept between attempts."""
    return []


@pytest.fixture
def make_client(service: Service, tmp_path: Path, waits: list[float]) -> Iterator[MakeClient]:
    """Return a function that makes clients of the server, without real waits and without cache unless asked."""
    made: list[WikidataClient] = []

    def make(*, cached: bool = False, timeout_s: float = 30.0, **changes: Any) -> WikidataClient:
        endpoint = Endpoint(**{"url": service.url, "contact": CONTACT, "timeout_s": timeout_s, **changes})
        cache = ReplyCache(tmp_path / "cache" / "replies.sqlite", ttl_s=60, max_bytes=10**6) if cached else None
        made.append(WikidataClient(WikidataTransport(endpoint, sleep=waits.append), cache))
        return made[-1]

    yield make
    for client in made:
        client.close()
