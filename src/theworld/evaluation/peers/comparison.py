"""All peers on one dataset, one after the other, each in its own process.

The comparison as one picture: what is found, and what a question costs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

from theworld.errors import TheWorldError
from theworld.evaluation.datasets import Dataset, Query
from theworld.evaluation.metrics import PairedDifference, metric_at, paired_difference, percentile, percentiles
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


FORMATS = ("png", "svg")
SHOWN = ("recall@2", "recall@5", "recall@20", "all@5")
_GREYS = ("#c9c9c9", "#9d9d9d", "#747474", "#4f4f4f")
_OURS = ("#a8cdf0", "#5b9bd5", "#2e6fae", "#174a7c")


def check_plotting(folder: Path) -> None:
    """Raise TheWorldError when matplotlib is missing or the folder cannot be made."""
    if find_spec("matplotlib") is None:
        raise TheWorldError("needs matplotlib.", where="the plot", remedy=install_command("benchmarks"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TheWorldError(f"cannot be made: {error}.", where=str(folder), remedy="Name another folder.") from error


def plot_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write `{dataset}-peers.png` and `.svg` into the folder; return the files. The same figures give the same SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": comparison.dataset, "font.size": 9}):
        figure, (quality, time) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=(3, 2), layout="constrained")
        _draw_quality(comparison, quality)
        _draw_latency(comparison, time)
        figure.suptitle(f"{comparison.dataset}: {len(comparison.queries)} questions over {comparison.notes} notes")
        files = [folder / f"{comparison.dataset}-peers.{kind}" for kind in FORMATS]
        for file in files:
            figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
        plt.close(figure)
    return files


def _draw_quality(comparison: Comparison, axes: Any) -> None:
    height = 0.8 / len(SHOWN)
    for row, result in enumerate(comparison.results):
        for bar, metric in enumerate(SHOWN):
            value = 100 * comparison.mean(result, metric)
            place, colour = row + bar * height - 0.4 + height / 2, (_GREYS if row else _OURS)[bar]
            axes.barh(place, value, height=height * 0.92, color=colour)
            axes.text(value + 0.6, place, f"{metric}  {value:.1f}", va="center", fontsize=7)
    axes.set_yticks(range(len(comparison.results)), [LABELS[result.name] for result in comparison.results])
    axes.invert_yaxis()
    axes.set_xlim(0, 118)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("gold documents found, per cent (all@5: questions)")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_latency(comparison: Comparison, axes: Any) -> None:
    slowest = 0.0
    for row, result in enumerate(comparison.results):
        low, high = percentile(result.elapsed_ms, 0.5), percentile(result.elapsed_ms, 0.95)
        slowest = max(slowest, high)
        colour = (_GREYS if row else _OURS)[2]
        axes.plot([low, high], [row, row], color=colour, linewidth=3, solid_capstyle="round")
        axes.plot([low], [row], "o", color=colour, markersize=8)
        memory = "" if result.memory_mb is None else f", {result.memory_mb:.0f} MB"
        message = f"P50 {low:.0f} ms, P95 {high:.0f} ms{memory}"
        axes.annotate(message, (0.02, row - 0.22), xycoords=("axes fraction", "data"), fontsize=7.5)
    axes.set_yticks(range(len(comparison.results)), [""] * len(comparison.results))
    axes.set_ylim(len(comparison.results) - 0.5, -0.5)
    axes.set_xlim(0, slowest * 1.1)
    axes.set_xlabel("ms until the ranking stands, P50 (dot) to P95")
    axes.spines[["top", "right"]].set_visible(False)
