"""All peers on one dataset, one after the other, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from theworld.errors import TheWorldError
from theworld.evaluation.datasets import Dataset, Query
from theworld.evaluation.metrics import PairedDifference, metric_at, paired_difference, percentiles
from theworld.evaluation.peers.material import write_material
from theworld.evaluation.peers.retrievers import PEERS
from theworld.evaluation.peers.worker import OURS
from theworld.evaluation.retrieval import RECALL_DEPTHS, documents_of, judged_queries
from theworld.extras import install_command
from theworld.models.registry import Models
from theworld.stores.knowledge_store import KnowledgeStore

LABELS = {OURS: "TheWorld"} | {name: entry.label for name, entry in PEERS.items()}
METRICS = (*(f"recall@{k}" for k in RECALL_DEPTHS), "all@5")
_LAST_LINES = 4


@dataclass(frozen=True, slots=True)
class PeerResult:
    """What one retriever found, and what it took."""

    name: str
    rankings: tuple[tuple[str, ...], ...]
    """Document ids, best first, by query."""
    elapsed_ms: Sequence[float]
    """Time until the ranking stood, by query; the question's embedding is part of it."""
    total_ms: Sequence[float]
    """The same for a peer; for us the whole graph, with the answer."""
    ready_s: float
    """Loading, indexing (the vectors were given) and one question."""
    memory_mb: float | None
    """Peak resident memory of its process, embedder and libraries included."""
    versions: Mapping[str, str] = field(default_factory=dict)

    def values(self, metric: str, queries: Sequence[Query]) -> list[float]:
        """Return one of METRICS query by query."""
        return [metric_at(metric, found, query.grades) for found, query in zip(self.rankings, queries, strict=True)]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All results on one dataset; ours is first."""

    dataset: str
    queries: tuple[Query, ...]
    notes: int
    space: str
    """Space of the vectors, which names the embedder."""
    results: tuple[PeerResult, ...]
    left_out: Mapping[str, str]
    """Why a peer is missing, by name."""

    def mean(self, result: PeerResult, metric: str) -> float:
        """Return the mean of a metric over all queries."""
        return fmean(result.values(metric, self.queries))

    def gain(self, over: PeerResult, metric: str = "recall@5") -> PairedDifference:
        """Compare our graph with a peer query by query."""
        ours = self.results[0]
        return paired_difference(ours.values(metric, self.queries), over.values(metric, self.queries))

    def as_json(self) -> dict[str, Any]:
        """Return figures by name; metrics are means in [0, 1]."""
        retrievers: dict[str, Any] = {}
        for result in self.results:
            retrievers[result.name] = {metric: round(self.mean(result, metric), 6) for metric in METRICS} | {
                "latency_ms": percentiles(result.elapsed_ms, 50, 95),
                "whole_ms": percentiles(result.total_ms, 50, 95),
                "memory_mb": None if result.memory_mb is None else round(result.memory_mb, 1),
                "ready_s": round(result.ready_s, 2),
                "versions": dict(result.versions),
            }
            if result.name != OURS:
                gain = self.gain(result)
                numbers = [round(number, 6) for number in (gain.mean, gain.low, gain.high)]
                retrievers[result.name]["theworld_recall@5_gain"] = numbers
        return {
            "notes": self.notes,
            "embedder": self.space,
            "retrievers": retrievers,
            "left_out": dict(self.left_out),
        }


def compare_peers(
    dataset: Dataset,
    store: KnowledgeStore,
    models: Models,
    *,
    tenant: str = "default",
    limit: int | None = None,
    on_peer: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Measure our graph and every installed peer over the store's notes; `on_peer` hears each label before its turn.

    The processes read the settings as `Settings.load` does, from file and environment; only the store is handed over.
    A peer that is not installed or fails is named in `left_out`. Raises TheWorldError when our own graph fails.
    """
    queries = judged_queries(dataset, limit)
    with tempfile.TemporaryDirectory(prefix="theworld-peers-") as name:
        folder = Path(name)
        space = write_material(folder, store, models, tenant)
        job = {"store": str(store.path), "tenant": tenant, "space": space, "questions": [q.text for q in queries]}
        (folder / "job.json").write_text(json.dumps(job, ensure_ascii=False), "utf-8")
        results, left_out = [], {}
        for peer in (OURS, *PEERS):
            on_peer(LABELS[peer])
            try:
                found = run_worker(peer, folder)
            except TheWorldError as error:
                if peer == OURS:
                    raise
                left_out[peer] = str(error)
                continue
            rankings = tuple(tuple(documents_of(ranking)) for ranking in found.pop("rankings"))
            results.append(PeerResult(name=peer, rankings=rankings, **found))
    notes = sum(store.dense.spaces(tenant).values())
    return Comparison(dataset.name, tuple(queries), notes, space, tuple(results), left_out)


def run_worker(name: str, folder: Path) -> dict[str, Any]:
    """Return what the worker says of one retriever over the folder's material; TheWorldError when it cannot run."""
    if name in PEERS:
        PEERS[name].require()
    command = [sys.executable, "-m", "theworld.evaluation.peers.worker", str(folder), name]
    environment = os.environ | {"HAYSTACK_TELEMETRY_ENABLED": "False", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(  # noqa: S603 - our own module and a folder we made
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        message = "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise TheWorldError(
            f"failed: {message}",
            where=LABELS[name],
            remedy=f"Its packages must be those of {install_command('benchmarks')}.",
        )
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return found
