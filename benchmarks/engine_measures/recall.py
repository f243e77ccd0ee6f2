"""A dataset's questions through the whole graph, all embedded and all on servers: recall and latency of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine_measures.common import Urls, copy_ledger, engines_at, on_servers
from theworld.evaluation.datasets import Dataset, load_dataset, store_path
from theworld.evaluation.metrics import paired_difference, percentile
from theworld.evaluation.retrieval import RetrievalReport, evaluate_retrieval
from theworld.graph import build_graph, open_resources
from theworld.ingestion import ingest
from theworld.models.registry import load_models
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore

DEPTHS = (5, 10)


def recall(path: Path, urls: Urls, folder: Path, limit: int | None) -> None:
    """Print recall of both, their difference with its 95 % interval over the questions, and how long they took.

    The ledger is that of the dataset's store where `theworld eval` has made one; otherwise it is ingested.
    """
    dataset, engines = load_dataset(folder), engines_at(urls)
    near = Settings(store=path)
    made = store_path(dataset, near)
    if made.exists():
        copy_ledger(made, path)
    with KnowledgeStore.open(path, create=not made.exists(), read_only=False) as store:
        if made.exists():
            store.catch_up()
        else:
            ingest([dataset.corpus], store, load_models(near), near)
    sections = {name: getattr(engines, name) for name in engines.remote()}
    with on_servers(path, engines) as store:
        assert not store.troubles, store.troubles
        embedded = _asked(dataset, near, limit)
        servers = _asked(dataset, near.model_copy(update=sections), limit)
    print(f"\n{len(embedded.results)} questions of {dataset.name}, embedded and on {', '.join(sections)}")
    for depth in DEPTHS:
        both = [report.values("reranked", f"recall@{depth}") for report in (embedded, servers)]
        between = paired_difference(both[1], both[0])
        points = " to ".join(f"{100 * end:+.2f}" for end in (between.low, between.high))
        print(
            f"recall@{depth}: {100 * np.mean(both[0]):.2f} embedded, {100 * np.mean(both[1]):.2f} on servers: ", end=""
        )
        print(f"{100 * between.mean:+.2f} points [{points}]")
    pairs = list(zip(embedded.results, servers.results, strict=True))
    same = sum(one.rankings["reranked"][:10] == other.rankings["reranked"][:10] for one, other in pairs)
    print(f"the same ten documents in the same order: {same} of {len(pairs)}")
    for name, report in (("embedded", embedded), ("servers", servers)):
        times = [result.elapsed_ms for result in report.results]
        lost = sum(bool(result.degradations) for result in report.results)
        told = ", ".join(f"P{round(100 * share)} {percentile(times, share):.0f} ms" for share in (0.5, 0.95))
        print(f"{name}: {told}, {lost} questions with a degradation")


def _asked(dataset: Dataset, settings: Settings, limit: int | None) -> RetrievalReport:
    with open_resources(settings) as resources:
        return evaluate_retrieval(dataset, build_graph(resources), limit=limit)
