"""Ingest the same documents with one process, a pool of two, Ray, and two simulated machines of Ray, in turns.

    python benchmarks/ingestion.py CORPUS.jsonl --documents 600 --rounds 3     # with the extra `ray`

Each turn is a process of its own that makes new stores: of a few documents twice, then of all. `start` is what Ray
takes to start, `first` the few in the new process, `few` the same again: what each ingestion takes that does not grow
(processes, models, workers). Ratios are of the time of all documents, and of what those beyond the few took; CPU is
that of the process and of all below it. All ledgers must be equal: notes, their order, mentions, vectors, token codes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, Literal

from environment import environment

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from theworld.ingestion import ingest
from theworld.models.registry import load_models
from theworld.settings import IngestionSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
from worker_models import changes

KINDS = ("one process", "two processes", "Ray, two workers", "Ray, two machines")
BASE = "two processes"
PARTS = ("first", "few", "all")
SAMPLE_S = 1.0
TICKS = os.sysconf("SC_CLK_TCK")
Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a file of JSON lines, as in BEIR")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--few", type=int, default=20, help="documents of the first store")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", action="append", choices=KINDS, help="repeatable (default: all)")
    parser.add_argument("--turn", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.turn is not None:
        print(json.dumps(turn(arguments.turn, arguments.corpus)))
        return
    print(environment(), flush=True)
    kinds = arguments.kind or KINDS
    found: dict[str, list[Figures]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="theworld-ingestion-") as name:
        lines = arguments.corpus.read_text("utf-8").splitlines(keepends=True)[: arguments.documents]
        for part, some in (("first", lines[: arguments.few]), ("few", lines[: arguments.few]), ("all", lines)):
            (Path(name) / f"{part}.jsonl").write_text("".join(some), "utf-8")
        for number in range(arguments.rounds):
            for place in range(len(kinds)):  # another one first in each round
                kind = kinds[(number + place) % len(kinds)]
                command = [sys.executable, __file__, name, "--turn", kind]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                found[kind].append(json.loads(done.stdout.splitlines()[-1]))
                print(f"round {number + 1}, {kind}: {found[kind][-1]}", flush=True)
    ledgers = {one["ledger"] for turns in found.values() for one in turns}
    print(f"\nledgers {'equal' if len(ledgers) == 1 else 'NOT equal'}, medians of {arguments.rounds} rounds:\n")
    print(table(found))
    sys.exit(len(ledgers) != 1)


def table(found: dict[str, list[Figures]]) -> str:
    """Return a Markdown table of the medians."""

    def beyond(one: Figures, part: str) -> float:
        more: float = one["all"][part] - one["few"][part]
        return more

    lines = ["| | start, s | first | few | all | notes/s | times | beyond the few: notes/s | times | CPU, s | times |"]
    lines.append("|---" * 11 + "|")
    for kind, turns in found.items():
        base = found.get(BASE, turns)

        def times(of: Callable[[Figures], float], turns: list[Figures] = turns, base: list[Figures] = base) -> float:
            return median(of(mine) / of(theirs) for mine, theirs in zip(turns, base, strict=True))  # of one round

        first, few, whole = (median(one[part]["s"] for one in turns) for part in PARTS)
        rate = median(beyond(one, "notes") / beyond(one, "s") for one in turns)
        cpu = median(beyond(one, "cpu") for one in turns)
        lines.append(
            f"| {kind} | {median(one['start'] for one in turns):.1f} | {first:.1f} | {few:.1f} | {whole:.1f} "
            f"| {turns[0]['all']['notes'] / whole:.1f} | {times(lambda one: one['all']['s']):.2f} "
            f"| {rate:.1f} | {times(lambda one: beyond(one, 's')):.2f} "
            f"| {cpu:.1f} | {times(lambda one: beyond(one, 'cpu')):.2f} |"
        )
    return "\n".join(lines)


def turn(kind: str, folder: Path) -> Figures:
    """Ingest the few and all documents in one way; return seconds, notes and a digest of both ledgers."""
    begun = time.perf_counter()
    engine: Literal["local", "ray"] = "ray" if kind.startswith("Ray") else "local"
    settings = Settings(ingestion=IngestionSettings(processes=1 if kind == "one process" else 2))
    digest, figures = hashlib.blake2b(digest_size=8), Figures(start=0.0)
    with tempfile.TemporaryDirectory(prefix="theworld-turn-") as name, ray_of(kind), cpu_seconds() as spent:
        if engine == "ray":
            figures["start"] = round(time.perf_counter() - begun, 2)
        for part in PARTS:
            before, begun = spent(), time.perf_counter()
            with KnowledgeStore.open(Path(name) / part, create=True) as store:
                report = ingest([folder / f"{part}.jsonl"], store, load_models(settings), settings, engine=engine)
            seconds = {name: round(value, 2) for name, value in report.seconds.items()}
            whole = round(time.perf_counter() - begun, 2)
            figures[part] = {"notes": report.notes, "s": whole, "cpu": round(spent() - before, 2), "parts": seconds}
            digest.update(repr(changes(Path(name) / part)).encode("utf-8", "surrogatepass"))
    return figures | {"ledger": digest.hexdigest()}


@contextmanager
def ray_of(kind: str) -> Iterator[None]:
    """Start Ray, as the engine would, or two machines of one core each; nothing for the local engine."""
    if not kind.startswith("Ray"):
        yield
        return
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
    import ray
    import ray.data
    from ray.cluster_utils import Cluster

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if kind == "Ray, two machines":
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
        ray.init(cluster.address, **quiet)
    else:
        ray.init("local", num_cpus=2, include_dashboard=False, **quiet)
    yield
    ray.shutdown()


@contextmanager
def cpu_seconds() -> Iterator[Any]:
    """Yield what tells the CPU seconds of this process and of all that were seen below it, now and then (Linux)."""
    seen: dict[int, float] = {}
    over = threading.Event()

    def look() -> float:
        below = [os.getpid()]
        while below:
            one = below.pop()
            with suppress(OSError):  # it may have ended just now
                process = Path("/proc") / str(one)
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                seen[one] = (int(fields[11]) + int(fields[12])) / TICKS
                for thread in (process / "task").iterdir():
                    below += map(int, (thread / "children").read_text().split())
        return sum(seen.values())

    def go_on() -> None:
        while not over.wait(SAMPLE_S):
            look()

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield look
    finally:
        over.set()
        thread.join()


if __name__ == "__main__":
    main()
