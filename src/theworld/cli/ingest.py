"""`theworld ingest`: files and folders into a store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from theworld.cli.options import JsonFlag, StoreOption, TenantOption, check_tenant, settings_for

NOTHING_INGESTED = 5


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files and folders: documents, tables, code, any text.")
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    reembed: Annotated[bool, typer.Option("--reembed", help="Make every document anew.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete documents whose file is gone from the given folders.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Read documents into a store; only what is new or changed costs time. Exit code 5 when nothing could be read."""
    from theworld.cli.ingesting import ingest_paths, show_report
    from theworld.cli.output import console, error_console, print_json

    settings = settings_for(store)
    report = ingest_paths(paths, settings, tenant=check_tenant(tenant), reembed=reembed, prune=prune)
    if as_json:
        print_json(asdict(report) | {"store": str(settings.store)})
    else:
        show_report(console(), report, settings.store)
    if not report.documents + report.unchanged + report.pruned:
        reasons = "see above" if report.failed or report.skipped else "no file was found"
        error_console().print(f"Nothing could be read: {reasons}.")
        raise typer.Exit(NOTHING_INGESTED)
