"""`theworld wikidata`: make a snapshot of a Wikidata dump, and look names up."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from theworld.cli.ingesting import ProgressBars, progress_bars
from theworld.cli.options import INTERRUPTED, JsonFlag, LanguageName
from theworld.cli.output import console, error_console, print_json, printable

wikidata_app = typer.Typer(help="Wikidata without the network: make snapshots and search them.")


@wikidata_app.command()
def build(
    dump: Annotated[Path, Argument(metavar="DUMP", help="JSON dump, one entity a line: plain, .gz or .bz2.")],
    out: Annotated[Path, Option(metavar="FILE", help="The snapshot to write.")],
    min_sitelinks: Annotated[int, Option(min=0, help="Leave out entries with fewer pages about them.")] = 0,
    replace: Annotated[bool, Option("--replace", help="Write over FILE if it exists.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make one searchable file of a dump. Stopped, it goes on when the same command is run again."""
    from theworld.wikidata import build_snapshot

    err = error_console()
    with progress_bars(err) as progress:
        bars = ProgressBars(progress)

        def show(part: str, done: int, total: int) -> None:
            bars.update(part, completed=done, total=total)

        try:
            report = build_snapshot(dump, out, min_sitelinks=min_sitelinks, replace=replace, progress=show)
        except KeyboardInterrupt as stop:
            progress.stop()
            err.print("Stopped. What was read is kept; run the same command again to go on.")
            raise typer.Exit(INTERRUPTED) from stop
    if as_json:
        print_json({**asdict(report), "cut_off": report.cut_off, "snapshot": str(out)})
        return
    resumed = f", going on from line {report.resumed_at}" if report.resumed_at else ""
    err.print(
        f"{report.entities} entries, {report.left_out} left out, {report.bad} bad lines in {report.seconds:.1f} s"
        f"{resumed}. Snapshot: {out}"
    )
    for line, why in report.bad_lines:
        err.print(f"  line {line}: {printable(why)}")
    if report.bad > len(report.bad_lines):
        err.print(f"  and {report.bad - len(report.bad_lines)} more")
    if report.cut_off:
        err.print("  the dump ends without ]: it is only a part of one")


@wikidata_app.command()
def search(
    name: Annotated[str, Argument(metavar="NAME", help="The name to look up.")],
    snapshot: Annotated[
        Path | None, Option(metavar="FILE", help="The snapshot.", show_default="as the settings say")
    ] = None,
    language: Annotated[LanguageName | None, Option(help="Language of the entries.", show_default="the name's")] = None,
    limit: Annotated[int, Option(min=1, max=50, help="Entries shown.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Show the Wikidata entries a name may mean, best first."""
    from theworld.entities import open_knowledge
    from theworld.settings import Settings
    from theworld.text import detect_language

    settings = Settings.load().wikidata
    if snapshot is not None:
        settings = settings.model_copy(update={"snapshot": snapshot, "online": False})
    with open_knowledge(settings) as knowledge:
        found = knowledge.search(name, language or detect_language(name), limit)
    if as_json:
        print_json({"name": name, "entries": [dict(entry) for entry in found]})
        return
    out = console()
    if not found:
        out.print("No entry has this name.")
    for entry in found:
        head = " · ".join(printable(str(entry[part])) for part in ("label", "description") if entry.get(part))
        out.print(f"{entry['id']}  {head}")
        if entry.get("key_props_excerpt"):
            out.print(f"    {printable(str(entry['key_props_excerpt']))}")
        if entry.get("aliases"):
            out.print(f"    also: {printable(', '.join(entry['aliases'][:8]))}")
