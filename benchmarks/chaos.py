"""What kills, damage, full and slow disks, clock jumps and long load leave of a store and a service.

    python benchmarks/chaos.py kills --times 1000              # ingest, update, delete, re-embed, sync, serve uploads
    python benchmarks/chaos.py kills --times 50 --slow-disk    # the same while every flush takes 30 ms longer
    python benchmarks/chaos.py ingest --kills 150              # driver and workers of an ingestion by several processes
    python benchmarks/chaos.py ingest --kills 50 --engine ray  # the same of Ray, and one of two simulated machines
    python benchmarks/chaos.py damage --times 1000             # flipped bits, cut, emptied and removed files
    python benchmarks/chaos.py disk --times 40                 # no file may grow beyond a random size
    python benchmarks/chaos.py clock --times 3                 # the clock jumps by up to two days, every second
    python benchmarks/chaos.py load --pieces 6 --minutes 20    # uploads, deletions and questions: memory, threads
    python benchmarks/chaos.py table                           # all rounds so far

Each round starts from the same small store; afterwards it is brought back to its corpus, verified and compared with
one made in one go: notes, contents, BM25 scores, the graph's walk, vectors, token codes. Rounds are kept in a file
(`--results`) that grows from run to run; another `--seed` does other rounds. Exit code 1 when any ended otherwise than
whole, or, for damage of the ledger itself, told by name.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from chaos_measures import damage, disk, ingesting, kills, load, serving
from chaos_measures.results import Results
from environment import environment

from theworld.packages import cache_folder

PARTS = {"kills": kills, "ingest": ingesting, "damage": damage, "disk": disk, "clock": serving, "load": load}


def main() -> int:
    """Run one part and print the table of all rounds so far."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=cache_folder() / "chaos.jsonl", help="file of all rounds")
    commands = parser.add_subparsers(required=True)
    for name, part in PARTS.items():
        about = part.__doc__ or ""
        command = commands.add_parser(name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        part.add_arguments(command)
        command.set_defaults(run=part.run)
    commands.add_parser("table", description="Print all rounds so far.").set_defaults(run=lambda *_: None)
    arguments = parser.parse_args()
    results = Results(arguments.results)
    print(environment(), flush=True)
    arguments.run(arguments, results)
    print(results.table())
    return 0 if results.sound() else 1


if __name__ == "__main__":
    sys.exit(main())
