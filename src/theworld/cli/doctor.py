"""`theworld doctor`: look at everything a store needs, and say how to mend what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from theworld.cli.options import JsonFlag, StoreOption, settings_for

if TYPE_CHECKING:
    from rich.console import Console

    from theworld.doctor import Finding

FAILED = 1
_STYLES = {"ok": "green", "off": "dim", "warning": "yellow", "failed": "red"}


def doctor(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Look at folder, disk, ledger, projections, models, database and Wikidata; nothing is changed.

    Every engine that the settings name is asked whether it answers, for its version, its schema and how far it is
    behind the ledger. Exits with 1 when something failed; each finding says how to mend it. Passwords and keys are
    never shown.
    """
    from dataclasses import asdict

    from theworld.cli.output import console, error_console, print_json
    from theworld.doctor import examine

    settings = settings_for(store)
    if as_json:
        findings = list(examine(settings))
        print_json({"healthy": not _failed(findings), "findings": [asdict(found) for found in findings]})
    else:
        findings = []
        with error_console().status("Looking") as status:
            for found in examine(settings):
                findings.append(found)
                status.update(f"Looked at {found.subject}")
        _show(console(), findings)
    if _failed(findings):
        raise typer.Exit(FAILED)


def _failed(findings: list[Finding]) -> int:
    return sum(found.status == "failed" for found in findings)


def _show(out: Console, findings: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    from theworld.cli.output import counted, printable

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("", "Check", "Found", "ms"):
        table.add_column(title, justify="right" if title == "ms" else "left", overflow="fold")
    for found in findings:
        said = Text(printable(found.said))
        if found.remedy:
            said.append(f"\n{printable(found.remedy)}", style="bold")
        status = Text(found.status, style=_STYLES[found.status])
        table.add_row(status, found.subject, said, f"{found.elapsed_ms:.0f}")
    out.print(table, soft_wrap=False)
    warnings = sum(found.status == "warning" for found in findings)
    out.print(f"\n{counted(_failed(findings), 'failure')}, {counted(warnings, 'warning')}.")
