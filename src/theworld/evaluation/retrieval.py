"""How well every stage of retrieval finds the gold documents, measured on the graph itself.

The graph answers each query as it would for a user, except that all candidates are kept and that the deadline is
long: quality must not depend on how busy the machine is (latency is reported beside it). The router may leave channels
out; the lists of such channels, which the single-channel stages and the baseline need, come from a second run with all
three forced, which counts neither for the fused and reranked stages nor for latency.

The frozen baseline that every gain is measured against (specification, retrieval: "M3 baseline").

Dense + sparse, scores min-max normalised, 0.55 / 0.45, no graph, no rerank, 100 candidates a channel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.errors import IngestionError
from theworld.evaluation.datasets import Dataset
from theworld.evaluation.metrics import PairedDifference, metric_at, paired_difference, percentiles
from theworld.graph.build import CompiledGraph
from theworld.ranking.fusion import Fused, Ranking, fuse_minmax
from theworld.state import Candidate, Channel, ChannelResult, Context, Degradation, QueryInput
from theworld.stores.ledger.evaluations import Query

CHANNELS: tuple[Channel, ...] = ("sparse", "dense", "graph")
STAGES = (*CHANNELS, "m3_baseline", "fused", "reranked")
RECALL_DEPTHS = (2, 5, 10, 20)
METRICS = (*(f"recall@{k}" for k in RECALL_DEPTHS), "all@5", "mrr", "ndcg@10")
KEPT = 100
"""Candidates kept, so that every recall depth can be computed."""


@dataclass(frozen=True, slots=True)
class QueryRankings:
    """What one query found."""

    query: Query
    rankings: Mapping[str, Sequence[str]]
    """Document ids by stage, best first."""
    elapsed_ms: float
    """Wall time of the whole graph."""
    degradations: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """Results on a dataset."""

    dataset: str
    results: tuple[QueryRankings, ...]
    ingest: Mapping[str, Any] = field(default_factory=dict)
    """What making the store took."""

    def values(self, stage: str, metric: str) -> list[float]:
        """Return a metric query by query, by its name (see `metric_at`)."""
        return [metric_at(metric, result.rankings[stage], result.query.grades) for result in self.results]

    def mean(self, stage: str, metric: str) -> float:
        """Return the mean of a metric over all queries."""
        return fmean(self.values(stage, metric))

    def gain(self, stage: str, over: str, metric: str) -> PairedDifference:
        """Compare two stages query by query."""
        return paired_difference(self.values(stage, metric), self.values(over, metric))

    def by_type(self) -> dict[str, RetrievalReport]:
        """Return the results of each kind of question (two hops, three), where the set names more than one."""
        kinds = sorted({result.query.type for result in self.results})
        parts = {kind: tuple(one for one in self.results if one.query.type == kind) for kind in kinds}
        return {kind: replace(self, results=part) for kind, part in parts.items()} if len(kinds) > 1 else {}

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object; metrics are means in [0, 1]."""
        return {
            "dataset": self.dataset,
            "n": len(self.results),
            "stages": {stage: {m: round(self.mean(stage, m), 6) for m in METRICS} for stage in STAGES},
            "latency_ms": percentiles([result.elapsed_ms for result in self.results], 50, 95),
            "ingest": dict(self.ingest),
        }


def evaluate_retrieval(
    dataset: Dataset,
    graph: CompiledGraph,
    *,
    limit: int | None = None,
    ingest: Mapping[str, Any] | None = None,
    on_query: Callable[[], None] = lambda: None,
) -> RetrievalReport:
    """Run the graph over the queries that have gold documents; no language model is called.

    Raises IngestionError when no query has gold documents.
    """
    queries = judged_queries(dataset, limit)
    _run(graph, queries[0], None)  # models and caches warm up outside the measurement
    results = []
    for query in queries:
        begun = time.perf_counter()
        state = _run(graph, query, None)
        elapsed = (time.perf_counter() - begun) * 1000
        channels: Mapping[str, ChannelResult] = state["channel_results"]
        if set(channels) != set(CHANNELS):
            channels = _run(graph, query, list(CHANNELS))["channel_results"]
        rankings = stage_rankings(channels, state["candidates"])
        results.append(QueryRankings(query, rankings, elapsed, tuple(state["degradations"])))
        on_query()
    return RetrievalReport(dataset.name, tuple(results), ingest or {})


def judged_queries(dataset: Dataset, limit: int | None = None) -> list[Query]:
    """Return the queries with gold documents, in order, at most `limit`."""
    queries = [query for query in dataset.queries if query.grades][:limit]
    if not queries:
        raise IngestionError("no query has a gold document.", where=dataset.name, remedy="Check the qrels.")
    return queries


def stage_rankings(channels: Mapping[str, ChannelResult], candidates: Sequence[Candidate]) -> dict[str, list[str]]:
    """Return the documents each stage found, best first, from channel lists and final candidates.

    A document stands where its first note stands. Where reranking was skipped, `reranked` is the final order.
    """
    hits = {channel: channels[channel].hits if channel in channels else () for channel in CHANNELS}
    rankings: dict[str, list[str]] = {c: documents_of(note for note, _ in hits[c]) for c in CHANNELS}
    rankings["m3_baseline"] = documents_of(note.note_id for note in m3_baseline(hits["dense"], hits["sparse"]))
    fused = sorted(candidates, key=lambda candidate: candidate.fused_rank or len(candidates) + 1)
    rankings["fused"] = list(dict.fromkeys(candidate.document_id for candidate in fused))
    rankings["reranked"] = list(dict.fromkeys(candidate.document_id for candidate in candidates))
    return rankings


def documents_of(note_ids: Iterable[str]) -> list[str]:
    """Return the documents of notes named `{document id}#{ordinal}`, each where it first occurs."""
    return list(dict.fromkeys(note_id.rpartition("#")[0] for note_id in note_ids))


def _run(graph: CompiledGraph, query: Query, channels: list[Channel] | None) -> Mapping[str, Any]:
    context = Context(top_k=KEPT, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False, channels=channels)
    keys = ["channel_results", "candidates", "degradations"]
    state: Mapping[str, Any] = graph.invoke(QueryInput(question=query.text), context=context, output_keys=keys)
    return state


DEPTH = 100
WEIGHTS = {"dense": 0.55, "sparse": 0.45}


def m3_baseline(dense: Ranking, sparse: Ranking) -> list[Fused]:
    """Return the notes by baseline score in [0, 1], best first, from the lists of both channels; ties by note id.

    A note that a channel did not return counts there as its last one, so 0.
    """
    return fuse_minmax({"dense": dense[:DEPTH], "sparse": sparse[:DEPTH]}, WEIGHTS)
