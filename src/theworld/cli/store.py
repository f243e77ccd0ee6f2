"""`theworld info`: what is in the store, and every effective setting with its origin.

`theworld ledger`: the tables of the ledger, and moving it to a server.

`theworld doctor`: look at everything a store needs, and say how to fix what is wrong.
"""

from __future__ import annotations

import platform
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theworld import __version__
from theworld.cli.options import JsonFlag, StoreOption, settings_for

if TYPE_CHECKING:
    from rich.console import Console

    from theworld.doctor import Finding
    from theworld.settings import Settings


def info(
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the store and every effective setting with its origin; secrets are hidden."""
    from theworld.cli.output import console, print_json

    settings = settings_for(store)
    facts = store_facts(settings, required=store is not None)
    if as_json:
        print_json(
            {
                "version": __version__,
                "python": platform.python_version(),
                "store": facts,
                "settings": setting_facts(settings),
            }
        )
        return
    out = console()
    out.print(f"theworld {__version__}, Python {platform.python_version()}")
    _show_store(out, settings, facts)
    _show_settings(out, settings)


def store_facts(settings: Settings, *, required: bool) -> dict[str, Any] | None:
    """Return the store's facts; None when there is none and none was asked for by name."""
    from theworld.stores.knowledge_store import open_store

    if not required and not settings.store.exists():
        return None
    with open_store(settings) as store:
        return store.info()


def setting_facts(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return value and origin of every setting by its dotted name; secrets as stars."""
    from pydantic import SecretStr

    from theworld.settings import setting_value, settings_origins

    found = {}
    for name, origin in settings_origins(settings).items():
        value = setting_value(settings, name)
        shown = str(value) if isinstance(value, Path | SecretStr) else value
        found[name] = {"value": shown, "origin": origin.kind, "where": origin.where}
    return found


def _show_store(out: Console, settings: Settings, facts: dict[str, Any] | None) -> None:
    from theworld.cli.output import counted

    if facts is None:
        out.print(f"No store at {settings.store} yet: make one with `theworld ingest PATH --store {settings.store}`.")
        return
    size = sum(facts["bytes"].values()) / 1_000_000
    out.print(f"Store {facts['path']}: {size:.1f} MB, sequence {facts['sequence']}, versions {facts['versions']}")
    for tenant, counts in facts["tenants"].items():
        languages = ", ".join(f"{number} {language}" for language, number in counts["languages"].items())
        spaces = ", ".join(f"{name} ({number})" for name, number in counts["spaces"].items())
        held = f"{counted(counts['documents'], 'document')}, {counted(counts['notes'], 'note')}"
        out.print(f"  tenant {tenant}: {held} ({languages})")
        out.print(f"    vectors: {spaces or 'none'}")
    behind = {name: "unreachable" if lag is None else lag for name, lag in facts["lag"].items() if lag != 0}
    if behind:
        out.print(f"  out of date: {behind}. Run `theworld sync`.")


def _show_settings(out: Console, settings: Settings) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("Setting", "Value", "Origin"):
        table.add_column(title, overflow="fold")
    for name, fact in setting_facts(settings).items():
        value = "" if fact["value"] is None else str(fact["value"])
        table.add_row(name, value, f"{fact['origin']} {fact['where']}".strip())
    out.print()
    out.print(table, soft_wrap=False)


ledger_app = typer.Typer(help="Bring the ledger's tables up to date; move it to PostgreSQL.", no_args_is_help=True)
_LONGEST_S = 86_400.0
"""How long moving or changing all rows may take."""


@ledger_app.command()
def migrate(
    store: StoreOption = None,
    create: Annotated[bool, typer.Option("--create", help="Make the tables when there are none yet.")] = False,
) -> None:
    """Bring the ledger's tables to the schema version of this program, in one transaction; harmless when they are.

    Run it with a role that owns the tables, before the new version of the program is started. A SQLite file is also
    brought up to date by whoever opens it next.
    """
    from theworld.stores.ledger import schema
    from theworld.stores.ledger.models import SCHEMA_VERSION
    from theworld.stores.ledger.opening import connect
    from theworld.stores.store_folder import check_folder

    settings = settings_for(store)
    if settings.ledger.url is None:
        check_folder(settings.store, create=create)
    chosen = settings.ledger_server.model_copy(update={"write_timeout_s": _LONGEST_S})
    with closing(connect(settings.store, chosen, writable=True)) as database:
        if create and schema.make_tables(database, namespace=chosen.namespace if database.remote else None):
            typer.echo(f"{database.where}: tables made, schema version {SCHEMA_VERSION}.")
            return
        steps = schema.migrate(database)
        message = f"brought to schema version {steps[-1]}" if steps else f"up to date: version {SCHEMA_VERSION}"
        typer.echo(f"{database.where}: {message}.")


@ledger_app.command()
def move(store: StoreOption = None) -> None:
    """Copy the SQLite ledger in the store's folder into the PostgreSQL that the settings name (THEWORLD_LEDGER__URL).

    All rows keep their numbers, so the projections go on where they are. The file is left as it is; nothing may write
    to it meanwhile.
    """
    from theworld.cli.ingesting import progress_bars
    from theworld.cli.output import error_console
    from theworld.errors import SettingsError
    from theworld.stores.moving import move_ledger

    settings = settings_for(store)
    if settings.ledger.url is None:
        raise SettingsError(
            "no server is named", where="ledger.url", remedy="Set THEWORLD_LEDGER__URL=postgresql+psycopg://..."
        )
    settings = settings.model_copy(
        update={"ledger": settings.ledger_server.model_copy(update={"write_timeout_s": _LONGEST_S})}
    )
    with progress_bars(error_console()) as progress:
        task = progress.add_task("Copying", total=None)
        rows = move_ledger(settings, lambda done, total: progress.update(task, completed=done, total=total))
    typer.echo(f"{rows} rows copied. Check with `theworld doctor`; then the file may go.")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to make; it must not be there yet.")],
    store: StoreOption = None,
) -> None:
    """Copy a store into one file while it is in use: the ledger, from which everything else is made again."""
    from rich.filesize import decimal

    from theworld.cli.ingesting import progress_bars
    from theworld.cli.output import error_console
    from theworld.stores.backup import back_up

    settings = settings_for(store)
    with progress_bars(error_console()) as progress:
        task = progress.add_task("Copying", total=None)
        size = back_up(settings.store, file, lambda done, total: progress.update(task, completed=done, total=total))
    typer.echo(f"{file}: {decimal(size)}. Make a store of it with `theworld restore {file} --store DIR`.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File made by `theworld backup`.")],
    store: StoreOption = None,
) -> None:
    """Make a store from a backup; of a store that is there, the documents since the backup are lost."""
    from theworld.cli.ingesting import progress_bars
    from theworld.cli.output import counted, error_console
    from theworld.stores.backup import restore as restore_store
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    with progress_bars(error_console()) as progress:
        task = progress.add_task("Copying", total=None)
        restore_store(file, settings.store, lambda done, total: progress.update(task, completed=done, total=total))
        task = progress.add_task("Indexing", total=None)
        with open_store(settings, read_only=False) as opened:
            opened.catch_up(lambda done, total: progress.update(task, completed=done, total=total or 1))
            documents = sum(counts["documents"] for counts in opened.info()["tenants"].values())
    typer.echo(f"{settings.store}: {counted(documents, 'document')}.")


FAILED = 1
_STYLES = {"ok": "green", "off": "dim", "warning": "yellow", "failed": "red"}


def doctor(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Look at folder, disk, ledger, projections, models, database and Wikidata; nothing is changed.

    Every engine that the settings name is asked whether it answers, for its version, its schema and how far it is
    behind the ledger. Exits with 1 when something failed; each finding says how to fix it. Passwords and keys are
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
        message = Text(printable(found.said))
        if found.remedy:
            message.append(f"\n{printable(found.remedy)}", style="bold")
        status = Text(found.status, style=_STYLES[found.status])
        table.add_row(status, found.subject, message, f"{found.elapsed_ms:.0f}")
    out.print(table, soft_wrap=False)
    warnings = sum(found.status == "warning" for found in findings)
    out.print(f"\n{counted(_failed(findings), 'failure')}, {counted(warnings, 'warning')}.")
