"""The part of `theworld eval retrieval --compare` that a person sees: progress, the table, what was left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from theworld.cli.output import console, error_console

if TYPE_CHECKING:
    from theworld.evaluation.datasets import Dataset
    from theworld.evaluation.peers import Comparison
    from theworld.graph import Resources


def compare(data: Dataset, resources: Resources, *, limit: int | None, plot: Path | None) -> Comparison:
    """Measure the peers, draw the plot when a folder is given, and say on standard error what is missing."""
    from theworld.evaluation.peers import compare_peers

    err = error_console()
    comparison = compare_peers(
        data, resources.store, resources.models, limit=limit, on_peer=lambda label: err.print(f"Measuring {label}")
    )
    for reason in comparison.left_out.values():
        err.print(f"LEFT OUT: {reason}", style="bold red", soft_wrap=True)
    if plot is not None:
        from theworld.evaluation.peers.comparison import plot_comparison

        for file in plot_comparison(comparison, plot):
            err.print(f"Wrote {file}", soft_wrap=True)
    return comparison


def show_comparison(comparison: Comparison) -> None:
    """Print one row a retriever, what it finds, its latency and its memory; then our gain over each."""
    from rich.table import Table

    from theworld.evaluation.peers.comparison import LABELS, METRICS

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("retriever", no_wrap=True)
    for name in (*(metric.replace("recall", "R") for metric in METRICS), "p50 ms", "p95 ms", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
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
    out.print(f"\nThe same {comparison.notes} notes and vectors ({comparison.space}), each in a process of its own")
    out.print(table, soft_wrap=False, crop=False)
    for other in others:
        gain = comparison.gain(other)
        interval = f"95% [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"
        said = f"TheWorld over {LABELS[other.name]}, recall@5: {100 * gain.mean:+.1f}"
        out.print(f"{said} {interval}, p = {gain.p_value:.4f}")
    whole = figures[ours.name]["whole_ms"]
    out.print(
        "Milliseconds until the ranking stands, embedding included (TheWorld with its answer: "
        f"p50 {whole['p50']:.0f}, p95 {whole['p95']:.0f}); MB: the most its process ever held"
    )
