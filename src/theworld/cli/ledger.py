"""`theworld ledger`: the tables of the ledger, and moving it to a server."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from theworld.cli.options import StoreOption, settings_for

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
    chosen = settings.ledger.model_copy(update={"write_timeout_s": _LONGEST_S})
    with closing(connect(settings.store, chosen, writable=True)) as database:
        if create and schema.make_tables(database, namespace=chosen.namespace if database.remote else None):
            typer.echo(f"{database.where}: tables made, schema version {SCHEMA_VERSION}.")
            return
        steps = schema.migrate(database)
        said = f"brought to schema version {steps[-1]}" if steps else f"up to date: version {SCHEMA_VERSION}"
        typer.echo(f"{database.where}: {said}.")


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
        update={"ledger": settings.ledger.model_copy(update={"write_timeout_s": _LONGEST_S})}
    )
    with progress_bars(error_console()) as progress:
        task = progress.add_task("Copying", total=None)
        rows = move_ledger(settings, lambda done, total: progress.update(task, completed=done, total=total))
    typer.echo(f"{rows} rows copied. Check with `theworld doctor`; then the file may go.")
