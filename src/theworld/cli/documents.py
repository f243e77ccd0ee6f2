"""`theworld ingest`, `watch` and `delete`: documents into a store and out of it; `list` and `show`: those it has."""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Iterable
from dataclasses import asdict
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text
from typer import Argument, Option

from theworld.cli.ingesting import ingest_paths, show_report
from theworld.cli.options import (
    FilterOption,
    JsonFlag,
    StoreOption,
    TenantOption,
    opened_store,
    read_filters,
    settings_for,
)
from theworld.cli.output import (
    console,
    counted,
    error_console,
    plain_table,
    print_json,
    print_troubles,
    printable,
    visible,
)
from theworld.errors import StoreError

NOTHING_INGESTED = 5
NEAREST = 3
"""Ids that are named in place of one that is not there."""
_UNKNOWN = "-"


def ingest(
    paths: Annotated[
        list[str],
        Argument(
            metavar="PATH...",
            help="Files and folders: documents, tables, code, any text; or URLs (s3://, hdfs://, ...).",
        ),
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    reembed: Annotated[bool, Option("--reembed", help="Make every document anew.")] = False,
    prune: Annotated[
        bool, Option("--prune", help="Delete documents whose file is gone from the given folders.")
    ] = False,
    engine: Annotated[Literal["local", "ray"], Option(help="What reads and runs the models.")] = "local",
    address: Annotated[
        str | None, Option(metavar="HOST:PORT", help="Of a running Ray, or auto; none: Ray is started here.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read documents into a store; only what is new or changed costs time. Exit code 5 when nothing could be read."""
    settings = settings_for(store)
    if address and engine != "ray":
        raise typer.BadParameter("only the engine ray has an address: add --engine ray", param_hint="--address")
    report = ingest_paths(paths, settings, tenant=tenant, reembed=reembed, prune=prune, engine=engine, address=address)
    if as_json:
        print_json(asdict(report) | {"store": str(settings.store)})
    else:
        show_report(console(), report, settings.store)
    if not report.documents + report.unchanged + report.pruned:
        reasons = "see above" if report.failed or report.skipped else "no file was found"
        error_console().print(f"Nothing could be read: {reasons}.")
        raise typer.Exit(NOTHING_INGESTED)


def watch(
    folders: Annotated[list[Path], Argument(metavar="FOLDER...", help="Folders to keep in step with.")],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
) -> None:
    """Keep a store in step with folders until Ctrl-C: what is new, changed or deleted there is so in the store.

    It begins with what changed while nobody watched. Services over the same store see each change with the next
    question; `theworld serve --watch FOLDER` does both in one process. A folder that is away (unmounted, renamed) is
    waited for, and its documents stay.
    """
    from theworld.ingestion.sources import watch as watch_folders
    from theworld.models.registry import load_models

    settings, out = settings_for(store), console()
    models = load_models(settings)  # once: each burst would load them anew

    def bring_up_to_date() -> None:
        report = ingest_paths(folders, settings, models=models, tenant=tenant, prune=True, keep_empty=True)
        if report.documents + report.pruned + len(report.failed):
            show_report(out, report, settings.store)

    error_console().print(f"Watching {', '.join(map(str, folders))}; Ctrl-C ends.")
    stop, waiting = threading.Event(), lambda error: error_console().print(f"Waiting: {error}")
    watch_folders(folders, bring_up_to_date, store=settings.store, stop=stop, on_busy=waiting)


def delete(
    document_ids: Annotated[list[str], Argument(metavar="DOCUMENT_ID...", help="Ids of the documents.")],
    store: StoreOption = None,
    tenant: TenantOption = "default",
) -> None:
    """Delete documents with their notes, vectors and links; nothing is deleted when one of them does not exist."""
    with opened_store(store, read_only=False) as opened:
        known = opened.document_hashes(tenant)
        missing = [document for document in document_ids if document not in known]
        if missing:
            raise _unknown(missing, known, tenant, store, "; nothing was deleted")
        count = opened.delete(list(dict.fromkeys(document_ids)), tenant=tenant)
        opened.catch_up()
        print_troubles(opened.troubles)
    typer.echo(f"{counted(count, 'document')} deleted.")


def _unknown(
    missing: Collection[str], known: Iterable[str], tenant: str, store: Path | None, then: str = ""
) -> StoreError:
    """Return the error for ids that are not known; it names those most like them, or whose file name is."""
    parts: dict[str, list[str]] = {}
    for one in known:
        for part in dict.fromkeys((one, one.rpartition("/")[2])):
            parts.setdefault(part.casefold(), []).append(one)
    alike = [part for one in missing for part in get_close_matches(one.casefold(), parts, n=NEAREST)]
    named = ", ".join(list(dict.fromkeys(one for part in alike for one in parts[part]))[:NEAREST])
    listed = "`theworld list` shows the ids there are; --search TEXT narrows them."
    return StoreError(
        f"tenant {tenant!r} has no document {', '.join(map(repr, missing))}{then}.",
        where=str(settings_for(store).store),
        remedy=f"Did you mean {named}? Else {listed}" if named else listed,
    )


def list_documents(
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    search: Annotated[str, Option(metavar="TEXT", help="Only those with this in their id, title or source.")] = "",
    filters: FilterOption = None,
    limit: Annotated[int | None, Option(min=1, help="How many to list at most.", show_default="all")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the documents of a store: id, title, notes, languages, when they were written."""
    wanted, most = read_filters(filters), limit or sys.maxsize
    with opened_store(store) as opened:
        page = opened.documents(tenant=tenant, search=search, filters=wanted, limit=most)
        found, total = page.documents, page.total
        tenants = [] if total else sorted(opened.ledger.counts())
    if as_json:
        print_json({"total": total, "documents": [document.model_dump() for document in found]})
        return
    out, table = console(), plain_table(("Id", "Title", "Notes", "Written"), right=["Notes"])
    for document in found:
        named = printable(document.id), printable(document.title)
        table.add_row(*named, f"{document.notes:,}", _written(document.written_at))
    if found:
        out.print(table, soft_wrap=False)
    more = f", {len(found)} listed" if len(found) < total else ""
    out.print(f"{counted(total, 'document')}{more}.")
    if tenants and tenant not in tenants:
        out.print(f"No tenant is called {tenant!r}; this store has {printable(', '.join(tenants))}.")


def _written(moment: str | None) -> str:
    """Return a time to the minute, in the zone of this machine."""
    return _UNKNOWN if moment is None else datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def show_document(
    document_id: Annotated[
        str, Argument(metavar="DOCUMENT_ID", help="Id of the document, as `theworld list` shows it.")
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    notes: Annotated[bool, Option("--notes", help="Show the notes it was divided into.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show a document as the store keeps it: where it comes from, its metadata, and its text or notes."""
    from theworld.state.answers import place_of

    with opened_store(store) as opened:
        found = opened.document(document_id, tenant=tenant)
        known = opened.document_hashes(tenant) if found is None else ()
    if found is None:
        raise _unknown([document_id], known, tenant, store)
    if as_json:
        values = found.model_dump()
        values["parts"] = [{name: part[name] for name in _NOTE_FIELDS} for part in values["parts"]]
        print_json(values)
        return
    out = console()
    out.print(Text(printable(found.title or found.id), style="bold"))
    languages = ", ".join(found.languages) or _UNKNOWN
    facts = [
        f"id {found.id}",
        f"source {found.source}",
        f"written {_written(found.written_at)}, {found.notes} notes, {found.characters:,} characters, {languages}",
        *([f"also called {', '.join(found.aliases)}"] if found.aliases else []),
    ]
    for key, value in sorted(found.metadata.items()):
        facts.append(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for line in facts:
        out.print(Text(printable(line), style="dim"))
    if not notes:
        out.print()
        out.print(visible(found.text))
        return
    for note in found.parts:
        place = place_of(found.id, found.source, found.title, note.section)
        out.print()
        out.print(Text(printable(f"{note.id}  {note.kind}, characters {note.start}-{note.end}  {place}"), style="cyan"))
        out.print(visible(f"{note.lead}\n{note.text}" if note.lead else note.text))
    out.print(f"\n{counted(len(found.parts), 'note')}.")


_NOTE_FIELDS = ("id", "ordinal", "start", "end", "language", "section", "kind", "lead", "text")
