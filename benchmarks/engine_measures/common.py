"""Servers, made-up notes and timing, which all measures share."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from made_documents import make_document
from services.launching import (
    CannotStartError,
    JavaServer,
    Neo4jServer,
    OpenSearchServer,
    PostgresServer,
    QdrantServer,
    Server,
)
from services.server_faults import Engine
from theworld.models.protocols import FloatArray
from theworld.settings import ServerSettings, ServersSettings, Settings
from theworld.stores.dense.qdrant import QdrantDense
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.sqlite import FILE_NAME
from theworld.stores.projections import Engines
from theworld.stores.sparse.opensearch import OpenSearchSparse

TENANT, SPACE, DIMENSION, TOKENS = "default", "space-en", 384, 100
WORDS = "river science Marie Curie 科学 电影 鲁迅 Paper 42"
Urls = dict[Engine, str]


KINDS: Mapping[Engine, type[Server]] = {
    "sparse": OpenSearchServer,
    "dense": QdrantServer,
    "graph": Neo4jServer,
    "ledger": PostgresServer,
}


def serve(
    folder: Path, stack: ExitStack, wanted: Collection[str], *, short_lived: bool
) -> tuple[Urls, dict[Engine, Server]]:
    """Return the wanted servers' addresses, having started those not given; those may be killed, and are returned.

    `short_lived` ones are compiled quickly rather than well.
    """
    urls: Urls = {}
    started: dict[Engine, Server] = {}
    for engine, kind in KINDS.items():
        if engine not in wanted:
            continue
        given = os.environ.get(f"THEWORLD_TEST_{kind.name.upper()}_URL")
        if given is None:
            server = kind(folder / kind.name)
            if isinstance(server, JavaServer):
                server.short_lived = short_lived
            stack.callback(server.stop)
            try:
                server.start()
            except CannotStartError as reason:
                print(f"{kind.name} takes no part: {reason}, and THEWORLD_TEST_{kind.name.upper()}_URL is not set")
                continue
            given = server.url
            started[engine] = server
        urls[engine] = given
    return urls, started


def engines_at(urls: Urls) -> Engines:
    given: dict[str, dict[str, Any]] = {name: {"url": url} for name, url in urls.items() if name != "ledger"}
    return Engines.of(Settings.model_validate({"servers": {"timeout_s": 60}, **given}))


def write(path: Path, notes: int) -> None:
    """Write made-up notes into the ledger alone, with vectors and tokens as the default embedder's."""
    store = KnowledgeStore.open(path, create=True)
    for first in range(0, notes // 2, 250):
        numbers = range(first, min(first + 250, notes // 2))
        store.put([make_document(number, dimension=DIMENSION, tokens=TOKENS) for number in numbers])
    store._release()


def copy_ledger(source: Path, target: Path) -> None:
    """Make a store of the ledger of another, which is only read; its projections are yet to be made."""
    target.mkdir(parents=True)
    with closing(sqlite3.connect(source / FILE_NAME)) as there, closing(sqlite3.connect(target / FILE_NAME)) as here:
        there.backup(here)


@contextmanager
def on_servers(path: Path, engines: Engines) -> Iterator[KnowledgeStore]:
    """Open a store on servers; at the end, remove what it put there."""
    store = KnowledgeStore.open(path, read_only=False, engines=engines)
    try:
        yield store
    finally:
        for projection in (store.sparse, store.dense, store.graph):
            if isinstance(projection, OpenSearchSparse | QdrantDense | Neo4jGraph):
                projection.drop()
        store._release()


def sync(path: Path, sections: Mapping[str, ServerSettings]) -> tuple[int, list[str]]:
    """Run `theworld sync --verify` on a store with these servers; return its exit code and what it says."""
    given = dict(os.environ)
    for name, section in sections.items():
        exclude = {"failures", "probe_s"}
        for key, value in section.model_dump(exclude_defaults=True, exclude_none=True, exclude=exclude).items():
            place = "servers" if key in ServersSettings.model_fields else name
            given[f"THEWORLD_{place}__{key}".upper()] = str(value)
    command = [sys.executable, "-c", "from theworld.cli import main; main()", "sync", "--verify", "--store", str(path)]
    done = subprocess.run(command, env=given, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def once(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def median(call: Callable[[], object], times: int = 50) -> float:
    call()
    return float(np.median([once(call) for _ in range(times)]))


def chance_vector(chance: np.random.Generator) -> FloatArray:
    return np.asarray(chance.normal(size=DIMENSION), np.float32)
