"""Simulate shards: questions that wait for all of them, how even they are, how long filling and recovery take.

    python benchmarks/sharding.py FOLDER... [--seed 1]

The sizes of documents are those of the folders; times and rates are the measured ones below, each with its section of
benchmarks/README.md. It prints the tables of docs/scale.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from environment import environment

from theworld.ingestion.plan import read_file
from theworld.ingestion.sources import find_sources
from theworld.settings import Settings

QUIET_MS, BUSY_MS = (44.3, 60.0), (76.6, 189.15)
"""P50 and P95 of a question: 100,000 notes ("Size"), 7,960 beside much other work ("Retrieval by stage", 2wiki)."""
STALL_SHARE, STALL_MS = 0.001, (1_000.0, 14_000.0)
"""A thousandth of replies, assumed, waits for a server that comes back; Neo4j's P95 is 14 s ("Servers")."""
LATE_MS = 0.75 * Settings().retrieval.deadline_ms
MODELS = 33.6 / 2
"""Notes a second and core, whole ingestion ("Size")."""
WRITER = 1 / (1 / 1820 + 1 / (0.7 * 1440) + 1 / 1240)
"""Notes a second of one writer: links, a ledger on PostgreSQL at .7 of SQLite's pace, Neo4j ("Size", "Servers")."""
REPLAY = {"OpenSearch": 2300.0, "Neo4j": 1240.0, "Qdrant": 20_000 / 120}
QUESTIONS, SHARDS, CORES = 200_000, 20, (2, 16, 64, 256, 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="documents, for their sizes")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = np.random.default_rng(arguments.seed)
    print(environment())
    show("shards asked | quiet: P50 / P95 / P99, ms | busy | questions with a late shard, %", fan_out(chance))
    read = [one for file in find_sources(arguments.folders).files for one in read_file(file, Settings().notes)]
    sizes = np.array([len(list(one[1])) for one in read if isinstance(one, tuple)])
    print(f"\n{len(sizes)} documents: {sizes.mean():.1f} notes in the mean, {sizes.max()} at most")
    show("notes | shards | fullest over mean | links within a shard", documents(sizes, chance))
    show("skew | largest tenant | by hash | largest first | the same, divided above half", tenants(chance))
    print(f"\none core makes {MODELS:.1f} notes/s, one writer takes {WRITER:.0f}: {WRITER / MODELS:.0f} cores")
    show(" | ".join(["notes | shards", *(f"{n} cores" for n in CORES)]), filling(CORES))
    show(f"notes a shard | {' | '.join(REPLAY)} | without the ledger: anew on 16 cores", recovery())


def show(header: str, rows: Iterable[Iterable[object]]) -> None:
    """Print a table in Markdown."""
    print(f"\n| {header} |\n{'|---' * (header.count('|') + 1)}|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def fan_out(chance: np.random.Generator) -> Iterable[Iterable[object]]:
    """Ask all shards and wait for the slowest, or until the channels' deadline: what is late then is dropped."""
    for shards in (1, 4, 16, 64):
        row, late = [], 0.0
        for middle, high in (QUIET_MS, BUSY_MS):
            waited = np.zeros(QUESTIONS)
            for _ in range(shards):
                times = chance.lognormal(math.log(middle), math.log(high / middle) / 1.645, QUESTIONS)
                times += (chance.random(QUESTIONS) < STALL_SHARE) * chance.uniform(*STALL_MS, QUESTIONS)
                waited = np.maximum(waited, np.minimum(times, LATE_MS))
            row.append(" / ".join(f"{value:.0f}" for value in np.percentile(waited, (50, 95, 99))))
            late = 100 * float(np.mean(waited >= LATE_MS))
        yield shards, *row, f"{late:.1f}"


def documents(sizes: np.ndarray, chance: np.random.Generator) -> Iterable[Iterable[object]]:
    """Put documents on shards by a hash; the notes of many are a normal sum."""
    for notes, shards in ((100_000, 4), (10_000_000, 4), (1_000_000_000, SHARDS), (1_000_000_000, 64)):
        each = chance.poisson(notes / sizes.mean() / shards, shards)
        filled = each * sizes.mean() + chance.normal(0, sizes.std(), shards) * np.sqrt(each)
        yield f"{notes:,}", shards, f"{filled.max() / filled.mean():.3f}", f"1 of {shards}"


def tenants(chance: np.random.Generator) -> Iterable[Iterable[object]]:
    """Put 1,000 tenants, the n-th 1 / n ** skew of the first, on shards; in parts of a shard that all would fill."""
    for skew in (0.6, 0.8, 1.0, 1.2):
        sizes = np.arange(1, 1001.0) ** -skew
        sizes *= SHARDS / sizes.sum()
        hashed = [np.bincount(chance.integers(SHARDS, size=1000), sizes, SHARDS).max() for _ in range(200)]
        pieces = [size / parts for size in sizes for parts in [math.ceil(2 * size)] for _ in range(parts)]
        yield skew, *(f"{one:.2f}" for one in (sizes[0], np.median(hashed), placed(sizes), placed(pieces)))


def placed(sizes: Iterable[float]) -> float:
    """Return the fullest shard when the largest goes first, always to the emptiest."""
    filled = np.zeros(SHARDS)
    for size in sorted(sizes, reverse=True):
        filled[filled.argmin()] += size
    return float(filled.max())


def filling(cores: Iterable[int]) -> Iterable[Iterable[object]]:
    """Fill shards, each by a writer of its own, with the models on all cores: the slower of both decides."""
    for notes, shards in ((1e6, 1), (1e7, 1), (1e7, 4), (1e9, SHARDS), (1e9, 64)):
        yield f"{notes:,.0f}", shards, *(span(notes / min(n * MODELS, shards * WRITER)) for n in cores)


def recovery() -> Iterable[Iterable[object]]:
    """Replay a lost projection from the ledger; make all anew where that is lost, too."""
    for notes in (2.5e6, 1e7, 5e7):
        yield f"{notes:,.0f}", *(span(notes / rate) for rate in (*REPLAY.values(), 16 * MODELS))


def span(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86_400:.1f} days"


if __name__ == "__main__":
    main()
