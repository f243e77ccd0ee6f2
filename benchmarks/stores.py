"""Measure the embedded stores on made-up notes: writing, opening, and each kind of query.

python benchmarks/stores.py --notes 2000 --notes 20000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from environment import environment
from latency import resident_mb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from made_documents import make_document
from theworld.stores.knowledge_store import KnowledgeStore

TENANT, SPACE, DIMENSION, TOKENS, BATCH = "default", "space-en", 384, 120, 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, action="append", help="number of notes; may be repeated (default 2000)")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read is not None:
        read(arguments.read)
        return
    print(environment())
    for count in arguments.notes or [2000]:
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n{count} notes, vectors of {DIMENSION}, {TOKENS} token vectors a note")
            write(Path(folder) / "store", count)
            # A process of its own, so that memory and opening time are those of a reader.
            subprocess.run([sys.executable, __file__, "--read", str(Path(folder) / "store")], check=True)


def write(path: Path, count: int) -> None:
    put = 0.0
    with KnowledgeStore.open(path, create=True) as store:
        for first in range(0, count // 2, BATCH):
            numbers = range(first, min(first + BATCH, count // 2))
            documents = [make_document(number, dimension=DIMENSION, tokens=TOKENS) for number in numbers]
            begun = time.perf_counter()
            store.put(documents)
            put += time.perf_counter() - begun
        begun = time.perf_counter()
        store.catch_up()
        print(f"put {count / put:.0f} notes/s, projections {count / (time.perf_counter() - begun):.0f} notes/s")


def read(path: Path) -> None:
    before, begun = resident_mb(), time.perf_counter()
    with KnowledgeStore.open(path) as store:
        print(f"open {(time.perf_counter() - begun) * 1000:.0f} ms, {resident_mb() - before:.0f} MB")
        print({name: f"{size / 1e6:.1f} MB" for name, size in store.info()["bytes"].items()})
        measure("refresh", store.refresh, 500)
        words = "river science Marie Curie 科学 电影 鲁迅 Paper 42"
        measure("sparse", lambda: store.sparse.search(words, tenant=TENANT, filters={}, limit=100))
        measure("sparse, filtered", lambda: store.sparse.search(words, tenant=TENANT, filters={"tags": "a"}, limit=100))
        vector = np.random.default_rng(0).normal(size=DIMENSION).astype(np.float32)
        measure("dense", lambda: store.dense.search(SPACE, vector, tenant=TENANT, filters={}, limit=100))
        measure(
            "dense, filtered",
            lambda: store.dense.search(SPACE, vector, tenant=TENANT, filters={"tags": "a"}, limit=100),
        )
        ids = [hit.note_id for hit in store.dense.search(SPACE, vector, tenant=TENANT, filters={}, limit=100).hits]
        measure("token codes of 100", lambda: [v.codes.sum() for v in tokens_of(store, ids)])
        measure("100 notes, uncached", lambda: store.ledger.notes(ids, tenant=TENANT))
        measure("100 notes", lambda: store.notes(ids, tenant=TENANT))
        seeds = dict.fromkeys(ids[:6], 1.0)
        measure("rank", lambda: store.graph.rank(notes=seeds, entities={}, tenant=TENANT, filters={}, limit=100))
        measure("links among 100", lambda: store.graph.links(ids, tenant=TENANT))
        measure("paths to 20", lambda: store.graph.paths(ids[6:26], notes=ids[:6], entities=[], tenant=TENANT))


def tokens_of(store: KnowledgeStore, ids: list[str]) -> list:
    return [found for found in store.dense.token_codes(SPACE, ids, TENANT) if found is not None]


def measure(what: str, call: Callable[[], object], times: int = 50) -> None:
    begun = time.perf_counter()
    call()
    first = (time.perf_counter() - begun) * 1000
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        spent.append((time.perf_counter() - begun) * 1000)
    print(f"{what:22} first {first:8.2f} ms, median {np.median(spent):8.3f} ms, p95 {np.percentile(spent, 95):8.3f} ms")


if __name__ == "__main__":
    main()
