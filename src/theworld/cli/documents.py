"""`theworld ingest`, `delete` and `sync`: documents into a store, out of it, and into its projections."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theworld.cli.options import JsonFlag, StoreOption, TenantOption, check_tenant, settings_for

if TYPE_CHECKING:
    from theworld.stores.knowledge_store import KnowledgeStore

NOTHING_INGESTED = 5


class Engine(StrEnum):
    """What reads documents and runs the models over them."""

    LOCAL = "local"
    RAY = "ray"


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Files and folders: documents, tables, code, any text; or URLs (s3://, hdfs://, ...).",
        ),
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    reembed: Annotated[bool, typer.Option("--reembed", help="Make every document anew.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete documents whose file is gone from the given folders.")
    ] = False,
    engine: Annotated[Engine, typer.Option("--engine", help="What reads and runs the models.")] = Engine.LOCAL,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="HOST:PORT", help="Of a running Ray, or auto; none: Ray is started here."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read documents into a store; only what is new or changed costs time. Exit code 5 when nothing could be read."""
    from theworld.cli.ingesting import ingest_paths, show_report
    from theworld.cli.output import console, error_console, print_json

    settings = settings_for(store)
    if address and engine is not Engine.RAY:
        raise typer.BadParameter("only the engine ray has an address: add --engine ray", param_hint="--address")
    options: dict[str, Any] = {"reembed": reembed, "prune": prune, "engine": engine.value, "address": address}
    report = ingest_paths(paths, settings, tenant=check_tenant(tenant), **options)
    if as_json:
        print_json(asdict(report) | {"store": str(settings.store)})
    else:
        show_report(console(), report, settings.store)
    if not report.documents + report.unchanged + report.pruned:
        reasons = "see above" if report.failed or report.skipped else "no file was found"
        error_console().print(f"Nothing could be read: {reasons}.")
        raise typer.Exit(NOTHING_INGESTED)


def delete(
    document_ids: Annotated[list[str], typer.Argument(metavar="DOCUMENT_ID...", help="Ids of the documents.")],
    store: StoreOption = None,
    tenant: TenantOption = "default",
) -> None:
    """Delete documents with their notes, vectors and links; nothing is deleted when one of them does not exist."""
    from theworld.cli.output import counted, print_troubles
    from theworld.errors import StoreError
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    check_tenant(tenant)
    with open_store(settings, read_only=False) as opened:
        known = opened.document_hashes(tenant)
        missing = [document for document in document_ids if document not in known]
        if missing:
            raise StoreError(
                f"tenant {tenant!r} has no document {', '.join(map(repr, missing))}; nothing was deleted.",
                where=str(settings.store),
                remedy="`theworld list` shows the ids there are.",
            )
        count = opened.delete(list(dict.fromkeys(document_ids)), tenant=tenant)
        opened.catch_up()
        print_troubles(opened.troubles)
    typer.echo(f"{counted(count, 'document')} deleted.")


FAILED = 4


class ProjectionName(StrEnum):
    """A projection of a store."""

    SPARSE = "sparse"
    DENSE = "dense"
    GRAPH = "graph"


def sync(
    store: StoreOption = None,
    rebuild: Annotated[
        list[ProjectionName] | None, typer.Option("--rebuild", help="Empty this projection first; repeat for more.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Read all files and build damaged ones anew; compare servers with the ledger."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Replay the ledger into projections that are empty or out of date; what is there already is not sent again.

    Interrupted, it goes on where it was when it is run again. Exits with 4 when a projection could not be brought up to
    date, or when --verify finds a difference.

    Moving to servers: set THEWORLD_SPARSE__URL, THEWORLD_DENSE__URL or THEWORLD_GRAPH__URL, then run
    `theworld sync --verify`.
    """
    from theworld.cli.ingesting import progress_bars
    from theworld.cli.output import counted, error_console, print_json, print_troubles
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    with open_store(settings, read_only=False) as opened, progress_bars(error_console()) as progress:
        task = progress.add_task("Indexing", total=None)
        for projection in dict.fromkeys(rebuild or ()):
            opened.rebuild(projection.value)
        opened.catch_up(lambda done, total: progress.update(task, completed=done, total=total or 1))
        opened.renew_sparse()
        lag, troubles = opened.info()["lag"], dict(opened.troubles)
        damaged = opened.check_files() if verify else []
        differences = verified(opened) if verify and not troubles else None
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
        raise typer.Exit(FAILED)


def watch(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Folders to keep in step with.")],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
) -> None:
    """Keep a store in step with folders until Ctrl-C: what is new, changed or deleted there is so in the store.

    It begins with what changed while nobody watched. Services over the same store see each change with the next
    question; `theworld serve --watch FOLDER` does both in one process.
    """
    import threading

    from theworld.cli.ingesting import ingest_paths, show_report
    from theworld.cli.output import console, error_console
    from theworld.ingestion.watching import watch as watch_folders
    from theworld.models.registry import load_models

    settings, out = settings_for(store), console()
    models = load_models(settings)  # once: each burst would load them anew

    def bring_up_to_date() -> None:
        report = ingest_paths(folders, settings, models=models, tenant=check_tenant(tenant), prune=True)
        if report.documents + report.pruned + len(report.failed):
            show_report(out, report, settings.store)

    error_console().print(f"Watching {', '.join(map(str, folders))}; Ctrl-C ends.")
    watch_folders(
        folders,
        bring_up_to_date,
        store=settings.store,
        stop=threading.Event(),
        on_busy=lambda error: error_console().print(f"Waiting: {error}"),
    )


def verified(store: KnowledgeStore) -> list[str]:
    """Return what differs between projections on servers and the ledger, in words; empty when nothing does."""
    return [
        f"{name}: the ledger has {expected}, the server {held}; run `theworld sync --rebuild {name}`"
        for name, (expected, held) in store.verify().items()
        if expected != held
    ]
