"""Damage one file of a store, verify, and compare.

Whatever lies in the projections is built anew from the ledger, so that the store is whole again. The ledger itself is
the only truth: damage of it must be told by name (`theworld restore` then brings back a backup) or change nothing.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from chaos_measures.results import Results
from chaos_measures.rounds import TOLD, Base, base, judged

KINDS = ("flip", "cut", "empty", "missing")
WEIGHTS = (6, 2, 1, 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace, results: Results) -> None:
    dice = random.Random(arguments.seed)
    with base() as made:
        files = sorted(path.relative_to(made.store) for path in made.store.rglob("*") if path.is_file())
        ledger = [file for file in files if file.name.startswith("ledger.")]
        for number in range(arguments.times):
            file = dice.choice(ledger) if dice.random() < 0.2 else dice.choice(files)
            kind = dice.choices(KINDS, WEIGHTS)[0]
            where = file.parts[0] if len(file.parts) > 1 else "ledger" if file in ledger else "other"
            results.add("damage", f"{where}, {kind}", _round(made, file, kind, dice), file=str(file), number=number)


def _round(made: Base, file: Path, kind: str, dice: random.Random) -> str:
    with made.copy() as folder:
        _damage(folder / file, kind, dice)
        outcome = judged(folder, made, ["sync", "--verify"])
    named = outcome.startswith("unusable") and file.name.startswith("ledger.")
    return TOLD if named else outcome


def _damage(file: Path, kind: str, dice: random.Random) -> None:
    content = bytearray(file.read_bytes())
    if kind == "flip" and content:
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    elif kind == "cut":
        del content[dice.randrange(len(content) + 1) :]
    elif kind == "empty":
        content.clear()
    file.unlink()
    if kind != "missing":
        file.write_bytes(content)
