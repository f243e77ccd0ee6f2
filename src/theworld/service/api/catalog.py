"""`/documents` to look at: the tenant's documents page by page, and one of them whole."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import GUARDED, ApiError, documented, must_exist, redacted
from theworld.service.api.knowledge import LeftOut
from theworld.service.api.schemas import TEXT
from theworld.service.api.serving import in_thread, service_of
from theworld.service.documents import WriteRun
from theworld.stores.filters import read_filters
from theworld.stores.ledger.catalog import DocumentSummary, StoredDocument

router = APIRouter(
    prefix="/api/v1", tags=["documents"], responses=documented(*GUARDED, Code.NOT_FOUND, Code.STORE_UNAVAILABLE)
)
Querying = Annotated[Caller, caller_with("query")]
DocumentId = Annotated[
    str, Path(min_length=1, max_length=512, pattern=TEXT, description="Id of a document; slashes are part of it")
]
WRITES_SHOWN = 20
NO_DOCUMENT = "the tenant has no document of this id"


class DocumentData(BaseModel):
    """A document without its text."""

    id: str = Field(description="Unique within the tenant")
    title: str = Field(description="Title")
    source: str = Field(description="Path or URL")
    notes: int = Field(description="How many notes it has")
    characters: int = Field(description="Length of its text")
    languages: list[str] = Field(description="`en`, `zh` or both")
    written_at: str | None = Field(description="When it was written or last changed, UTC, where known")
    metadata: dict[str, Any] = Field(description="What filters compare")
    aliases: list[str] = Field(description="Other names of what it is about")


class ListData(BaseModel):
    """Some of the documents, ordered by id."""

    documents: list[DocumentData] = Field(description="Of this page")
    total: int = Field(description="How many match in all")
    next_after: str | None = Field(description="Send it as `after` for the next page; null at the end")


class NotePlace(BaseModel):
    """Where a note stands in its document."""

    id: str = Field(description="Id of the note")
    section: list[str] = Field(description="Headings it stands under, outermost first")
    kind: str = Field(description="What it is made of")
    start: int = Field(description="Character offset")
    end: int = Field(description="End offset, exclusive")


class WholeDocument(DocumentData):
    """A document whole."""

    text: str = Field(description="The text that offsets refer to, in Unicode characters")
    parts: list[NotePlace] = Field(description="Its notes in order")


class WriteData(BaseModel):
    """What one request, or one round of a watched folder, wrote."""

    what: str = Field(description="The file's name, the first document's id, or the folders")
    ended: datetime = Field(description="When it ended, UTC")
    seconds: float = Field(description="How long it took")
    written: int = Field(description="Documents new or changed")
    unchanged: int = Field(description="Documents that were there as they are")
    deleted: int = Field(description="Documents deleted")
    notes: int = Field(description="Notes written")
    failed: list[LeftOut] = Field(description="What was left out, and why")


class StoreData(BaseModel):
    """What the tenant has in the store, and what is being written."""

    documents: int = Field(description="Documents")
    notes: dict[str, int] = Field(description="Notes by language")
    ontology: bool = Field(description="Whether it has an ontology too")
    most_bytes: int = Field(description="Largest file that is taken")
    waiting: int = Field(description="Uploads under way or waiting, of all tenants")
    writes: list[WriteData] = Field(description="The last writes of this process, the latest first")


@router.get("/store", response_model=Envelope[StoreData], summary="What is in the store?")
async def get_store(request: Request, caller: Querying) -> Response:
    """Return how much the tenant has in the store, and its last writes since the server started."""
    service = service_of(request)
    ledger = service.resources.store.ledger
    counts = (await in_thread(ledger.counts)).get(caller.tenant, {})
    writes = [_write(run) for run in reversed(service.documents.runs) if run.tenant == caller.tenant]
    data = StoreData(
        documents=counts.get("documents", {}).get("all", 0),
        notes=counts.get("languages", {}),
        ontology=caller.tenant in await in_thread(ledger.graph.tenants),
        most_bytes=service.settings.service.max_body_bytes,
        waiting=service.uploads.present,
        writes=writes[:WRITES_SHOWN],
    )
    return reply(request, data)


def _write(run: WriteRun) -> WriteData:
    report = run.report
    return WriteData(
        what=run.what,
        ended=run.ended,
        seconds=report.seconds.get("total", 0.0),
        written=report.documents,
        unchanged=report.unchanged,
        deleted=report.pruned,
        notes=report.notes,
        failed=[LeftOut(id=item.path, reason=redacted(item.reason)) for item in report.failed],
    )


@router.get("/documents", response_model=Envelope[ListData], summary="List documents")
async def list_documents(
    request: Request,
    caller: Querying,
    *,
    search: Annotated[str, Query(max_length=500, description="Part of id, title or source, in any case")] = "",
    filters: Annotated[
        list[str] | None, Query(alias="filter", max_length=32, description="Metadata as `key=value`; repeat for more")
    ] = None,
    after: Annotated[str, Query(max_length=512, description="Id to go on after")] = "",
    limit: Annotated[int, Query(ge=1, le=500, description="Documents of a page")] = 100,
) -> Response:
    """List the tenant's documents by id; one key given several times means any of its values."""
    store = service_of(request).resources.store
    try:
        wanted = read_filters(filters or [])
    except ValueError as error:
        raise ApiError(Code.INVALID, f"filter: {error}") from error
    page = await in_thread(
        lambda: store.documents(tenant=caller.tenant, search=search, filters=wanted, after=after, limit=limit)
    )
    documents = [DocumentData(**_summary(item)) for item in page.documents]
    return reply(request, ListData(documents=documents, total=page.total, next_after=page.next_after))


@router.get("/documents/{document_id:path}", response_model=Envelope[WholeDocument], summary="Get a document")
async def get_document(request: Request, document_id: DocumentId, caller: Querying) -> Response:
    """Return a document with its text; another tenant's is as unknown as none."""
    store = service_of(request).resources.store
    found = must_exist(await in_thread(lambda: store.document(document_id, tenant=caller.tenant)), NO_DOCUMENT)
    return reply(request, _whole(found))


def _summary(item: DocumentSummary) -> dict[str, Any]:
    return {name: value for name, value in asdict(item).items() if name in DocumentData.model_fields}


def _whole(found: StoredDocument) -> WholeDocument:
    parts = [
        NotePlace(id=note.id, section=list(note.section), kind=note.kind, start=note.start, end=note.end)
        for note in found.parts
    ]
    return WholeDocument(**_summary(found), text=found.text, parts=parts)
