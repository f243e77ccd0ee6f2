"""What kills and damaged files leave of a store: unusable, lost, doubled, changed in silence, errors without a name.

    python benchmarks/chaos.py kills --times 100      # kill -9 of ingest, delete and sync at random moments
    python benchmarks/chaos.py damage --times 300     # flipped, cut and emptied files; then sync --verify

Each round starts from the same small store; afterwards it is opened, verified and compared with one made in one go.
`--seed` makes the rounds come again.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from environment import environment

from theworld.demo import corpus_dir
from theworld.errors import TheWorldError
from theworld.stores.knowledge_store import KnowledgeStore

QUERIES = ("planet temperature", "painter born", "天坛 北京", "river Danube", "程序 算法")
DERIVED = ("sparse", "dense", "graph")
LONGEST_S = 4.0
"""Kills come within so many seconds; an ingestion of the corpus takes somewhat longer."""


def command(*arguments: object) -> list[str]:
    """Return the command line of one command of the program."""
    run = "import sys; from theworld.cli.app import run; sys.exit(run(sys.argv[1:]))"
    return [sys.executable, "-c", run, *map(str, arguments)]


def seen(folder: Path) -> dict[str, object]:
    """Return what a store holds and finds, for comparison; scores rounded to 4 places."""
    with KnowledgeStore.open(folder) as store:
        found: dict[str, object] = {
            query: [
                (hit.note_id, round(hit.score, 4))
                for hit in store.sparse.search(query, tenant="default", filters={}, limit=10)
            ]
            for query in QUERIES
        }
        notes = [note.id for note in store.iter_notes("default")]
        found["notes"], found["documents"] = Counter(notes), store.documents(tenant="default", limit=10_000).total
        chosen = sorted(notes)[:5]  # not in the order they were written, which a repair changes
        seeds = dict.fromkeys(chosen[:3], 1.0)
        walk = store.graph.rank(notes=seeds, entities={}, tenant="default", filters={}, limit=10)
        found["walk"] = [(hit.note_id, round(hit.score, 4)) for hit in walk]
        for space in store.dense.spaces("default"):
            codes = store.dense.token_codes(space, chosen, "default")
            found[space] = [None if one is None else one.ids.tolist() for one in codes]
        return found


def kills(base: Path, work: Path, rng: random.Random, times: int, expected: dict[str, object]) -> Counter[str]:
    """Kill a command at a random moment, then bring the store to the corpus again, and compare."""
    outcomes: Counter[str] = Counter()
    for number in range(times):
        folder = work / f"kill-{number}"
        shutil.copytree(base, folder)
        victim = rng.choice(
            [
                command("ingest", corpus_dir(), "--store", folder, "--reembed"),
                command("delete", "en/ada-lovelace.md", "en/alan-turing.md", "--store", folder),
                command("sync", "--rebuild", rng.choice(DERIVED), "--store", folder),
            ]
        )
        process = subprocess.Popen(victim, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, LONGEST_S))
        process.kill()
        process.wait()
        outcomes[_outcome(folder, expected, restore=True)] += 1
        shutil.rmtree(folder)
    return outcomes


def damage(base: Path, work: Path, rng: random.Random, times: int, expected: dict[str, object]) -> Counter[str]:
    """Damage one file of a projection, verify, and compare."""
    outcomes: Counter[str] = Counter()
    files = [path for name in DERIVED for path in sorted((base / name).rglob("*")) if path.is_file()]
    for number in range(times):
        folder = work / f"damage-{number}"
        shutil.copytree(base, folder)
        file = folder / rng.choice(files).relative_to(base)
        content = bytearray(file.read_bytes())
        kind = rng.choice(["flip", "cut", "empty", "missing"])
        if kind == "flip" and content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del content[rng.randrange(len(content) + 1) :]
        elif kind == "empty":
            content.clear()
        file.unlink()
        if kind != "missing":
            file.write_bytes(content)
        outcomes[_outcome(folder, expected, restore=False)] += 1
        shutil.rmtree(folder)
    return outcomes


def _outcome(folder: Path, expected: dict[str, object], *, restore: bool) -> str:
    """Return in a word what became of a store: `whole`, or what is wrong with it."""
    commands = [command("sync", "--verify", "--store", folder)]
    if restore:
        commands.append(command("ingest", corpus_dir(), "--store", folder))
    for one in commands:
        done = subprocess.run(one, capture_output=True, text=True, check=False)
        if done.returncode:
            return "untyped error" if "unexpected" in done.stderr or "Traceback" in done.stderr else "unusable"
    try:
        found = seen(folder)
    except TheWorldError:
        return "unusable"
    except Exception:
        return "untyped error"
    counts, wanted = found["notes"], expected["notes"]
    assert isinstance(counts, Counter)
    assert isinstance(wanted, Counter)
    wrong = {
        "lost notes": bool(wanted - counts),
        "doubled notes": bool(counts - wanted),
        "other BM25 scores": any(found[query] != expected[query] for query in QUERIES),
        "changed in silence": found != expected,
    }
    return next((name for name, holds in wrong.items() if holds), "whole")


def main() -> None:
    """Run one part and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["kills", "damage"])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with TemporaryDirectory() as name:
        work, base = Path(name), Path(name) / "base"
        subprocess.run(command("ingest", corpus_dir(), "--store", base), check=True, capture_output=True)
        expected = seen(base)
        part = {"kills": kills, "damage": damage}[arguments.part]
        outcomes = part(base, work, random.Random(arguments.seed), arguments.times, expected)
    print(f"{environment()}\n{arguments.part}, {arguments.times} rounds, seed {arguments.seed}")
    for outcome, count in outcomes.most_common():
        print(f"  {outcome:20} {count}")
    if set(outcomes) != {"whole"}:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
