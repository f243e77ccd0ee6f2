"""`theworld list`: the documents of a store. `theworld show`: one of them, as it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theworld.cli.options import JsonFlag, StoreOption, TenantOption, check_tenant, read_filters, settings_for

if TYPE_CHECKING:
    from rich.console import Console

    from theworld.stores.knowledge_store import KnowledgeStore
    from theworld.stores.ledger.catalog import DocumentSummary, StoredDocument
    from theworld.stores.records import Filters

_PAGE = 500
_UNKNOWN = "-"


def list_documents(
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    search: Annotated[
        str, typer.Option("--search", metavar="TEXT", help="Only those with this in their id, title or source.")
    ] = "",
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="KEY=VALUE", help="Document metadata that must match; repeat for more."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="How many to list at most.", show_default="all")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the documents of a store: id, title, notes, languages, when they were written."""
    from theworld.cli.output import console, print_json
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    with open_store(settings) as opened:
        total, found = _documents(opened, check_tenant(tenant), search, read_filters(filters or []), limit)
    if as_json:
        print_json({"total": total, "documents": [asdict(document) for document in found]})
    else:
        _show_list(console(), found, total)


def _documents(
    store: KnowledgeStore, tenant: str, search: str, filters: Filters, limit: int | None
) -> tuple[int, list[DocumentSummary]]:
    """Return how many match, and the first `limit` of them."""
    found: list[DocumentSummary] = []
    after: str | None = ""
    total = 0
    while after is not None and (limit is None or len(found) < limit):
        wanted = _PAGE if limit is None else min(_PAGE, limit - len(found))
        page = store.documents(tenant=tenant, search=search, filters=filters, after=after, limit=wanted)
        found += page.documents
        after, total = page.next_after, page.total
    return total, found


def _show_list(out: Console, documents: list[DocumentSummary], total: int) -> None:
    from rich.table import Table

    from theworld.cli.output import counted, printable

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("Id", "Title", "Notes", "Written"):
        table.add_column(title, overflow="fold", justify="right" if title == "Notes" else "left")
    for document in documents:
        table.add_row(
            printable(document.id), printable(document.title), f"{document.notes:,}", _written(document.written_at)
        )
    if documents:
        out.print(table, soft_wrap=False)
    more = f", {len(documents)} listed" if len(documents) < total else ""
    out.print(f"{counted(total, 'document')}{more}.")


def _written(moment: str | None) -> str:
    """Return a time to the minute, in the zone of this machine."""
    from datetime import datetime

    return _UNKNOWN if moment is None else datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def show_document(
    document_id: Annotated[
        str, typer.Argument(metavar="DOCUMENT_ID", help="Id of the document, as `theworld list` shows it.")
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    notes: Annotated[bool, typer.Option("--notes", help="Show the notes it was divided into.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show a document as the store keeps it: where it comes from, its metadata, and its text or notes."""
    from theworld.cli.output import console, print_json
    from theworld.errors import StoreError
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    check_tenant(tenant)
    with open_store(settings) as opened:
        found = opened.document(document_id, tenant=tenant)
    if found is None:
        raise StoreError(
            f"tenant {tenant!r} has no document {document_id!r}.",
            where=str(settings.store),
            remedy="`theworld list` shows the ids there are; --search TEXT narrows them.",
        )
    if as_json:
        print_json(_as_json(found))
    else:
        _show_whole(console(), found, notes=notes)


def _as_json(document: StoredDocument) -> dict[str, Any]:
    values = asdict(document)
    values["parts"] = [{k: v for k, v in part.items() if k in _NOTE_FIELDS} for part in values["parts"]]
    return values


_NOTE_FIELDS = ("id", "ordinal", "start", "end", "language", "section", "kind", "lead", "text")


def _show_whole(out: Console, document: StoredDocument, *, notes: bool) -> None:
    from rich.text import Text

    from theworld.cli.output import counted, printable, visible

    out.print(Text(printable(document.title or document.id), style="bold"))
    for line in _facts(document):
        out.print(Text(printable(line), style="dim"))
    if not notes:
        out.print()
        out.print(visible(document.text))
        return
    for note in document.parts:
        place = " › ".join(note.section)
        out.print()
        out.print(Text(printable(f"{note.id}  {note.kind}, characters {note.start}-{note.end}  {place}"), style="cyan"))
        out.print(visible(f"{note.lead}\n{note.text}" if note.lead else note.text))
    out.print(f"\n{counted(len(document.parts), 'note')}.")


def _facts(document: StoredDocument) -> Iterator[str]:
    yield f"id {document.id}"
    yield f"source {document.source}"
    languages = ", ".join(document.languages) or _UNKNOWN
    written = _written(document.written_at)
    yield f"written {written}, {document.notes} notes, {document.characters:,} characters, {languages}"
    if document.aliases:
        yield f"also called {', '.join(document.aliases)}"
    for key, value in sorted(document.metadata.items()):
        yield f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
