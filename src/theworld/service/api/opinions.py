"""`/feedback`: what a user says of an answer."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import WITH_BODY, documented, must_exist
from theworld.service.api.schemas import NO_REQUEST
from theworld.service.api.schemas import Body as Strict
from theworld.service.api.serving import in_thread, service_of

router = APIRouter(
    prefix="/api/v1",
    tags=["feedback"],
    responses=documented(*WITH_BODY, Code.NOT_FOUND, Code.STORE_UNAVAILABLE),
)
Text = Annotated[str, Field(min_length=1, max_length=2000)]


class FeedbackRequest(Strict):
    """A judgement of one answer; the latest one on a request counts."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"request_id": "0123456789abcdef0123456789abcdef", "verdict": "bad", "answers": ["Vienna"]}]
        }
    )

    request_id: str = Field(min_length=1, max_length=64, description="The request it is about")
    verdict: Literal["good", "bad"] = Field(description="Whether the answer is right")
    answers: list[Text] = Field(default_factory=list, max_length=20, description="Right answers, where known")
    documents: list[Text] = Field(default_factory=list, max_length=50, description="Ids of documents that answer it")
    comment: str = Field(default="", max_length=4000, description="Anything else")


class FeedbackData(BaseModel):
    """Feedback that was kept."""

    request_id: str = Field(description="The request it is about")
    verdict: str = Field(description="What was said")


@router.post("/feedback", response_model=Envelope[FeedbackData], summary="Judge an answer")
async def give_feedback(
    request: Request, body: Annotated[FeedbackRequest, Body()], caller: Annotated[Caller, caller_with("query")]
) -> Response:
    """Keep a judgement; it feeds the online metrics, the router's history and golden sets."""
    service = service_of(request)

    def keep() -> FeedbackData | None:
        if service.writer is not None:
            service.writer.settle(body.request_id, tenant=caller.tenant)
        if not service.journal.knows(body.request_id, tenant=caller.tenant):
            return None
        now = int(service.clock() * 1000)
        service.journal.add_feedback({**body.model_dump(), "tenant": caller.tenant, "created_ms": now})
        return FeedbackData(request_id=body.request_id, verdict=body.verdict)

    kept = must_exist(await in_thread(keep), NO_REQUEST)
    service.metrics.feedback.labels(body.verdict).inc()
    return reply(request, kept)
