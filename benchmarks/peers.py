"""Other retrievers beside our graph, over the same notes and vectors of a BEIR folder, each in a process of its own.

    python benchmarks/peers.py DATASET [--limit N] [--json FILE]      # with the `benchmarks` extra

The store is made once and kept in the user's cache. A peer that is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from peer_measures.comparison import LABELS, METRICS, Comparison, compare_peers
from peer_measures.worker import measure

from theworld.cli.ingesting import ingest_paths
from theworld.cli.output import console, error_console, gain_in_words, plain_table
from theworld.errors import TheWorldError
from theworld.evaluation.datasets import check_store_holds_only, load_dataset, store_path
from theworld.graph import open_resources
from theworld.settings import Settings


def main() -> None:
    """Measure and print; with `--worker`, one retriever over the work of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", type=Path, metavar="DATASET", help="BEIR folder")
    parser.add_argument("--limit", type=int, help="only the first questions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    parser.add_argument("--worker", nargs=2, metavar=("FOLDER", "NAME"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        folder, name = arguments.worker
        measure(Path(folder), name)
        return
    if arguments.dataset is None:
        parser.error("give a DATASET")
    try:
        comparison = compared(arguments.dataset, arguments.limit)
    except TheWorldError as error:
        parser.exit(1, f"{error}\n")
    show(comparison)
    if arguments.json:
        arguments.json.write_text(json.dumps(comparison.as_json(), ensure_ascii=False, indent=2) + "\n", "utf-8")


def compared(folder: Path, limit: int | None = None) -> Comparison:
    """Bring the store of the set up to date and measure; what is missing is said on standard error."""
    dataset, err = load_dataset(folder), error_console()
    settings = Settings.load(store=store_path(dataset, Settings.load()))
    ingest_paths([dataset.corpus], settings)
    with open_resources(settings) as resources:
        check_store_holds_only(resources.store, dataset)
        comparison = compare_peers(
            dataset, resources, limit=limit, on_peer=lambda label: err.print(f"Measuring {label}")
        )
    for reason in comparison.left_out.values():
        err.print(f"LEFT OUT: {reason}", style="bold red", soft_wrap=True)
    return comparison


def show(comparison: Comparison) -> None:
    """Print one row a retriever, what it finds, its latency and its memory; then our gain over each."""
    names = (*(metric.replace("recall", "R") for metric in METRICS), "p50 ms", "p95 ms", "MB")
    table = plain_table(("retriever", *names), names, gap=1, no_wrap=True)
    figures = comparison.as_json()["retrievers"]
    for result in comparison.results:
        row = figures[result.name]
        table.add_row(
            LABELS[result.name],
            *(f"{100 * row[metric]:.1f}" for metric in METRICS),
            *(f"{row['latency_ms'][p]:.0f}" for p in ("p50", "p95")),
            "?" if row["memory_mb"] is None else f"{row['memory_mb']:.0f}",
        )
    out, (ours, *others) = console(), comparison.results
    out.print(f"{comparison.dataset}: {len(comparison.queries)} queries, per cent")
    out.print(f"The same {comparison.notes} notes and vectors ({comparison.space}), each in a process of its own")
    out.print(table, soft_wrap=False, crop=False)
    for other in others:
        out.print(f"TheWorld over {LABELS[other.name]}, recall@5: {gain_in_words(comparison.gain(other))}")
    whole = figures[ours.name]["whole_ms"]
    out.print(
        "Milliseconds until the ranking stands, embedding included (TheWorld with its answer: "
        f"p50 {whole['p50']:.0f}, p95 {whole['p95']:.0f}); MB: the most its process ever held"
    )


if __name__ == "__main__":
    main()
