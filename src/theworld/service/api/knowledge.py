"""`/documents`: documents into the tenant's knowledge, and out of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from theworld.ingestion import SourceDocument
from theworld.ingestion.readers.document import plain_metadata
from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import WITH_BODY, ApiError, documented, redacted
from theworld.service.api.schemas import Body as Strict
from theworld.service.api.schemas import is_no_text
from theworld.service.api.serving import in_thread, service_of

router = APIRouter(
    prefix="/api/v1",
    tags=["documents"],
    responses=documented(*WITH_BODY, Code.STORE_BUSY, Code.STORE_UNAVAILABLE, Code.MODEL_UNAVAILABLE),
)
Writing = Annotated[Caller, caller_with("write")]
DocumentId = Annotated[str, Field(min_length=1, max_length=512, description="Id, unique within the tenant")]
_POSTED = "posted"


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


@router.post("/documents", response_model=Envelope[DocumentsData], summary="Write documents")
async def write(request: Request, body: Annotated[DocumentsRequest, Body()], caller: Writing) -> Response:
    """Split, embed, tag and link documents; when this returns they are found."""
    service = service_of(request)
    most = service.settings.service.max_documents
    if len(body.documents) > most:
        raise ApiError(Code.TOO_LARGE, f"at most {most:,} documents in one request")
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
    report = await in_thread(lambda: service.documents.put(given, tenant=caller.tenant))
    failed += [LeftOut(id=failure.path, reason=redacted(failure.reason)) for failure in report.failed]
    data = DocumentsData(written=report.documents, unchanged=report.unchanged, notes=report.notes, failed=failed)
    return reply(request, data)


@router.delete("/documents", response_model=Envelope[DeletedData], summary="Delete documents")
async def delete(request: Request, body: Annotated[DeleteRequest, Body()], caller: Writing) -> Response:
    """Delete documents with their notes, vectors and links; ids the tenant does not have are passed over."""
    service = service_of(request)
    count = await in_thread(lambda: service.documents.delete(body.ids, tenant=caller.tenant))
    return reply(request, DeletedData(deleted=count))
