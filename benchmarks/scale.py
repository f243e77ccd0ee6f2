"""How ingestion, opening, retrieval, memory and disk grow with the number of notes: one table, in one run.

    python benchmarks/scale.py DATASET... --notes 2000 --notes 20000 --notes 100000 [--folder DIR] [--questions N]

DATASET are folders in BEIR layout, all in English; the questions are those of the first. First its first 1,000
documents are ingested, for the speed of the models and of everything around them. Then the stores are made in DIR,
through the ledger and the projections (see scale_corpus.py for what is real and what is derived), and each is measured
in a process of its own. What DIR holds already is used: a store that is finished, and the speeds by the same settings.
"Cold" means that the system was asked to drop the store's files from memory; questions are asked with the files in it.
"Anonymous" memory is what the process holds for itself, "mapped" what the system can take back. Models are frozen
(`gc.freeze`), as `theworld serve` does it.
The last column is the growth exponent b of n ** b between the smallest and the largest store.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from environment import environment, settings_hash
from latency import memory_mb
from platformdirs import user_cache_path
from scale_corpus import RealNotes

from theworld.cli.ingesting import ingest_paths
from theworld.evaluation.datasets import load_dataset, store_path
from theworld.evaluation.metrics import percentile
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings
from theworld.state import Context
from theworld.stores.files import bytes_under
from theworld.stores.graph import MappedGraph, RankingParameters
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.protocols import Hit

BATCH, WARM_UP, COMPARED, TENANT = 512, 10, 20, "default"
SAMPLE = 1000
"""Documents ingested for the speed of the models."""
EXACT = RankingParameters(whole=0, tolerance=1e-12, effort=10**12)
Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", type=Path)
    parser.add_argument("--notes", type=int, action="append", help="size of a store; may be repeated (default 2000)")
    parser.add_argument("--folder", type=Path, default=user_cache_path("theworld") / "scale", help="where stores lie")
    parser.add_argument(
        "--questions", type=int, default=100, help="questions asked of each store, the first 10 to warm up"
    )
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measure(arguments.measure, arguments.datasets[0], arguments.questions)))
        return
    sizes = sorted(set(arguments.notes or [2000]))
    names = ", ".join(dataset.name for dataset in arguments.datasets)
    print(f"{environment()}\n{names}; {arguments.questions} questions")
    speeds = ingestion_speeds(arguments.datasets[0], arguments.folder)
    rows = {}
    for count in sizes:
        store = made_store(arguments.datasets, count, arguments.folder)
        command = [sys.executable, __file__, str(arguments.datasets[0]), "--measure", str(store)]
        done = subprocess.run([*command, "--questions", str(arguments.questions)], check=True, stdout=subprocess.PIPE)
        rows[count] = json.loads((store / MADE).read_text()) | json.loads(done.stdout.splitlines()[-1])
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"ingestion": speeds, "stores": rows}, indent=1), encoding="utf-8")
    show_speeds(speeds)
    show(rows)


MADE = "made.json"
"""In a store made to its end: how fast it was written."""


def ingestion_speeds(dataset: Path, folder: Path) -> Figures:
    """Return notes by second of each part when documents are ingested into a new store, with as many processes."""
    known = folder / f"speeds-{dataset.name}-{settings_hash()}.json"
    if not known.exists():
        with tempfile.TemporaryDirectory() as temporary:
            sample = Path(temporary) / "corpus.jsonl"
            with (dataset / "corpus.jsonl").open("rb") as lines:
                sample.write_bytes(b"".join(itertools.islice(lines, SAMPLE)))
            report = ingest_paths([sample], Settings.load(store=Path(temporary) / "sample.store"))
        models, total = report.seconds["models"], report.seconds["total"]
        figures = {"notes": report.notes, "processes": report.processes, "whole over models": total / models}
        folder.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps(figures | {"rates": report.rates}), encoding="utf-8")
    found: Figures = json.loads(known.read_text(encoding="utf-8"))
    return found


def made_store(datasets: list[Path], count: int, folder: Path) -> Path:
    """Return the store of so many notes, making it where it is not there; half a store is gone on with.

    The projections of a finished one are brought up to date, should their format have changed.
    """
    path = folder / f"{'+'.join(dataset.name for dataset in datasets)}-{count}.store"
    facts = json.loads((path / MADE).read_text()) if (path / MADE).exists() else {}
    with KnowledgeStore.open(path, create=True) as store:
        if not facts:
            facts = written(store, datasets, count)
        store.catch_up(lambda done, total: tell(f"{done} of {total} changes projected"))
        speeds = {f"{name}, notes/s": count / spent for name, spent in store.spent.items() if spent > count / 1e6}
    facts |= speeds
    (path / MADE).write_text(json.dumps(facts), encoding="utf-8")
    return path


def written(store: KnowledgeStore, datasets: list[Path], count: int) -> Figures:
    """Write so many notes to the ledger; return how fast that was."""
    stores = []
    for dataset in datasets:
        settings = Settings.load(store=store_path(load_dataset(dataset), Settings.load()))
        ingest_paths([dataset / "corpus.jsonl"], settings)
        stores.append(settings.store)
    real, batch, spent, new = RealNotes.read(stores), [], 0.0, 0
    for number, document in enumerate(real.documents(count), start=1):
        batch.append(document)
        if len(batch) == BATCH or number == count:
            begun = time.perf_counter()
            put = store.put(batch)
            # What an earlier, unfinished run has written is passed over, which is fast.
            spent, new, batch = spent + (time.perf_counter() - begun if put else 0.0), new + put, []
            tell(f"{number} of {count} notes written")
    derived = max(0, count - len(real.changes))
    return {
        "real notes": count - derived,
        "derived notes": derived,
        "ledger, notes/s": new / spent if new else math.nan,
    }


def tell(progress: str) -> None:
    """Show progress on one line."""
    print(f"\r{progress}    ", end="", file=sys.stderr, flush=True)


def measure(path: Path, folder: Path, limit: int) -> Figures:
    """Return the figures of one store, in a process that has done nothing else."""
    dataset = load_dataset(folder)
    questions = [query.text for query in dataset.queries][:limit]
    figures = opened(path)
    settings = Settings.load(store=path)
    take_into_memory(path)
    begun = time.perf_counter()
    with open_resources(settings) as resources:
        figures["open with models, s"] = time.perf_counter() - begun
        gc.collect()
        gc.freeze()
        figures |= asked(build_graph(resources), questions, "reranked ")
        plain = settings.model_copy(update={"rerank": settings.rerank.model_copy(update={"kind": "none"})})
    figures |= {f"process after questions, {kind}, MB": value for kind, value in memory_mb().items()}
    with open_resources(plain) as resources:
        figures |= asked(build_graph(resources), questions, "not reranked ")
        figures |= stores_alone(resources.store, questions, resources.models.embedders["en"])
        size = {name: bytes_under(path / name) for name in ("sparse", "dense", "graph") if (path / name).exists()}
        size["ledger"] = bytes_under(path / "ledger.sqlite")
        notes = sum(counts["notes"] for counts in resources.store.info()["tenants"].values())
    return figures | {f"disk {name}, bytes/note": value / notes for name, value in size.items()}


def opened(path: Path) -> Figures:
    """Return how long a reader takes to open a store, cold and warm, and what memory that costs."""
    drop_from_memory(path)
    before, begun = memory_mb(), time.perf_counter()
    with KnowledgeStore.open(path) as store:
        figures: Figures = {"open cold, s": time.perf_counter() - begun}
        store.dense.spaces(TENANT)
        after = memory_mb()
    figures |= {f"opened, {kind}, MB": after[kind] - value for kind, value in before.items()}
    begun, used = time.perf_counter(), time.process_time()
    KnowledgeStore.open(path).close()
    figures["open warm, s"] = time.perf_counter() - begun
    figures["open warm, s of CPU"] = time.process_time() - used
    return figures


def drop_from_memory(path: Path) -> None:
    """Ask the system to forget a store's files, where it can be asked."""
    for file in path.rglob("*"):
        if file.is_file() and hasattr(os, "posix_fadvise"):
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def take_into_memory(path: Path) -> None:
    """Read a store's files once, as they are on a machine that has served for a while."""
    for file in path.rglob("*"):
        if file.is_file():
            with file.open("rb") as stream:
                while stream.read(2**24):
                    pass


def asked(graph: Any, questions: list[str], prefix: str) -> dict[str, Any]:
    """Return times of retrieval (channels side by side, fusion, reranking) and of its parts, in ms."""
    context, found = Context(use_model=False, deadline_ms=60_000), {}
    begun = time.perf_counter()
    for question in questions[:WARM_UP]:
        graph.invoke({"question": question}, context=context)
    figures = {f"{prefix}first {WARM_UP} questions, ms each": (time.perf_counter() - begun) * 1000 / WARM_UP}
    # The models remember questions: those asked before would be too fast.
    for question in questions[WARM_UP:]:
        stages = graph.invoke({"question": question}, context=context)["stages"]
        spent = {trace.stage: trace.elapsed_ms for trace in stages}
        channels = [value for stage, value in spent.items() if stage.startswith("retrieve_")]
        after = sum(spent.get(stage, 0.0) for stage in ("fuse_candidates", "rerank_candidates"))
        found.setdefault("retrieval", []).append(max(channels, default=0.0) + after)
        for stage, value in spent.items():
            if stage.startswith("retrieve_") or stage in {"fuse_candidates", "rerank_candidates"}:
                found.setdefault(stage, []).append(value)
    for name, values in found.items():
        figures[f"{prefix}{name} P50, ms"] = statistics.median(values)
        figures[f"{prefix}{name} P95, ms"] = percentile(values, 0.95)
    return figures


def stores_alone(store: KnowledgeStore, questions: list[str], embedder: Any) -> dict[str, Any]:
    """Return times of each store's search one after the other, in ms, and the walk's error against a full one."""
    spent: dict[str, list[float]] = {"sparse": [], "dense": [], "rank": []}
    walked: list[tuple[dict[str, Any], list[Hit]]] = []
    for question in questions:
        vector = embedder.embed_query(question).vector
        begun = time.perf_counter()
        lexical = store.sparse.search(question, tenant=TENANT, filters={}, limit=100)
        spent["sparse"].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        near = store.dense.search(embedder.name, vector, tenant=TENANT, filters={}, limit=100).hits
        spent["dense"].append(time.perf_counter() - begun)
        seeds = {hit.note_id: 1.0 / rank for hits in (lexical, near) for rank, hit in enumerate(hits[:3], start=1)}
        asked_for = {"notes": seeds, "entities": {}, "tenant": TENANT, "filters": {}, "limit": 100}
        begun = time.perf_counter()
        ranked = store.graph.rank(**asked_for)
        spent["rank"].append(time.perf_counter() - begun)
        walked.append((asked_for, ranked))
    full = MappedGraph(store.path / "graph", EXACT)
    errors, agreed = [], []
    for asked_for, ranked in walked[:COMPARED]:
        exact = {hit.note_id: hit.score for hit in full.rank(**asked_for)}
        best = [hit.note_id for hit in ranked[:50]]
        errors.append(max((abs(exact.get(hit.note_id, 0.0) - hit.score) for hit in ranked[:50]), default=0.0))
        agreed.append(len(set(best) & set(list(exact)[:50])) / max(len(best), 1))
    figures = {}
    for name, values in spent.items():
        figures[f"{name} alone P50, ms"] = statistics.median(values) * 1000
        figures[f"{name} alone P95, ms"] = percentile(values, 0.95) * 1000
    return figures | {
        "walk: largest error of 50 best": max(errors),
        "walk: least share of 50 best": min(agreed),
        "entities": len(store.known_names(TENANT)),
    }


def show_speeds(speeds: Figures) -> None:
    """Print the speeds of ingestion."""
    print(f"\n| ingestion of {speeds['notes']} notes, {speeds['processes']} processes | notes/s |\n|---|---|")
    for part, rate in speeds["rates"].items():
        print(f"| {part} | {number(rate)} |")
    print(f"| whole over models, times as long | {number(speeds['whole over models'])} |")


def show(rows: dict[int, Figures]) -> None:
    """Print one table, a column for each size, and the growth exponent between the smallest and the largest."""
    sizes = sorted(rows)
    first, last = sizes[0], sizes[-1]
    growth = " growth |" if len(sizes) > 1 else ""
    print("\n| |", " | ".join(f"{size} notes" for size in sizes), "|" + growth)
    print("|---|" + "---|" * (len(sizes) + bool(growth)))
    for name in dict.fromkeys(name for size in sizes for name in rows[size]):
        values = [rows[size].get(name, math.nan) for size in sizes]
        grown = values[-1] / values[0] if values[0] else math.nan
        exponent = f" {math.log(grown) / math.log(last / first):.2f} |" if growth and grown > 0 else "  |"
        print(f"| {name} |", " | ".join(map(number, values)), "|" + (exponent if growth else ""))


def number(value: float) -> str:
    """Return a number in three digits."""
    return np.format_float_positional(value, 3, fractional=False, trim="-")


if __name__ == "__main__":
    main()
