"""The graph on disk at any size: opening, finding names, walks, links and paths over a made-up graph with hubs.

    python benchmarks/graph_walk.py [--notes 100000] [--edges 1000000] [--questions 200]

Names are drawn by Zipf's law, so that some are in a third of all notes and most in a few; every note is a document
with a title that others may mention. A question's seeds are three notes that share a name and three that do not, and
two names of the first. Reading is measured in a process of its own. The walk is compared with one to its end.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from environment import environment
from latency import resident_mb

from theworld.evaluation.metrics import percentile
from theworld.questions import read_question
from theworld.retrieval.graph import query_entities
from theworld.stores.array_folder import ArrayFolder, Generation
from theworld.stores.files import bytes_under
from theworld.stores.graph import MappedGraph, RankingParameters
from theworld.stores.graph.columns import NoteFacts, joined
from theworld.stores.graph.embedded import written_format

TENANT, BEST, COMPARED = "default", 50, 20
NAMES_PER_NOTE, ZIPF = 3, 0.9
PARAMETERS = RankingParameters()
EXACT = RankingParameters(whole=0, tolerance=1e-13, effort=10**12)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000, help="between notes and names")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read is not None:
        read(arguments.read, arguments.notes, arguments.questions)
        return
    print(environment())
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), arguments.notes, arguments.edges)
        command = [sys.executable, __file__, "--read", folder, "--notes", str(arguments.notes)]
        subprocess.run([*command, "--questions", str(arguments.questions)], check=True)


def name_of(number: int) -> str:
    return f"name {number}"


def note_of(number: int) -> str:
    return f"d{number:07d}#0"


def facts(notes: int, edges: int) -> Iterator[tuple[str, NoteFacts]]:
    """Yield made-up notes: a title each, and other names."""
    random = np.random.default_rng(1)
    names = NAMES_PER_NOTE * notes
    popularity = np.arange(1, names + 1) ** -ZIPF
    titles = random.choice(names, notes, replace=False)
    counts = 1 + random.poisson(edges / notes - 2, notes)
    drawn = iter(np.split(random.choice(names, counts.sum(), p=popularity / popularity.sum()), np.cumsum(counts)))
    for number, (title, some) in enumerate(zip(titles.tolist(), drawn, strict=False)):
        pairs = tuple((name_of(one), name_of(one).title()) for one in some.tolist())
        own = ((name_of(title), name_of(title).title()),)
        yield note_of(number), NoteFacts(f"d{number:07d}", own[0][1], own, pairs, frozenset())


def write(folder: Path, notes: int, edges: int) -> None:
    """Write the graph, and once more with one note changed."""
    made = dict(facts(notes, edges))
    written, parameters = ArrayFolder(folder, "graph", written_format(PARAMETERS), writable=True), PARAMETERS
    saved = Generation()
    for what, changes in (("all", made), ("one note changed", {note_of(0): made[note_of(1)]})):
        begun = time.process_time()
        arrays = joined(saved.arrays.get((TENANT,)), changes, parameters)
        saved = written.save(saved, {(TENANT,): arrays}, saved.applied + 1)
        row(f"graph written, {what}, CPU s", time.process_time() - begun)
    both = len(arrays["titled.values"]) + len(arrays["mentioned.values"])
    row("notes", notes)
    row("names", len(arrays["label"]))
    row("edges between notes and names", both)
    row("edges of the walk", len(arrays["walk.targets"]))
    row("notes of the widest hub", np.diff(arrays["mentions.starts"]).max())
    row("graph on disk, MB", bytes_under(folder) / 1e6)


def read(folder: Path, notes: int, questions: int) -> None:
    """Measure a reader that has done nothing else."""
    before = resident_mb()
    begun = time.perf_counter()
    graph = MappedGraph(folder)
    row("graph open, ms", (time.perf_counter() - begun) * 1000)
    row("graph open, MB", resident_mb() - before)
    asked = list(made_questions(graph, notes, questions))
    reached: list[tuple[int, int, float]] = []

    def walk(question: dict[str, Any]) -> None:
        found = graph._walk(graph._graph(TENANT), **question)
        reached.append((len(found.nodes), found.edges, found.left) if found is not None else (0, 0, 0.0))

    timed("name lookup", asked, lambda one: looked_up(graph, one))
    timed("graph walk", asked, walk)
    timed("graph rank (walk and the best 100)", asked, lambda one: ranked(graph, one, 100))
    row("after the walks, MB", resident_mb() - before)
    names = ("touched nodes", "edges followed", "error bound (sum over all nodes)")
    for name, values in zip(names, zip(*reached, strict=True), strict=True):
        row(f"{name} P50", statistics.median(values))
        row(f"{name} P95", percentile(values, 0.95))
    timed("links among 100", asked, lambda one: graph.links(ranked(graph, one, 100), tenant=TENANT), warm=True)
    timed("paths to 20", asked, lambda one: paths(graph, one), warm=True)
    compare(folder, graph, asked[:COMPARED])


def made_questions(graph: MappedGraph, notes: int, count: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(2)
    view = graph._graph(TENANT)
    for _ in range(count):
        first, *others = random.integers(0, notes, 4).tolist()
        shared = [note for key in view.mentioned[first][:9] for note in view.mentions[key][:3] if note != first]
        seeds = [first, *shared[:2], *others]
        named = random.permutation(view.mentioned[first])[:2].tolist()
        yield {
            "notes": {view.note_ids[note]: 1 / (1 + place % 3) for place, note in enumerate(seeds)},
            "entities": {view.keys[key]: 1.0 for key in named},
        }


def looked_up(graph: MappedGraph, question: dict[str, Any]) -> None:
    text = "Which of " + " or ".join(key.title() for key in question["entities"]) + " was nearer to the Ninth Name?"
    query_entities(read_question(text), lambda keys: graph.entities(keys, tenant=TENANT))


def ranked(graph: MappedGraph, question: dict[str, Any], limit: int) -> list[str]:
    return [hit.note_id for hit in graph.rank(**question, tenant=TENANT, filters={}, limit=limit)]


def paths(graph: MappedGraph, question: dict[str, Any]) -> None:
    seeds = {name: list(some) for name, some in question.items()}
    graph.paths(ranked(graph, question, 20), **seeds, tenant=TENANT)


def compare(folder: Path, graph: MappedGraph, questions: list[dict[str, Any]]) -> None:
    """Print how far the walks are from ones to their end."""
    exact = MappedGraph(folder, EXACT)
    errors, shares = [], []
    for question in questions:
        full = {hit.note_id: hit.score for hit in exact.rank(**question, tenant=TENANT, filters={}, limit=10**9)}
        best = graph.rank(**question, tenant=TENANT, filters={}, limit=BEST)
        errors.append(max(full[hit.note_id] - hit.score for hit in best))
        shares.append(len({hit.note_id for hit in best} & set(list(full)[:BEST])) / BEST)
    row(f"largest error of the {BEST} best", max(errors))
    row(f"share of the {BEST} best, least", min(shares))
    row(f"share of the {BEST} best, mean", statistics.mean(shares))


def timed(name: str, questions: list[dict[str, Any]], work: Callable[[Any], Any], *, warm: bool = False) -> None:
    """Print percentiles over the questions, in ms of wall time and of CPU time; the first few are left out."""
    wall, cpu = [], []
    for question in questions:
        begun, begun_cpu = time.perf_counter(), time.process_time()
        work(question)
        wall.append((time.perf_counter() - begun) * 1000)
        cpu.append((time.process_time() - begun_cpu) * 1000)
    suffix = ", ranking included" if warm else ""
    for share in (0.5, 0.95):
        row(f"{name} P{share * 100:.0f}, ms{suffix}", percentile(wall[5:], share))
        row(f"{name} P{share * 100:.0f}, CPU ms{suffix}", percentile(cpu[5:], share))


def row(name: str, value: float) -> None:
    print(f"| {name} | {np.format_float_positional(value, 4, fractional=False, trim='-')} |", flush=True)


if __name__ == "__main__":
    main()
