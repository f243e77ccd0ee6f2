"""`/retrieval/explain/{request_id}` and the online metrics of a tenant.

`/feedback`: what a user says of an answer.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from theworld.evaluation.online import online_metrics
from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import GUARDED, WITH_BODY, documented, must_exist, without_internals
from theworld.service.api.schemas import NO_REQUEST, TEXT
from theworld.service.api.schemas import Body as Strict
from theworld.service.api.serving import in_thread, service_of
from theworld.service.explain.explanation import Explanation, explain
from theworld.service.explain.text import as_mermaid, as_text
from theworld.service.requests.record import outcome_of_record
from theworld.service.runtime import Service

router = APIRouter(
    prefix="/api/v1",
    tags=["on record"],
    responses=documented(*GUARDED, Code.NOT_FOUND, Code.STORE_UNAVAILABLE),
)
Querying = Annotated[Caller, caller_with("query")]
_WITH_FREE_TEXT = ("route", "channels", "entities", "answer", "timings", "degradations", "other")
RequestId = Annotated[
    str, Path(min_length=1, max_length=64, pattern=TEXT, description="Of search, route, rerank or ask")
]


class ExplainData(BaseModel):
    """An explanation in the form that was asked for."""

    explanation: Explanation | None = Field(default=None, description="As values (format json)")
    text: str | None = Field(default=None, description="In words (format text)")
    mermaid: str | None = Field(default=None, description="As a drawing (format mermaid)")


class OnlineData(BaseModel):
    """Online metrics of a tenant, as docs/service.md defines them."""

    requests: int = Field(description="Requests counted")
    judged: int = Field(description="Answers somebody judged")
    answer_success: float | None = Field(description="Share of judged answers that were right")
    tool_success: float | None = Field(description="Share of tool runs without a fallback")
    clarify_rate: float | None = Field(description="Share of questions that were answered by asking back")
    recovery_rate: float | None = Field(description="Share of requests with a failed stage that still ended well")
    latency_ms: dict[str, float] = Field(description="Percentiles 50, 95 and 99")
    routes: dict[str, Any] = Field(description="By the router's path: successes and attempts, from feedback")


@router.get("/retrieval/explain/{request_id}", response_model=Envelope[ExplainData], summary="Explain a request")
async def explain_request(
    request: Request,
    request_id: RequestId,
    caller: Querying,
    format: Annotated[Literal["json", "text", "mermaid"], Query(description="Form")] = "json",
    language: Annotated[Literal["en", "zh"], Query(description="Language of the text")] = "en",
) -> Response:
    """Rebuild what a request did from its records alone; another tenant's request is as unknown as no request."""
    service = service_of(request)
    explanation_found = must_exist(await in_thread(lambda: _explained(service, request_id, caller.tenant)), NO_REQUEST)
    if format == "text":
        return reply(request, ExplainData(text=as_text(explanation_found, language)))
    if format == "mermaid":
        return reply(request, ExplainData(mermaid=as_mermaid(explanation_found)))
    return reply(request, ExplainData(explanation=explanation_found))


def _explained(service: Service, request_id: str, tenant: str) -> Explanation | None:
    if service.writer is not None:
        service.writer.settle(request_id, tenant=tenant)
    record = service.journal.read(request_id, tenant=tenant)
    if record is None:
        return None
    journal = service.journal
    found = explain(record, journal.feedback(request_id, tenant=tenant), journal.arms(request_id, tenant=tenant))
    explanation_found = {name: without_internals(getattr(found, name)) for name in _WITH_FREE_TEXT}
    return found.model_copy(update=explanation_found)


@router.get("/metrics/online", response_model=Envelope[OnlineData], summary="Online metrics of a tenant")
async def online(
    request: Request,
    caller: Querying,
    hours: Annotated[float, Query(gt=0, le=87_600, description="How far back")] = 24.0,
) -> Response:
    """Compute the online metrics from the tenant's requests on record, so that every number can be traced back."""
    service = service_of(request)
    since = int((service.clock() - hours * 3600) * 1000)

    def compute() -> OnlineData:
        if service.writer is not None:
            service.writer.flush(2.0)
        rows = service.journal.requests(caller.tenant, since_ms=since, endpoints=("search", "ask"))
        found = online_metrics(outcome_of_record(row) for row in rows).as_json()
        routes = service.journal.route_outcomes(caller.tenant, since_ms=since)
        named = {path: {"successes": good, "attempts": tried} for path, (good, tried) in routes.items()}
        return OnlineData(**found, routes=named)

    return reply(request, await in_thread(compute))


feedback_router = APIRouter(
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


@feedback_router.post("/feedback", response_model=Envelope[FeedbackData], summary="Judge an answer")
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
