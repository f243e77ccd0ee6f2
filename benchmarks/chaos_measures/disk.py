"""A full disk: no file may grow beyond a random size (RLIMIT_FSIZE) while a command runs.

The command must end well or say by name what is wrong; with room again the store must be brought to the corpus.
"""

from __future__ import annotations

import argparse
import math
import random
from functools import partial

from chaos_measures.kills import VICTIMS, arguments_of
from chaos_measures.results import Results
from chaos_measures.rounds import Base, base, judged, shell, untyped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace, results: Results) -> None:
    dice = random.Random(arguments.seed)
    with base() as made:
        largest = max(path.stat().st_size for path in made.store.rglob("*") if path.is_file())
        for number in range(arguments.times):
            victim = dice.choice(VICTIMS[:-1])
            limit = int(math.exp(dice.uniform(math.log(100), math.log(largest))))
            results.add("full disk", victim, _round(made, victim, dice, limit), limit=limit, number=number)


def _limit(size: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _round(made: Base, victim: str, dice: random.Random, limit: int) -> str:
    with made.copy(empty=victim == "ingest") as store:
        command = [*arguments_of(made, victim, dice), "--store", store]
        code, told = shell(command, preexec_fn=partial(_limit, limit))
        if code and untyped(told):
            return f"untyped error: {told.strip()[-300:]}"
        return judged(store, made, ["ingest", made.corpus], ["sync", "--verify"])
