"""Warm `ask` without a model, query by query over the questions of a BEIR folder: time by stage, and memory.

    python benchmarks/latency.py DATASET [--limit N]

Orchestration is what the graph takes beyond its nodes (the three channels run side by side and count once).
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from environment import environment

from theworld.cli.ingesting import ingest_paths
from theworld.evaluation.datasets import load_dataset, store_path
from theworld.evaluation.metrics import percentile
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings
from theworld.state import Context, StageTrace

WARM_UP = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--limit", type=int, default=200)
    arguments = parser.parse_args()
    print(environment())
    dataset = load_dataset(arguments.dataset)
    settings = Settings.load(store=store_path(dataset, Settings.load()))
    ingest_paths([arguments.dataset / "corpus.jsonl"], settings)
    print(f"memory before opening: {resident_mb():.0f} MB")
    begun = time.perf_counter()
    with open_resources(settings) as resources:
        print(f"opened in {time.perf_counter() - begun:.2f} s, memory {resident_mb():.0f} MB")
        graph = build_graph(resources)
        questions = [query.text for query in dataset.queries][: arguments.limit]
        context = Context(use_model=False)
        for question in questions[:WARM_UP]:
            graph.invoke({"question": question}, context=context)
        total: list[float] = []
        between: list[float] = []
        stages: dict[str, list[float]] = {}
        for question in questions:
            begun = time.perf_counter()
            output = graph.invoke({"question": question}, context=context)
            elapsed = (time.perf_counter() - begun) * 1000
            total.append(elapsed)
            between.append(elapsed - in_nodes(output["stages"]))
            for trace in output["stages"]:
                stages.setdefault(trace.stage, []).append(trace.elapsed_ms)
    print(f"memory after {len(questions)} questions: {resident_mb():.0f} MB\n\n| | P50 ms | P95 ms |\n|---|---|---|")
    for name, values in {"**ask**": total, "orchestration": between, **stages}.items():
        print(f"| {name} | {statistics.median(values):.2f} | {percentile(values, 0.95):.2f} |")


def in_nodes(traces: list[StageTrace]) -> float:
    """Milliseconds in nodes, the slowest channel standing for all three."""
    channels = [t.elapsed_ms for t in traces if t.stage.startswith("retrieve_")]
    return sum(t.elapsed_ms for t in traces if not t.stage.startswith("retrieve_")) + max(channels, default=0.0)


def resident_mb() -> float:
    """Resident memory of this process."""
    return sum(memory_mb().values())


def memory_mb() -> dict[str, float]:
    """Return this process's resident memory: what it holds for itself, and files it has mapped."""
    found = {"anonymous": float("nan"), "mapped": float("nan")}
    status = Path("/proc/self/status")
    for line in status.read_text("ascii").splitlines() if status.exists() else ():
        for kind, name in (("anonymous", "RssAnon"), ("mapped", "RssFile")):
            if line.startswith(name):
                found[kind] = int(line.split()[1]) / 1024
    return found


if __name__ == "__main__":
    main()
