"""Both twins asked the same: speed of the projections, bytes, latency, agreement."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine_measures.common import (
    DIMENSION,
    SPACE,
    TENANT,
    TOKENS,
    WORDS,
    Urls,
    chance_vector,
    engines_at,
    median,
    on_servers,
    write,
)
from theworld.stores.dense.qdrant import QdrantDense
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.projections import Engines
from theworld.stores.sparse.opensearch import OpenSearchSparse


def compare(path: Path, urls: Urls, notes: int) -> None:
    """Ask both the same."""
    write(path, notes)
    engines = engines_at(urls)
    with KnowledgeStore.open(path, read_only=False) as near:
        near.catch_up()
    with on_servers(path, engines) as far:
        print(f"\n{notes} notes of {DIMENSION} numbers and {TOKENS} tokens; troubles {dict(far.troubles)}")
        with KnowledgeStore.open(path) as near:
            projections(path, far)
            sizes(far, near, notes)
            latencies(near, far)
            agreement(near, far)


def projections(path: Path, far: KnowledgeStore) -> None:
    """Empty and fill each projection, embedded and on its server."""
    last = far.ledger.sequence()
    print(f"\n{'replay':14}{'embedded':>12}{'server':>12}{'ratio':>8}   notes/s")
    embedded = Engines()
    for name in ("sparse", "dense", "graph"):
        feeder = next(one for one in far.projections.feeders if one.name == name)
        if not feeder.remote:
            continue
        fresh = path.parent / f"fresh-{name}"
        twin: Any = {
            "sparse": lambda at=fresh: embedded.open_sparse(at, "", writable=True),
            "dense": lambda at=fresh: embedded.open_dense(at, "", writable=True),
            "graph": lambda at=fresh: embedded.open_graph(at, "", writable=True),
        }[name]()
        speeds = []
        for projection in (twin, feeder.projection):
            projection.clear()
            begun = time.perf_counter()
            after = 0
            while after < last:
                changes, after = far.ledger.changes(after, feeder.batch, feeder.parts)
                projection.apply(changes, after)
            speeds.append(last / (time.perf_counter() - begun))
        twin.close()
        print(f"{name:14}{speeds[0]:12.0f}{speeds[1]:12.0f}{speeds[1] / speeds[0]:8.2f}")
    begun = time.perf_counter()
    equal = all(expected == held for expected, held in far.verify().values())
    print(f"verified in {time.perf_counter() - begun:.1f} s: {'equal' if equal else far.verify()}")


def sizes(far: KnowledgeStore, near: KnowledgeStore, notes: int) -> None:
    """Print bytes a note on disk, as each engine tells them."""
    told = {f"{name}, embedded": size for name, size in near.info()["bytes"].items()}
    if isinstance(far.sparse, OpenSearchSparse):
        stats = far.sparse._client.indices.stats(index=far.sparse._alias, metric="store")
        told["OpenSearch"] = stats["_all"]["primaries"]["store"]["size_in_bytes"]
    if isinstance(far.dense, QdrantDense):
        told["Qdrant, vectors"] = notes * DIMENSION * 4
        payloads = far.dense._patient.scroll(far.dense._alias, limit=notes + 1)[0]
        told["Qdrant, payload"] = sum(len(json.dumps(one.payload)) for one in payloads)
    if isinstance(far.graph, Neo4jGraph):
        mine = {"ledger": far.graph._ledger}
        entities, edges = (
            rows[0][0]
            for rows in far.graph._client.read(
                ("MATCH (e:TheWorldEntity {ledger: $given.ledger}) WITH count(e) AS n RETURN collect([n])", mine),
                ("MATCH (:TheWorldNote {ledger: $given.ledger})-[r]->() WITH count(r) AS n RETURN collect([n])", mine),
            )
        )
        nodes = len(list(far.graph.held())) + entities
        print(f"Neo4j: {nodes / notes:.2f} nodes and {edges / notes:.2f} relationships a note")
    print("bytes a note: " + ", ".join(f"{name} {size / notes:.0f}" for name, size in told.items()))


def latencies(near: KnowledgeStore, far: KnowledgeStore) -> None:
    hits = near.sparse.search(WORDS, tenant=TENANT, filters={}, limit=100)
    ids, seeds = [hit.note_id for hit in hits], {hit.note_id: 1.0 for hit in hits[:6]}
    chance = np.random.default_rng(1)

    def asked(store: KnowledgeStore, *, cold: bool) -> dict[str, Callable[[], object]]:
        everywhere: dict[str, Any] = {"tenant": TENANT, "filters": {}, "limit": 100}

        def forgetting(call: Callable[[], object]) -> Callable[[], object]:
            def ask() -> object:
                if cold and isinstance(store.graph, Neo4jGraph):
                    store.graph._fetched.clear()
                if cold and isinstance(store.dense, QdrantDense):
                    store.dense._seen = None
                return call()

            return ask

        return {
            "sparse, 100 hits": lambda: store.sparse.search(WORDS, **everywhere),
            "sparse, filtered": lambda: store.sparse.search(WORDS, **{**everywhere, "filters": {"tags": "a"}}),
            "dense, 100 hits": lambda: store.dense.search(SPACE, chance_vector(chance), **everywhere, spread=False),
            "dense, and spread": lambda: store.dense.search(SPACE, chance_vector(chance), **everywhere),
            "dense, filtered": lambda: store.dense.search(
                SPACE, chance_vector(chance), **{**everywhere, "filters": {"tags": "a"}}
            ),
            "codes of 100": forgetting(lambda: store.dense.token_codes(SPACE, ids, TENANT)),
            "cosines of 100": lambda: store.dense.cosines(SPACE, chance_vector(chance), ids, TENANT),
            "idf of 20": forgetting(lambda: store.dense.token_idf(SPACE, range(20))),
            "rank": forgetting(lambda: store.graph.rank(notes=seeds, entities={}, **everywhere)),
            "links among 100": forgetting(lambda: store.graph.links(ids, tenant=TENANT)),
            "paths to 20": forgetting(
                lambda: store.graph.paths(ids[6:26], notes=list(seeds), entities=[], tenant=TENANT)
            ),
        }

    print(f"\n{'':22}{'embedded':>12}{'nothing kept':>14}{'kept':>10}   median ms")
    calls = asked(near, cold=False), asked(far, cold=True), asked(far, cold=False)
    for what, embedded in calls[0].items():
        print(f"{what:22}{median(embedded):12.2f}{median(calls[1][what], 20):14.2f}{median(calls[2][what]):10.2f}")


def agreement(near: KnowledgeStore, far: KnowledgeStore, questions: int = 100) -> None:
    """Print how many of the embedded twin's best notes the server finds."""
    chance, numbers = random.Random(1), np.random.default_rng(3)
    notes = list(near.iter_notes(TENANT))
    shared: dict[str, list[float]] = {}
    for _ in range(questions):
        some = chance.sample(notes, 5)
        words, seeds, vector = some[0].text, {note.id: 1.0 for note in some}, chance_vector(numbers)
        filters = chance.choice([{}, {"tags": "a"}])
        given: dict[str, Any] = {"tenant": TENANT, "filters": filters, "limit": 10}
        asks: dict[str, Callable[[KnowledgeStore], Any]] = {
            "sparse": lambda s, w=words, g=given: s.sparse.search(w, **g),
            "dense": lambda s, v=vector, g=given: s.dense.search(SPACE, v, **g).hits,
            "graph": lambda s, n=seeds, g=given: s.graph.rank(notes=n, entities={}, **g),
        }
        for name, ask in asks.items():
            best, found = ({hit.note_id for hit in ask(store)} for store in (near, far))
            shared.setdefault(name, []).append(len(best & found) / max(1, len(best)))
    print(f"\ntop 10 of {questions} questions found on the servers too: ", end="")
    print(", ".join(f"{name} {100 * float(np.mean(some)):.1f} %" for name, some in shared.items()))
