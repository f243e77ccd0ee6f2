"""Measure servers against the embedded twins: recall, times, what our layer adds, replay, bytes, leaks, faults.

    python benchmarks/engines.py                                 # everything
    python benchmarks/engines.py --part compare --notes 2000     # agreement, latency, projections, bytes
    python benchmarks/engines.py --part recall --dataset DATASET # questions through the whole graph, on both
    python benchmarks/engines.py --part overhead --notes 2000    # our layer over the engines' own clients
    python benchmarks/engines.py --part ingest --documents DATASET/corpus.jsonl  # the whole way, models included
    python benchmarks/engines.py --part replay --replay 20000
    python benchmarks/engines.py --part leaks --leaks 10000
    python benchmarks/engines.py --part faults --faults 1000 --log faults.jsonl   # goes on where it was interrupted
    python benchmarks/engines.py --part faults --first 500 --count 250 --log third.jsonl  # a slice of the same plan
    python benchmarks/engines.py --part leaks --engine graph     # of one server alone

Starts OpenSearch, Neo4j and, where its program is on the PATH, Qdrant as `make test-services` does, and PostgreSQL for
the faults; THEWORLD_TEST_OPENSEARCH_URL and so on name running ones instead, which are never killed. What does not take
part is said.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from environment import environment

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from engine_measures.common import serve
from engine_measures.compare import compare
from engine_measures.faults import inject, plan
from engine_measures.ingest import ingest_both
from engine_measures.leaks import look_for_leaks
from engine_measures.overhead import overhead
from engine_measures.recall import recall
from engine_measures.replay import replay

ENGINES = ("sparse", "dense", "graph", "ledger")
PARTS = ("compare", "recall", "overhead", "ingest", "replay", "leaks", "faults")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="repeatable; default: all")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="repeatable; whom to measure (default: all)")
    parser.add_argument("--notes", type=int, default=2000, help="made-up notes of compare and overhead (default 2000)")
    parser.add_argument("--dataset", type=Path, help="recall, which is left out without it: a folder in BEIR layout")
    parser.add_argument("--limit", type=int, help="recall: only so many questions")
    parser.add_argument("--documents", type=Path, help="ingest: files, or a folder in BEIR layout (default: the demo)")
    parser.add_argument("--rounds", type=int, default=3, help="ingest: rounds of both, of which the best count")
    parser.add_argument("--replay", type=int, default=20_000, help="made-up notes to replay (default 20000)")
    parser.add_argument(
        "--ledger-of", type=Path, help="replay: a store whose ledger is copied, in place of made-up notes"
    )
    parser.add_argument("--leaks", type=int, default=10_000, help="random operations of the leak test on each server")
    parser.add_argument("--faults", type=int, default=1000, help="faults injected into questions and ingestion")
    parser.add_argument("--first", type=int, default=0, help="faults: the first of the plan, to run it in slices")
    parser.add_argument("--count", type=int, help="faults: how many of the plan from there (default: all)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="faults: go no further after so many minutes")
    parser.add_argument("--log", type=Path, help="file of the faults' results, a JSON line each; gone on with if there")
    arguments = parser.parse_args()
    parts = arguments.part or PARTS
    if "recall" in (arguments.part or ()) and arguments.dataset is None:
        parser.error("--part recall needs --dataset")
    print(environment())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wanted = set(arguments.engine or ENGINES) - (set() if "faults" in parts else {"ledger"})
        urls, servers = serve(folder, stack, wanted, short_lived=set(parts) <= {"faults", "leaks"})
        if "compare" in parts:
            compare(folder / "compared", urls, arguments.notes)
        if "recall" in parts and arguments.dataset is not None:
            recall(folder / "recalled", urls, arguments.dataset, arguments.limit)
        if "overhead" in parts:
            overhead(folder / "asked", urls, arguments.notes)
        if "ingest" in parts:
            ingest_both(folder / "ingested", urls, arguments.documents, arguments.rounds)
        if "replay" in parts:
            replay(folder / "replayed", urls, arguments.replay, arguments.ledger_of)
        if "leaks" in parts:
            look_for_leaks(urls, arguments.leaks)
        if "faults" in parts:
            last = arguments.faults if arguments.count is None else arguments.first + arguments.count
            planned = plan(list(urls), arguments.faults, killable=list(servers))[arguments.first : last]
            inject(
                folder / "demo", urls, servers, planned, arguments.first, log=arguments.log, minutes=arguments.minutes
            )


if __name__ == "__main__":
    main()
