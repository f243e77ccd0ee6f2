"""What our layer adds to the same request made by the engine's own client, as anyone would set it up."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from opensearchpy import OpenSearch
from qdrant_client import QdrantClient

from engine_measures.common import SPACE, TENANT, WORDS, Urls, chance_vector, engines_at, on_servers, write
from theworld.stores.dense import qdrant_points
from theworld.stores.dense.qdrant import QdrantDense
from theworld.stores.graph import neo4j_queries
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.stores.records import query_words
from theworld.stores.sparse.opensearch import OpenSearchSparse, query_body

TURNS = 200
HITS = 100
Call = Callable[[], object]


def overhead(path: Path, urls: Urls, notes: int) -> None:
    """Compare each search with the bare client's, turn by turn, in elapsed and in processor time."""
    write(path, notes)
    with on_servers(path, engines_at(urls)) as far:
        print(f"\n{notes} notes, {TURNS} turns; medians in ms; in brackets the processor time of this process")
        if isinstance(far.sparse, OpenSearchSparse):
            _opensearch(far.sparse, urls["sparse"])
        if isinstance(far.dense, QdrantDense):
            _qdrant(far.dense, urls["dense"])
        if isinstance(far.graph, Neo4jGraph):
            _neo4j(far.graph, urls["graph"])


def _opensearch(store: OpenSearchSparse, url: str) -> None:
    body: dict[str, Any] = {"query": query_body(query_words(WORDS), TENANT, {}), "size": HITS, "_source": False}
    body |= {"docvalue_fields": ["note"], "track_total_hits": False}
    with OpenSearch(hosts=[url], timeout=60) as client:
        _tell(
            "OpenSearch",
            lambda: client.search(index=store._alias, body=body),
            lambda: store.search(WORDS, tenant=TENANT, filters={}, limit=HITS),
        )


def _qdrant(store: QdrantDense, url: str) -> None:
    chance = np.random.default_rng(2)
    vector = store._known().state.spaces[SPACE].vector
    wanted = qdrant_points.tenants_notes(TENANT, {}, vector)
    client = QdrantClient(url=url, timeout=60, check_compatibility=False)

    def bare() -> object:
        nearest = chance_vector(chance).tolist()
        return client.query_points(
            store._alias, query=nearest, using=vector, query_filter=wanted, limit=HITS, with_payload=["note"]
        )

    def ours() -> object:
        return store.search(SPACE, chance_vector(chance), tenant=TENANT, filters={}, limit=HITS, spread=False)

    def spread() -> object:
        return store.search(SPACE, chance_vector(chance), tenant=TENANT, filters={}, limit=HITS)

    _tell("Qdrant", bare, ours)
    _tell("Qdrant, and how far cosines spread, as with several spaces", bare, spread)
    client.close()


def _neo4j(store: Neo4jGraph, url: str) -> None:
    from neo4j import GraphDatabase

    text, given = neo4j_queries.STATE, {"ledger": store._ledger}
    with GraphDatabase.driver(url) as driver, driver.session() as session:
        _tell("Neo4j", lambda: session.run(text, given=given).values(), lambda: store._client.read((text, given)))


def _tell(name: str, bare: Call, ours: Call) -> None:
    """Call both in turn, so that what else the machine does falls on both."""
    spent: dict[str, list[tuple[float, float]]] = {"bare": [], "ours": []}
    for turn in range(TURNS + 5):
        for who, call in (("bare", bare), ("ours", ours)):
            begun, worked = time.perf_counter(), time.process_time()
            call()
            if turn >= 5:
                spent[who].append((time.perf_counter() - begun, time.process_time() - worked))
    (bare_ms, bare_cpu), (our_ms, our_cpu) = (np.median(some, axis=0) * 1000 for some in spent.values())
    print(
        f"{name}: bare client {bare_ms:.2f} [{bare_cpu:.2f}], ours {our_ms:.2f} [{our_cpu:.2f}], "
        f"our layer {our_ms - bare_ms:+.2f} [{our_cpu - bare_cpu:+.2f}]"
    )
