"""What `theworld eval documents` prints for a person: groups, systems, sets and failures as tables of per cent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from theworld.cli.output import console, printable

if TYPE_CHECKING:
    from theworld.evaluation.documents import DocumentsReport, Rivals
    from theworld.evaluation.documents.report import Figures

OURS = "TheWorld"
_WIDTH = 130
"""Characters that the widest table takes; a narrower terminal breaks lines, but no figure is cut."""
HEADS = {
    "file recall@1": "file@1",
    "file recall@5": "file@5",
    "file recall@10": "file@10",
    "all files@5": "files@5",
    "fact in first note": "note@1",
    "fact in first 3 notes": "note@3",
    "answer contained": "answer",
    "on the first screen": "screen",
    "unanswerable handled": "handled",
    "answerable declined": "declined",
}
"""Heads of the columns, by measure."""
LEGEND = """\
file@K: files needed among the first K; files@5: all of several among five; note@K: the fact in the first K notes;
answer: in the answer; screen: in its first 1,600 characters (Chinese 700); handled: unanswerable ones declined;
declined: answerable ones declined; chars: median length of the answers"""


def show_report_of(report: DocumentsReport, rivals: Rivals | None, *, failures: bool) -> None:
    """Print the figures of one set, then the rivals beside them and the failures, where wanted."""
    out, latency = console(), report.latency_ms()
    out.print(f"\n{printable(report.questions.name)}: {len(report.answers)} questions, per cent")
    groups = [(f"{name} {printable(value)}", figures) for name, value, figures in report.groups()]
    show_figures("group", [("all", report.figures), *groups])
    out.print(LEGEND, style="dim")
    out.print(f"Latency of the whole graph: p50 {latency['p50']} ms, p95 {latency['p95']} ms")
    if rivals is not None:
        show_rivals(report, rivals)
    if failures:
        show_failures(report)


def show_figures(head: str, rows: Iterable[tuple[str, Figures]]) -> None:
    """Print one row of figures each."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(head, no_wrap=True)
    for name in ("n", *HEADS.values(), "chars"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, figures in rows:
        shares = (f"{100 * figures.shares[name]:.1f}" if name in figures.shares else "-" for name in HEADS)
        table.add_row(label, str(figures.asked), *shares, f"{figures.characters:.0f}")
    out = console()
    out.width = max(out.width, _WIDTH)
    out.print(table, soft_wrap=False)


def show_rivals(report: DocumentsReport, rivals: Rivals) -> None:
    """Print all systems side by side, and our gain over each with its interval and paired test."""
    from theworld.evaluation.documents import RIVALS
    from theworld.evaluation.documents.rivals import GAINS

    out = console()
    out.print("\nThe same files, questions and embedder; a rival's answer is its first three passages")
    systems = [(OURS, report), *((RIVALS[name], found) for name, found in rivals.reports.items())]
    show_figures("system", [(label, found.figures) for label, found in systems])
    for label, other in systems[1:]:
        for measure in (measure for measure in GAINS if measure in report.figures.shares):
            gain = report.gain(other, measure)
            interval = f"95% [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"
            out.print(f"{OURS} over {label}, {measure}: {100 * gain.mean:+.1f} {interval}, p = {gain.p_value:.4f}")


def show_failures(report: DocumentsReport) -> None:
    """Print each failed question under its cause, with where its fact and its files were ranked."""
    from theworld.evaluation.documents.scoring import CAUSES

    out, found = console(), report.failures()
    out.print(f"\nFailed: {sum(map(len, found.values()))} of {len(report.answers)}")
    for cause, some in found.items():
        out.print(f"{cause} ({CAUSES[cause]}): {len(some)}")
        for failure in some:
            fact, files = (rank or "-" for rank in (failure.note_rank, failure.file_rank))
            sure = "" if failure.confidence is None else f", {failure.kind} {failure.confidence:.2f}"
            out.print(f"  {failure.id:8} fact at note {fact}, files at {files}{sure}: {printable(failure.question)}")


def show_sets(reports: Iterable[DocumentsReport]) -> None:
    """Print one row a set."""
    console().print("\nAll sets, per cent")
    show_figures("set", [(printable(report.questions.name), report.figures) for report in reports])
