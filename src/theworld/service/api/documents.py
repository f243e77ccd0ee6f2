"""`/documents` and `/store`: documents into the tenant's knowledge and out of it, and what there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Literal, TypeVar

from fastapi import Path, Query, Request
from pydantic import BaseModel, Field, field_validator
from starlette.datastructures import UploadFile

from theworld.errors import IngestionError
from theworld.ingestion import IngestReport, SourceDocument
from theworld.ingestion.readers.document import plain_metadata
from theworld.ingestion.report import FailedSource
from theworld.service.api.access import Caller, Querying, caller_with
from theworld.service.api.replies import GUARDED, WITH_BODY, ApiError, Code, must_exist, redacted, router_of
from theworld.service.api.schemas import TEXT, Body, examples, is_no_text
from theworld.service.api.serving import enveloped, service_of
from theworld.service.documents import as_markdown
from theworld.service.runtime import Service
from theworld.stores.ledger.catalog import DocumentData, ListData
from theworld.stores.records import read_filters

T = TypeVar("T")
router = router_of(
    "documents", *WITH_BODY, Code.TOO_MANY, Code.STORE_BUSY, Code.STORE_UNAVAILABLE, Code.MODEL_UNAVAILABLE
)
reading_router = router_of("documents", *GUARDED, Code.NOT_FOUND, Code.STORE_UNAVAILABLE)
Writing = Annotated[Caller, caller_with("write")]
GivenId = Annotated[str, Field(min_length=1, max_length=512, description="Id, unique within the tenant")]
FileName = Annotated[str, Query(max_length=512, description="Its path, `/` between folders; else as a form names it")]
DocumentId = Annotated[
    str, Path(min_length=1, max_length=512, pattern=TEXT, description="Id of a document; slashes are part of it")
]
_BYTES = {"type": "string", "format": "binary"}
_FORM = {"schema": {"type": "object", "properties": {"file": _BYTES}, "required": ["file"]}}
_FILE = {"required": True, "content": {"application/octet-stream": {"schema": _BYTES}, "multipart/form-data": _FORM}}
MAX_DOCUMENTS = 500
"""In one request: it answers when all are found, and callers wait some minutes at most."""
WRITES_SHOWN = 20


class GivenDocument(Body):
    """A document to be kept."""

    id: GivenId
    text: str = Field(min_length=1, max_length=1_000_000, description="Its text, which is kept to the letter")
    format: Literal["markdown", "text"] = Field(
        default="markdown",
        description="`markdown`: divided at its headings, lists, tables and code, where it has any; "
        "`text`: at its blank lines",
    )
    title: str = Field(
        default="",
        max_length=1000,
        description="Its title, also a name that other documents link to; else that of the Markdown",
    )
    aliases: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field(
        default_factory=list, max_length=100, description="Other names of what it is about"
    )
    metadata: dict[str, str | int | float | bool | list[str]] = Field(
        default_factory=dict, max_length=100, description="Plain values, for filters"
    )
    source: str = Field(default="posted", max_length=2000, description="Where it comes from, shown in citations")

    @field_validator("*")
    @classmethod
    def _is_text(cls, value: object) -> object:
        return value  # one document that cannot be kept does not keep the others out

    def problem(self) -> str:
        """Return why it cannot be kept, or nothing."""
        if not self.id.isprintable() or not self.id.strip():
            return "the id is blank or has control characters"
        if not any(c.isalnum() for c in self.text):
            return "the text holds no letter or digit"
        if is_no_text(self.model_dump()):
            return "a text has NUL characters or lone surrogates"
        return ""


class DocumentsRequest(Body):
    """Documents to be written; each replaces the one with its id."""

    model_config = examples(
        {"documents": [{"id": "rush", "title": "Rush", "text": "Rush was a Canadian rock band."}]},
        {"documents": [{"id": "tiantan", "title": "天坛", "text": "天坛位于北京市东城区，始建于1420年。"}]},
    )

    documents: list[GivenDocument] = Field(min_length=1, max_length=100_000, description="The documents")


class DeleteRequest(Body):
    """Documents to be deleted."""

    ids: list[GivenId] = Field(min_length=1, max_length=10_000, description="Their ids")


class LeftOut(BaseModel):
    """A document that was not kept."""

    id: str = Field(description="Its id")
    reason: str = Field(description="Why")


class DocumentsData(BaseModel):
    """What became of the documents."""

    written: int = Field(description="Documents that were new or changed")
    unchanged: int = Field(description="Documents that were there as they are")
    notes: int = Field(description="Notes written")
    failed: list[LeftOut] = Field(description="Documents left out, and why")


class DeletedData(BaseModel):
    """What became of the documents."""

    deleted: int = Field(description="Documents there were; unknown ids count nothing")


@enveloped(router.post, "/documents", "Write documents")
async def write(request: Request, body: DocumentsRequest, caller: Writing) -> DocumentsData:
    """Split, embed, tag and link documents; when this returns they are found."""
    service = service_of(request)
    if len(body.documents) > MAX_DOCUMENTS:
        raise ApiError(Code.TOO_LARGE, f"at most {MAX_DOCUMENTS:,} documents in one request")
    problems = [(item, item.problem()) for item in body.documents]
    failed = [LeftOut(id=item.id, reason=problem) for item, problem in problems if problem]

    def put() -> IngestReport:
        given = [(_read(item), item.source) for item, problem in problems if not problem]
        return service.documents.put(given, tenant=caller.tenant)

    return _data(await _in_turn(service, caller, put), failed)


@enveloped(router.post, "/documents/file", "Write a file", openapi_extra={"requestBody": _FILE})
async def write_file(request: Request, caller: Writing, name: FileName = "") -> DocumentsData:
    """Read a file as `theworld ingest` does, by the ending of its name, and write its documents.

    The body is the file as it is, of whatever type, or a form with one file. Its name is the document's id, so that
    the same file sent again replaces itself.
    """
    service = service_of(request)
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        async with request.form() as form:
            files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
            if len(files) != 1:
                raise ApiError(Code.INVALID, f"send one file in a form, not {len(files)}")
            name, content = name or files[0].filename or "", await files[0].read()
    else:
        content = await request.body()
    outside = any(part in {"", ".", ".."} for part in name.split("/")) or "\\" in name
    if not name.isprintable() or not name.strip() or outside:
        raise ApiError(Code.INVALID, "the name is no path within what is uploaded, such as `guides/leave.md`")
    if not content:
        raise ApiError(Code.INVALID, "the file is empty")
    work = partial(service.documents.put_file, name, content, tenant=caller.tenant)
    try:
        report = await _in_turn(service, caller, work)
    except IngestionError as error:
        report = IngestReport(failed=[FailedSource(name, f"{error.what}. {error.remedy}".strip())])
    return _data(report)


@enveloped(router.delete, "/documents", "Delete documents")
async def delete(request: Request, body: DeleteRequest, caller: Writing) -> DeletedData:
    """Delete documents with their notes, vectors and links; ids the tenant does not have are passed over."""
    service = service_of(request)
    work = partial(service.documents.delete, body.ids, tenant=caller.tenant)
    return DeletedData(deleted=await _in_turn(service, caller, work))


async def _in_turn(service: Service, caller: Caller, work: Callable[[], T]) -> T:
    """Do work that writes, one after the other."""
    async with service.uploads.slot(caller.tenant):
        return await service.uploads.work(work)


def _read(item: GivenDocument) -> SourceDocument:
    """Return a posted document, divided as its format says; text without any Markdown is the same in both."""
    title, aliases, metadata = " ".join(item.title.split()), tuple(item.aliases), plain_metadata(item.metadata)
    plain = SourceDocument(title, item.text, item.id, aliases, metadata, passage=True)
    return plain if item.format == "text" else as_markdown(plain)


def _data(report: IngestReport, refused: Sequence[LeftOut] = ()) -> DocumentsData:
    left_out = [LeftOut(id=failure.path, reason=redacted(failure.reason)) for failure in report.failed]
    written, unchanged, notes = report.documents, report.unchanged, report.notes
    return DocumentsData(written=written, unchanged=unchanged, notes=notes, failed=[*refused, *left_out])


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


class WriteData(DocumentsData):
    """What one request, or one round of a watched folder, wrote."""

    what: str = Field(description="The file's name, the first document's id, or the folders")
    ended: datetime = Field(description="When it ended, UTC")
    seconds: float = Field(description="How long it took")
    deleted: int = Field(description="Documents deleted")


class StoreData(BaseModel):
    """What the tenant has in the store, and what is being written."""

    documents: int = Field(description="Documents")
    notes: dict[str, int] = Field(description="Notes by language")
    ontology: bool = Field(description="Whether it has an ontology too")
    most_bytes: int = Field(description="Largest file that is taken")
    waiting: int = Field(description="Uploads under way or waiting, of all tenants")
    writes: list[WriteData] = Field(description="The last writes of this process, the latest first")


@enveloped(reading_router.get, "/store", "What is in the store?")
async def get_store(request: Request, caller: Querying) -> StoreData:
    """Return how much the tenant has in the store, and its last writes since the server started."""
    service = service_of(request)
    ledger = service.resources.store.ledger
    counts = (await asyncio.to_thread(ledger.counts)).get(caller.tenant, {})
    return StoreData(
        documents=counts.get("documents", 0),
        notes=counts.get("languages", {}),
        ontology=caller.tenant in await asyncio.to_thread(ledger.graph.tenants),
        most_bytes=service.settings.service.max_body_bytes,
        waiting=service.uploads.present,
        writes=[
            WriteData(
                what=run.what, ended=run.ended, seconds=run.report.seconds.get("total", 0.0),
                deleted=run.report.pruned, **dict(_data(run.report)),
            )
            for run in reversed(service.documents.runs)
            if run.tenant == caller.tenant
        ][:WRITES_SHOWN],
    )  # fmt: skip


@enveloped(reading_router.get, "/documents", "List documents")
def list_documents(
    request: Request,
    caller: Querying,
    *,
    search: Annotated[str, Query(max_length=500, description="Part of id, title or source, in any case")] = "",
    filters: Annotated[
        list[str] | None, Query(alias="filter", max_length=32, description="Metadata as `key=value`; repeat for more")
    ] = None,
    after: Annotated[str, Query(max_length=512, description="Id to go on after")] = "",
    limit: Annotated[int, Query(ge=1, le=500, description="Documents of a page")] = 100,
) -> ListData:
    """List the tenant's documents by id; one key given several times means any of its values."""
    try:
        wanted = read_filters(filters or [])
    except ValueError as error:
        raise ApiError(Code.INVALID, f"filter: {error}") from error
    store = service_of(request).resources.store
    return store.documents(tenant=caller.tenant, search=search, filters=wanted, after=after, limit=limit)


@enveloped(reading_router.get, "/documents/{document_id:path}", "Get a document")
def get_document(request: Request, document_id: DocumentId, caller: Querying) -> WholeDocument:
    """Return a document with its text; another tenant's is as unknown as none."""
    store = service_of(request).resources.store
    found = store.document(document_id, tenant=caller.tenant)
    found = must_exist(found, "the tenant has no document of this id")
    return WholeDocument.model_validate(found, from_attributes=True)
