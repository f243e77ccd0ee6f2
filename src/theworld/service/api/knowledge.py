"""`/documents`: documents into the tenant's knowledge, and out of it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from theworld.errors import IngestionError
from theworld.ingestion import IngestReport, SourceDocument
from theworld.ingestion.readers.document import plain_metadata
from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import WITH_BODY, ApiError, documented, redacted
from theworld.service.api.schemas import Body as Strict
from theworld.service.api.schemas import is_no_text
from theworld.service.api.serving import service_of

router = APIRouter(
    prefix="/api/v1",
    tags=["documents"],
    responses=documented(*WITH_BODY, Code.TOO_MANY, Code.STORE_BUSY, Code.STORE_UNAVAILABLE, Code.MODEL_UNAVAILABLE),
)
Writing = Annotated[Caller, caller_with("write")]
DocumentId = Annotated[str, Field(min_length=1, max_length=512, description="Id, unique within the tenant")]
FileName = Annotated[str, Query(min_length=1, max_length=512, description="Its path, `/` between folders")]
_POSTED = "posted"
_BYTES = {"type": "string", "format": "binary"}


class GivenDocument(Strict):
    """A document to be kept."""

    id: DocumentId
    text: str = Field(min_length=1, max_length=1_000_000, description="Its text")
    title: str = Field(default="", max_length=1000, description="Its title, also a name that other documents link to")
    aliases: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field(
        default_factory=list, max_length=100, description="Other names of what it is about"
    )
    metadata: dict[str, str | int | float | bool | list[str]] = Field(
        default_factory=dict, max_length=100, description="Plain values, for filters"
    )
    source: str = Field(default=_POSTED, max_length=2000, description="Where it comes from, shown in citations")

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


class DocumentsRequest(Strict):
    """Documents to be written; each replaces the one with its id."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"documents": [{"id": "rush", "title": "Rush", "text": "Rush was a Canadian rock band."}]},
                {"documents": [{"id": "tiantan", "title": "天坛", "text": "天坛位于北京市东城区，始建于1420年。"}]},
            ]
        }
    )

    documents: list[GivenDocument] = Field(min_length=1, max_length=100_000, description="The documents")


class DeleteRequest(Strict):
    """Documents to be deleted."""

    ids: list[DocumentId] = Field(min_length=1, max_length=10_000, description="Their ids")


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


MAX_DOCUMENTS = 500
"""In one request: it answers when all are found, and callers wait some minutes at most."""


@router.post("/documents", response_model=Envelope[DocumentsData], summary="Write documents")
async def write(request: Request, body: Annotated[DocumentsRequest, Body()], caller: Writing) -> Response:
    """Split, embed, tag and link documents; when this returns they are found."""
    service = service_of(request)
    if len(body.documents) > MAX_DOCUMENTS:
        raise ApiError(Code.TOO_LARGE, f"at most {MAX_DOCUMENTS:,} documents in one request")
    failed = [LeftOut(id=item.id, reason=problem) for item in body.documents if (problem := item.problem())]
    given = [
        (
            SourceDocument(
                " ".join(item.title.split()),
                item.text,
                item.id,
                tuple(item.aliases),
                plain_metadata(item.metadata),
                passage=True,
            ),
            item.source,
        )
        for item in body.documents
        if not item.problem()
    ]
    async with service.uploads.slot(caller.tenant):
        report = await service.uploads.work(lambda: service.documents.put(given, tenant=caller.tenant))
    return reply(request, _told(report, failed))


@router.post(
    "/documents/file",
    response_model=Envelope[DocumentsData],
    summary="Write a file",
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": _BYTES}}}},
)
async def write_file(request: Request, name: FileName, caller: Writing) -> Response:
    """Read a file as `theworld ingest` does, by the ending of its name, and write its documents.

    The body is the file as it is, of whatever type. Its name is the document's id, so that the same file sent again
    replaces itself.
    """
    service, content = service_of(request), await request.body()
    _check_file(name, content)
    async with service.uploads.slot(caller.tenant):
        try:
            work = partial(service.documents.put_file, name, content, tenant=caller.tenant)
            report = await service.uploads.work(work)
        except IngestionError as error:
            failed = [LeftOut(id=name, reason=redacted(f"{error.what}. {error.remedy}".strip()))]
            return reply(request, DocumentsData(written=0, unchanged=0, notes=0, failed=failed))
    return reply(request, _told(report, []))


def _check_file(name: str, content: bytes) -> None:
    parts = name.split("/")
    if not name.isprintable() or not name.strip() or any(part in {"", ".", ".."} for part in parts) or "\\" in name:
        raise ApiError(Code.INVALID, "the name is no path within what is uploaded, such as `guides/leave.md`")
    if not content:
        raise ApiError(Code.INVALID, "the file is empty")


def _told(report: IngestReport, failed: list[LeftOut]) -> DocumentsData:
    failed = failed + [LeftOut(id=failure.path, reason=redacted(failure.reason)) for failure in report.failed]
    return DocumentsData(written=report.documents, unchanged=report.unchanged, notes=report.notes, failed=failed)


@router.delete("/documents", response_model=Envelope[DeletedData], summary="Delete documents")
async def delete(request: Request, body: Annotated[DeleteRequest, Body()], caller: Writing) -> Response:
    """Delete documents with their notes, vectors and links; ids the tenant does not have are passed over."""
    service = service_of(request)
    async with service.uploads.slot(caller.tenant):
        count = await service.uploads.work(lambda: service.documents.delete(body.ids, tenant=caller.tenant))
    return reply(request, DeletedData(deleted=count))
