"""Kill a writer (SIGKILL) at a random moment, bring the store to the corpus again, and compare.

Half of the moments are spread over all the time a command takes, half follow the first change it makes to the store.
With `--slow-disk` each flush to the disk takes some milliseconds longer (see interposed.c), which widens what lies
between two of them.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from chaos_measures import serving
from chaos_measures.interposing import interposed
from chaos_measures.results import Results
from chaos_measures.rounds import DERIVED, Base, base, ended, judged, program, start

VICTIMS = ("ingest", "update", "delete", "re-embed", "sync", "serve uploads")
WEIGHTS = (4, 4, 4, 4, 4, 1)
SOON_S = 0.5
FLUSH_MS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow-disk", action="store_true", help="flushes take longer; needs a C compiler")


def run(arguments: argparse.Namespace, results: Results) -> None:
    """Do the rounds; the first of each command goes undisturbed, to know how long it takes."""
    dice, taken = random.Random(arguments.seed), dict[str, float]()
    part = "kills, slow disk" if arguments.slow_disk else "kills"
    with base() as made:
        for number in range(arguments.times):
            victim = dice.choices(VICTIMS, WEIGHTS)[0]
            if victim == "serve uploads":
                try:
                    outcome = serving.killed_round(made, dice, slow=arguments.slow_disk)
                except SystemExit as error:  # on a machine that is too busy; no round
                    print(error, flush=True)
                    continue
            else:
                outcome = _round(made, victim, dice, taken, slow=arguments.slow_disk)
            results.add(part, victim, outcome, seed=arguments.seed, number=number)


def _round(made: Base, victim: str, dice: random.Random, taken: dict[str, float], *, slow: bool) -> str:
    with made.copy(empty=victim == "ingest") as store:
        command = [*arguments_of(made, victim, dice), "--store", store]
        begin = _slow_start if slow else _start
        if victim not in taken:
            begun = time.monotonic()
            begin(command, made)[1]()
            taken[victim] = time.monotonic() - begun
            return judged(store, made, ["ingest", made.corpus], ["sync", "--verify"])
        kill, _ = begin(command, made)
        before = _signature(store)
        if dice.random() < 0.5:
            until = time.monotonic() + taken[victim]
            while _signature(store) == before and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(dice.uniform(0, SOON_S) ** 2 / SOON_S)
        else:
            time.sleep(dice.uniform(0, taken[victim]))
        kill()
        return judged(store, made, ["ingest", made.corpus], ["sync", "--verify"])


def arguments_of(made: Base, victim: str, dice: random.Random) -> list[object]:
    """Return the command line of one of the commands, without the store."""
    names = [path.relative_to(made.corpus).as_posix() for path in sorted(made.corpus.rglob("*.md"))]
    return {
        "ingest": ["ingest", made.corpus],
        "update": ["ingest", made.changed],
        "delete": ["delete", *dice.sample(names, 3)],
        "re-embed": ["ingest", made.corpus, "--reembed"],
        "sync": ["sync", "--rebuild", dice.choice(DERIVED)],
    }[victim]


def _start(command: list[object], made: Base) -> tuple[Callable[[], None], Callable[[], None]]:
    """Start a command; return how to kill it and how to wait for it."""
    process = start(command, made.work / "log")

    def kill() -> None:
        process.kill()
        process.join()

    def wait() -> None:
        ended(process, made.work / "log")

    return kill, wait


def _slow_start(command: list[object], made: Base) -> tuple[Callable[[], None], Callable[[], None]]:
    process = subprocess.Popen(
        program(command),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=interposed(made.work, flush_ms=FLUSH_MS),
    )

    def kill() -> None:
        process.kill()
        process.wait()

    def wait() -> None:
        process.wait()

    return kill, wait


def _signature(store: Path) -> list[tuple[str, int]]:
    """Return names and times of a store's files; those that go meanwhile are left out."""
    found = []
    for path in store.rglob("*"):
        try:
            found.append((str(path), path.stat().st_mtime_ns))
        except OSError:
            continue
    return found
