"""Nearest neighbours among many vectors: an exact search against first passes that choose what is compared exactly.

    python benchmarks/dense_search.py DATASET... [--notes 100000] [--questions 60] [--qdrant]

DATASET are folders in BEIR layout, all in English. Their notes' vectors are taken from their stores (made first, if
need be), further ones are mixtures of two with noise, as in scale_corpus.py. `--qdrant` adds the embedded engine of
qdrant-edge (pip install qdrant-edge-py), which is no dependency. Everything but
qdrant-edge runs on one thread; times are per question.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from environment import environment  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scale_corpus import NOISE  # noqa: E402

from theworld.cli.ingesting import ingest_paths  # noqa: E402
from theworld.evaluation.datasets import load_dataset, store_path  # noqa: E402
from theworld.evaluation.metrics import percentile  # noqa: E402
from theworld.models.protocols import FloatArray  # noqa: E402
from theworld.models.registry import load_models  # noqa: E402
from theworld.settings import Settings  # noqa: E402
from theworld.stores.array_folder import inner_products  # noqa: E402
from theworld.stores.knowledge_store import KnowledgeStore  # noqa: E402

Rows = NDArray[np.int64]
Search = Callable[[FloatArray], Rows]
BLOCK = 2048


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--qdrant", action="store_true", help="compare with qdrant-edge, too")
    arguments = parser.parse_args()
    print(environment())
    matrix = made_larger(real_vectors(arguments.datasets), arguments.notes)
    queries = question_vectors(arguments.datasets, arguments.questions)
    print(f"{len(matrix)} vectors of {matrix.shape[1]} dimensions, {len(queries)} questions\n")
    exact = [best(matrix @ query, 100) for query in queries]
    print(
        "| | bytes read a vector | P50 ms | P95 ms | recall@20 | recall@100 | least recall@100 |\n" + "|---" * 7 + "|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for label, size, search in ways(matrix, Path(folder) if arguments.qdrant else None):
            show(label, size, search, queries, exact)


def real_vectors(datasets: list[Path]) -> FloatArray:
    """Return the vectors of all notes of the datasets."""
    found = []
    for folder in datasets:
        settings = Settings.load(store=store_path(load_dataset(folder), Settings.load()))
        ingest_paths([folder / "corpus.jsonl"], settings)
        with KnowledgeStore.open(settings.store) as store:
            after, last = 0, store.ledger.sequence()
            while after < last:
                changes, after = store.ledger.changes(after, 500)
                found += [one.vector for c in changes if c.note is not None for one in c.note.vectors.values()]
    return np.stack(found).astype(np.float32)


def made_larger(real: FloatArray, number: int) -> FloatArray:
    """Return so many unit vectors: the real ones, then mixtures of two real ones with noise."""
    random = np.random.default_rng(1)
    first, second = (real[random.integers(len(real), size=number)] for _ in range(2))
    share = random.uniform(0.25, 0.75, size=(number, 1)).astype(np.float32)
    mixed = normal(share * first + (1 - share) * second)
    noise = random.normal(size=mixed.shape).astype(np.float32)
    mixed = normal(mixed + NOISE * normal(noise))
    mixed[: len(real)] = real[:number]
    return np.ascontiguousarray(mixed)


def normal(vectors: FloatArray) -> FloatArray:
    """Return the rows at length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def question_vectors(datasets: list[Path], number: int) -> list[FloatArray]:
    """Return the vectors of the first questions of each dataset."""
    embedder = load_models(Settings.load()).embedders["en"]
    texts = [query.text for folder in datasets for query in load_dataset(folder).queries[: number // len(datasets)]]
    return [embedder.embed_query(text).vector for text in texts]


def best(scores: NDArray[np.floating], limit: int) -> Rows:
    """Return the places of the largest scores, best first, ties by place."""
    found = np.argpartition(-scores, limit)[:limit] if limit < len(scores) else np.arange(len(scores))
    return np.asarray(found[np.lexsort((found, -scores[found]))], np.int64)


def ways(matrix: FloatArray, folder: Path | None) -> Iterator[tuple[str, float, Search]]:
    """Yield what is compared: a name, the bytes read of each vector at first, and the search."""
    number, dimension = matrix.shape

    def then_exact(first: Callable[[FloatArray], NDArray[np.floating]], depth: int) -> Search:
        def search(query: FloatArray) -> Rows:
            near = np.sort(best(first(query), depth))
            return near[best(matrix[near] @ query, 100)]

        return search

    yield "exact, float32", 4 * dimension, lambda query: best(matrix @ query, 100)
    # What the embedded store does: one thread, and the same sum for a row wherever it stands.
    yield "exact, as the store compares", 4 * dimension, lambda query: best(inner_products(matrix, query), 100)
    # What it does in large matrices: the signs around the mean, and those that differ least (theworld.stores.dense).
    center = matrix[::64].mean(0)
    signs = np.packbits(matrix > center, axis=1).view(np.uint64)

    def agreeing(query: FloatArray) -> NDArray[np.floating]:
        return -np.bitwise_count(signs ^ np.packbits(query > center).view(np.uint64)).sum(1, dtype=np.float32)

    for depth in (2048, 4096, 8192):
        yield f"one bit a dimension, then {depth} exact", dimension / 8, then_exact(agreeing, depth)
    values, axes = np.linalg.eigh(np.cov(matrix[:: max(1, number // 20_000)].T))
    axes = axes[:, np.argsort(-values)].astype(np.float32)
    for kept in (64, 128):
        short = np.ascontiguousarray(matrix @ axes[:, :kept])
        yield (
            f"{kept} principal components, then 2048 exact",
            4 * kept,
            then_exact(lambda query, short=short, kept=kept: short @ (query @ axes[:, :kept]), 2048),
        )
    half, scale = matrix.astype(np.float16), np.abs(matrix).max(axis=1) / 127
    small = np.rint(matrix / scale[:, None]).astype(np.int8)
    for label, size, stored, weight in (("float16", 2, half, 1.0), ("int8", 1, small, scale)):
        yield (
            f"{label} in blocks of float32, then 200 exact",
            size * dimension,
            then_exact(lambda query, stored=stored, weight=weight: in_blocks(stored, query) * weight, 200),
        )
    if folder is not None:
        yield from qdrant_edge(matrix, folder)


def in_blocks(stored: NDArray[np.generic], query: FloatArray) -> FloatArray:
    """Return inner products with vectors of another type, a block at a time in float32."""
    found = np.empty(len(stored), np.float32)
    for start in range(0, len(stored), BLOCK):
        found[start : start + BLOCK] = stored[start : start + BLOCK].astype(np.float32) @ query
    return found


def qdrant_edge(matrix: FloatArray, folder: Path) -> Iterator[tuple[str, float, Search]]:
    """Yield the embedded engine of Qdrant: its exact search, and its index."""
    import qdrant_edge as edge

    vectors = {"": edge.EdgeVectorParams(size=matrix.shape[1], distance=edge.Distance.Dot)}
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=vectors))
    for start in range(0, len(matrix), BLOCK):
        points = [edge.Point(id=start + i, vector=row.tolist()) for i, row in enumerate(matrix[start : start + BLOCK])]
        shard.update(edge.UpdateOperation.upsert_points(points))

    def search(query: FloatArray, parameters: object) -> Rows:
        asked = edge.QueryRequest(query=edge.Query.Nearest(query.tolist()), limit=100, params=parameters)
        return np.array([point.id for point in shard.query(asked)], np.int64)

    plain = edge.SearchParams(exact=True)
    yield "qdrant-edge, exact", 4 * matrix.shape[1], lambda query: search(query, plain)
    print("qdrant-edge builds its index ...", file=sys.stderr)
    shard.optimize()
    indexed = edge.SearchParams(hnsw_ef=128, exact=False)
    yield "qdrant-edge, HNSW, ef 128", float("nan"), lambda query: search(query, indexed)
    shard.close()


def show(label: str, size: float, search: Search, queries: list[FloatArray], exact: list[Rows]) -> None:
    """Print one line of the table."""
    spent, used, at20, at100 = [], [], [], []
    for query, expected in zip(queries, exact, strict=True):
        begun, before = time.perf_counter(), time.process_time()
        found = search(query)
        spent.append((time.perf_counter() - begun) * 1000)
        used.append((time.process_time() - before) * 1000)
        at20.append(len(set(found[:20].tolist()) & set(expected[:20].tolist())) / 20)
        at100.append(len(set(found.tolist()) & set(expected.tolist())) / 100)
    times = f"{statistics.median(spent):.2f} | {percentile(spent, 0.95):.2f} | {statistics.median(used):.2f}"
    print(f"| {label} | {size:.0f} | {times} | {np.mean(at20):.4f} | {np.mean(at100):.4f} | {min(at100):.2f} |")


if __name__ == "__main__":
    main()
