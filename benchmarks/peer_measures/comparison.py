"""All peers on one dataset, one after the other, each in its own process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from peer_measures.worker import ENTITIES, OURS, PAGERANK, STORE
from theworld.errors import TheWorldError
from theworld.evaluation.datasets import Dataset
from theworld.evaluation.documents.retrievers import RETRIEVERS, run_worker, write_work
from theworld.evaluation.documents.rivals import common_embedder
from theworld.evaluation.metrics import PairedDifference, metric_at, paired_difference, percentiles
from theworld.evaluation.retrieval import RECALL_DEPTHS, documents_of, judged_queries
from theworld.graph import Resources
from theworld.models.protocols import FloatArray
from theworld.stores.ledger import NoteParts
from theworld.stores.ledger.evaluations import Query
from theworld.stores.protocols import NoteChange
from theworld.text import entity_key

LABELS = {
    OURS: "TheWorld",
    **{name: one.label for name, one in RETRIEVERS.items()},
    PAGERANK: "HippoRAG-style PageRank",
}
METRICS = (*(f"recall@{k}" for k in RECALL_DEPTHS), "all@5")
SCRIPT = Path(__file__).parents[1] / "peers.py"
_TENANT = "default"
_BATCH = 500
_NO_ENTITIES = frozenset({"number", "quantity"})


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
    resources: Resources,
    *,
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
        space = write_material(folder, resources, [query.text for query in queries])
        results, left_out = [], {}
        for peer, label in LABELS.items():
            on_peer(label)
            try:
                if peer in RETRIEVERS:
                    RETRIEVERS[peer].require()
                found = run_worker([str(SCRIPT), "--worker"], folder, peer, label)
            except TheWorldError as error:
                if peer == OURS:
                    raise
                left_out[peer] = str(error)
                continue
            rankings = tuple(tuple(documents_of(ranking)) for ranking in found.pop("rankings"))
            results.append(PeerResult(name=peer, rankings=rankings, **found))
    notes = sum(resources.store.dense.spaces(_TENANT).values())
    return Comparison(dataset.name, tuple(queries), notes, space, tuple(results), left_out)


def write_material(folder: Path, resources: Resources, questions: Sequence[str]) -> str:
    """Write the store's notes, their vectors and entities, and the questions; return the name of the vectors' space.

    Peers know one embedder: the one that most notes have vectors of. Notes of other spaces are embedded by it here.
    A note's text is the title of its document, a line break, and its text.
    """
    ledger = resources.store.ledger
    embedder = common_embedder(resources.store, resources.models, _TENANT)
    found: list[tuple[str, str, list[str], FloatArray]] = []
    after, last = 0, ledger.sequence()
    while after < last:
        changes, after = ledger.changes(after, _BATCH, NoteParts())
        for change in changes:
            if change.note is not None and change.tenant == _TENANT:
                text = f"{change.title}\n{change.note.text}" if change.title else change.note.text
                known = change.note.vectors.get(embedder.name) or embedder.embed_passages([text])[0]
                found.append((change.note_id, text, _entities_of(change), known.vector))
    found.sort(key=lambda one: one[0])
    notes, vectors = [(note_id, text) for note_id, text, _, _ in found], [vector for *_, vector in found]
    write_work(folder, notes, vectors, embedder.name, questions)
    (folder / ENTITIES).write_text(json.dumps([keys for _, _, keys, _ in found]), "utf-8")
    (folder / STORE).write_text(str(resources.store.path), "utf-8")
    return embedder.name


def _entities_of(change: NoteChange) -> list[str]:
    """Return the keys of what a note names: its document's title and aliases, and its typed mentions but numbers."""
    assert change.note is not None
    named = [entity_key(name) for name in (change.title, *change.aliases)]
    mentions = [m.key or entity_key(m.surface) for m in change.note.mentions if m.titled or m.type not in _NO_ENTITIES]
    return list(dict.fromkeys(key for key in (*named, *mentions) if key))
