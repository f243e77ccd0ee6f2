"""What a store is and needs: `theworld info`, `doctor`, `sync`, `ledger`, `backup` and `restore`."""

from __future__ import annotations

import platform
from contextlib import closing
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal
from rich.text import Text
from typer import Argument, Option

from theworld import __version__
from theworld.cli.ingesting import counting
from theworld.cli.options import JsonFlag, StoreOption, opened_store, settings_for
from theworld.cli.output import console, counted, error_console, plain_table, print_json, print_troubles, printable
from theworld.errors import SettingsError

if TYPE_CHECKING:
    from theworld.doctor import Finding


def info(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Show the store and every effective setting with its origin; secrets are hidden."""
    from pydantic import SecretStr

    from theworld.settings import setting_value, settings_origins

    settings = settings_for(store)
    facts: dict[str, Any] | None = None
    if store is not None or settings.store.exists():
        with opened_store(store) as opened:
            facts = opened.info()
    chosen: dict[str, dict[str, Any]] = {}
    for name, origin in settings_origins(settings).items():
        value = setting_value(settings, name)
        shown = str(value) if isinstance(value, Path | SecretStr) else value  # secrets as stars
        chosen[name] = {"value": shown, "origin": origin.kind, "where": origin.where}
    if as_json:
        print_json({"version": __version__, "python": platform.python_version(), "store": facts, "settings": chosen})
        return
    out = console()
    out.print(f"theworld {__version__}, Python {platform.python_version()}")
    if facts is None:
        out.print(f"No store at {settings.store} yet: make one with `theworld ingest PATH --store {settings.store}`.")
    else:
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
    table = plain_table(("Setting", "Value", "Origin"))
    for name, fact in chosen.items():
        value = "" if fact["value"] is None else str(fact["value"])
        table.add_row(name, value, f"{fact['origin']} {fact['where']}".strip())
    out.print()
    out.print(table, soft_wrap=False)


OUT_OF_DATE = 4
ProjectionName = StrEnum("ProjectionName", ["sparse", "dense", "graph"])


def sync(
    store: StoreOption = None,
    rebuild: Annotated[
        list[ProjectionName] | None, Option(help="Empty this projection first; repeat for more.")
    ] = None,
    verify: Annotated[
        bool, Option("--verify", help="Read ledger and files whole, build damaged files anew; compare servers.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Replay the ledger into projections that are empty or out of date; what is there already is not sent again.

    Interrupted, it goes on where it was when it is run again. Exits with 4 when a projection could not be brought up to
    date, or when --verify finds a difference.

    Moving to servers: set THEWORLD_SPARSE__URL, THEWORLD_DENSE__URL or THEWORLD_GRAPH__URL, then run
    `theworld sync --verify`.
    """
    with opened_store(store, read_only=False) as opened, counting("Indexing") as progress:
        for projection in dict.fromkeys(rebuild or ()):
            opened.rebuild(projection.value)
        opened.catch_up(progress)
        opened.renew_sparse()
        lag, troubles = opened.info()["lag"], dict(opened.troubles)
        damaged = opened.check_files() if verify else []
        differences = None
        if verify and not troubles:
            differences = [
                f"{name}: the ledger has {expected}, the server {held}; run `theworld sync --rebuild {name}`"
                for name, (expected, held) in opened.verify().items()
                if expected != held
            ]
    if as_json:
        print_json({"lag": lag, "troubles": troubles, "damaged": damaged, "differences": differences})
    else:
        print_troubles(troubles)
        for name, count in lag.items():
            behind = f"{count} changes to apply" if count else "up to date"
            typer.echo(f"{name}: {'unreachable' if count is None else behind}")
        for name in damaged:
            typer.echo(f"{name}: its files were damaged; built anew from the ledger")
        for difference in differences or ():
            typer.echo(difference)
        if differences is not None:
            typer.echo(f"{counted(len(differences), 'difference')} between servers and ledger.")
    if troubles or differences:
        raise typer.Exit(OUT_OF_DATE)


ledger_app = typer.Typer(help="Bring the ledger's tables up to date; move it to PostgreSQL.")
_LONGEST_S = 86_400.0
"""How long moving or changing all rows may take."""


@ledger_app.command()
def migrate(
    store: StoreOption = None,
    create: Annotated[bool, Option("--create", help="Make the tables when there are none yet.")] = False,
) -> None:
    """Bring the ledger's tables to the schema version of this program, in one transaction; harmless when they are.

    Run it with a role that owns the tables, before the new version of the program is started. A SQLite file is also
    brought up to date by whoever opens it next.
    """
    from theworld.stores.ledger.models import SCHEMA_VERSION
    from theworld.stores.ledger.opening import connect, make_tables, migrate_tables
    from theworld.stores.opening import check_folder

    settings = settings_for(store)
    if settings.ledger.url is None:
        check_folder(settings.store, create=create)
    chosen = settings.ledger_server.model_copy(update={"write_timeout_s": _LONGEST_S})
    with closing(connect(settings.store, chosen, writable=True)) as database:
        if create and make_tables(database):
            typer.echo(f"{database.where}: tables made, schema version {SCHEMA_VERSION}.")
            return
        steps = migrate_tables(database)
        message = f"brought to schema version {steps[-1]}" if steps else f"up to date: version {SCHEMA_VERSION}"
        typer.echo(f"{database.where}: {message}.")


@ledger_app.command()
def move(store: StoreOption = None) -> None:
    """Copy the SQLite ledger in the store's folder into the PostgreSQL that the settings name (THEWORLD_LEDGER__URL).

    All rows keep their numbers, so the projections go on where they are. The file is left as it is; nothing may write
    to it meanwhile.
    """
    from theworld.stores.moving import move_ledger

    settings = settings_for(store)
    if settings.ledger.url is None:
        remedy = "Set THEWORLD_LEDGER__URL=postgresql+psycopg://..."
        raise SettingsError("no server is named", where="ledger.url", remedy=remedy)
    patient = settings.ledger_server.model_copy(update={"write_timeout_s": _LONGEST_S})
    settings = settings.model_copy(update={"ledger": patient})
    with counting("Copying") as progress:
        rows = move_ledger(settings, progress)
    typer.echo(f"{rows} rows copied. Check with `theworld doctor`; then the file may go.")


def backup(
    file: Annotated[Path, Argument(metavar="FILE", help="File to make; it must not be there yet.")],
    store: StoreOption = None,
) -> None:
    """Copy a store into one file while it is in use: the ledger, from which everything else is made again."""
    from theworld.stores.moving import back_up

    with counting("Copying") as progress:
        size = back_up(settings_for(store).store, file, progress)
    typer.echo(f"{file}: {decimal(size)}. Make a store of it with `theworld restore {file} --store DIR`.")


def restore(
    file: Annotated[Path, Argument(metavar="FILE", help="File made by `theworld backup`.")], store: StoreOption = None
) -> None:
    """Make a store from a backup; of a store that is there, the documents since the backup are lost.

    A store that a process has open, such as a service, is refused: stop that first.
    """
    from theworld.stores.moving import restore as restore_store

    settings = settings_for(store)
    with counting("Copying") as progress:
        restore_store(file, settings.store, progress)
    with counting("Indexing") as progress, opened_store(store, read_only=False) as opened:
        opened.catch_up(progress)
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
    from theworld.doctor import examine

    findings: list[Finding] = []
    with error_console().status("Looking") as status:
        for found in examine(settings_for(store)):
            findings.append(found)
            status.update(f"Looked at {found.subject}")
    failed = sum(found.status == "failed" for found in findings)
    if as_json:
        print_json({"healthy": not failed, "findings": [asdict(found) for found in findings]})
    else:
        table = plain_table(("", "Check", "Found", "ms"), right=["ms"])
        for found in findings:
            message = Text(printable(found.said))
            if found.remedy:
                message.append(f"\n{printable(found.remedy)}", style="bold")
            mark = Text(found.status, style=_STYLES[found.status])
            table.add_row(mark, found.subject, message, f"{found.elapsed_ms:.0f}")
        console().print(table, soft_wrap=False)
        warnings = sum(found.status == "warning" for found in findings)
        console().print(f"\n{counted(failed, 'failure')}, {counted(warnings, 'warning')}.")
    if failed:
        raise typer.Exit(FAILED)
