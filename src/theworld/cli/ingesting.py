"""Ingest with a progress bar, and say what was done; shared by `ingest`, `eval` and `demo`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from theworld.cli.options import INTERRUPTED
from theworld.cli.output import counted, error_console, print_troubles, printable

if TYPE_CHECKING:
    from theworld.ingestion import IngestReport
    from theworld.models.registry import Models
    from theworld.settings import Settings

FAILURES_SHOWN = 20
KINDS_SHOWN = 8
_NO_ENDING = "no ending"
STOPPING = "Stopping: the batch in hand is finished and saved. Ctrl-C again stops at once."
LINES_EVERY_S = 10.0
"""Between two lines of progress in a log file."""
PACE_OVER_S = 300.0
"""The last so many seconds tell the pace."""
LABELS = {"read": "Reading", "notes": "Making notes", "link": "Linking", "index": "Indexing"}


class ProgressBars:
    """An ingestion's progress as bars, one a part; where there is no terminal, as a line from time to time."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._due = time.monotonic() + LINES_EVERY_S

    def start(self, part: str, total: int) -> None:
        """Show a bar; without a total it only pulses."""
        self._tasks[part] = self._progress.add_task(LABELS.get(part, part), total=total or None)

    def advance(self, part: str, steps: int) -> None:
        """Move a bar on."""
        self.update(part, advance=steps)

    def update(self, part: str, **reached: Any) -> None:
        """Move a bar as `Progress.update` says; the first time, show it."""
        if part not in self._tasks:
            self.start(part, 0)
        self._progress.update(self._tasks[part], **reached)
        if self._progress.disable and time.monotonic() >= self._due:
            self._due = time.monotonic() + LINES_EVERY_S
            task = self._progress.tasks[self._tasks[part]]
            self._progress.console.print(f"{task.description}: {_Done().render(task)}")

    def stopping(self) -> None:
        """Say that Ctrl-C was heard."""
        with suppress(RuntimeError):  # a signal may come while this very thread is printing
            self._progress.console.print(STOPPING)


class _Done(ProgressColumn):
    """How much is done, of how much (bytes of files read), and the time left, but for what it takes to begin."""

    def render(self, task: Task) -> Text:
        show = decimal if task.description == LABELS["read"] else "{:,}".format
        told = show(int(task.completed)) + (f" of {show(int(task.total))}" if task.total is not None else "")
        pace, left = task.speed, task.time_remaining
        if pace and left is not None:
            rate = show(round(pace)) if pace >= 10 else f"{pace:.1f}"
            told += f", {rate}/s, about {f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} left"
        return Text(told, style="progress.download")


def progress_bars(out: Console) -> Progress:
    """Return what shows progress while entered, on a terminal only."""
    columns, silent = (TextColumn("{task.description}"), BarColumn(), _Done(), TimeElapsedColumn()), not out.is_terminal
    return Progress(*columns, console=out, transient=True, disable=silent, speed_estimate_period=PACE_OVER_S)


@contextmanager
def counting(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show how much of some work is done; yields what is told it, and of how much."""
    with progress_bars(error_console()) as progress:
        bars = ProgressBars(progress)
        bars.start(label, 0)
        yield lambda done, total: bars.update(label, completed=done, total=total or 1)


def ingest_paths(
    paths: Sequence[Path | str],
    settings: Settings,
    *,
    models: Models | None = None,
    keep_empty: bool = False,
    **options: Any,
) -> IngestReport:
    """Bring the settings' store up to date, making it if need be; Ctrl-C says what is saved and exits with 130.

    A store made for nothing is removed, unless `keep_empty`. `options` are those of `theworld.ingestion.ingest`.
    """
    from theworld.ingestion import IngestInterrupted, ingest
    from theworld.ingestion.sources import as_path, root_of
    from theworld.models.registry import load_models
    from theworld.stores.files import remove_folder
    from theworld.stores.knowledge_store import open_store

    for path in paths:
        root_of(as_path(path))  # a path that is not there is reported before a store is made
    out = error_console()
    models, is_new = models or load_models(settings), not settings.store.exists()
    with open_store(settings, create=True) as store, progress_bars(out) as progress:
        if not options.get("reembed"):
            store.check_embedders({language: models.embedders[language].name for language in models.embedders})
        try:
            report = ingest(paths, store, models, settings, progress=ProgressBars(progress), **options)
        except IngestInterrupted as stop:
            progress.stop()
            show_report(out, stop.report, settings.store)
            out.print("Stopped. What is counted above is saved; run the same command again to go on.")
            raise typer.Exit(INTERRUPTED) from stop
        print_troubles(store.troubles)
        if is_new and not keep_empty and not store.ledger.sequence():
            remove_folder(settings.store)  # while it is locked, so that nobody else has begun to write
        return report


def _listed(kinds: Sequence[str]) -> str:
    """Return kinds of files as they are shown: one more than fit is no reason to leave it out."""
    more = len(kinds) - KINDS_SHOWN
    shown = kinds if more <= 1 else [*kinds[:KINDS_SHOWN], f"{more} more kinds"]
    return printable(", ".join(shown))


def show_report(out: Console, report: IngestReport, store: Path) -> None:
    """Print what an ingestion did and what it left out."""
    total = report.seconds.get("total", 0.0)
    written = f"{counted(report.documents, 'document')} written ({counted(report.notes, 'note')})"
    parts = [written, f"{report.unchanged} unchanged"]
    if report.pruned:
        parts.append(f"{report.pruned} deleted")
    if len(report.kinds) > 1:
        parts.append(f"files found: {_listed([f'{n} {kind or _NO_ENDING}' for kind, n in report.kinds.items()])}")
    if report.skipped:
        often = sorted(report.skipped_kinds, key=lambda kind: -report.skipped_kinds[kind])
        others = _listed([kind or _NO_ENDING for kind in often])
        parts.append(f"{counted(report.skipped, 'file')} of other kinds ({others}) passed over")
    speed = report.rates.get("total", 0.0)
    rate = f" ({speed:.{0 if speed >= 10 else 1}f} notes/s)" if report.notes else ""
    place = f" Store: {store}" if store.exists() else ""
    out.print(f"{', '.join(parts)} in {total:.1f} s{rate}.{place}")
    if report.remade:
        out.print(f"{report.remade} of them made anew: this version reads or divides documents in another way.")
    if report.gone:
        out.print(f"{counted(report.gone, 'document')} of files that are gone kept; --prune deletes them.")
    if report.failed:
        out.print(f"{len(report.failed)} left out:")
    for failure in report.failed[:FAILURES_SHOWN]:
        out.print(f"  {printable(failure.path)}: {printable(failure.reason)}")
    if len(report.failed) > FAILURES_SHOWN:
        out.print(f"  and {len(report.failed) - FAILURES_SHOWN} more")
