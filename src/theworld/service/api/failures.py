"""`/metrics/failures` and `GET /feedback`: what went wrong in live traffic, and what users said of answers.

Failures are grouped by what is on record: an error by its code, an answer that found no evidence, a fallback by its
stage, an answer judged bad by the router's path. A request may be in several groups. Why a stage failed is told by an
evaluation that explains failures, for which questions from logs are a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import GUARDED, documented
from theworld.service.api.serving import in_thread, service_of

router = APIRouter(prefix="/api/v1", tags=["on record"], responses=documented(*GUARDED, Code.STORE_UNAVAILABLE))
Evaluating = Annotated[Caller, caller_with("evaluate")]
SHOWN = 5
"""Examples given of a group, the newest."""

Cause = Literal["error", "no_evidence", "fallback", "judged_bad"]


class FailedRequest(BaseModel):
    """A request that failed."""

    request_id: str = Field(description="Its id, for explain and replay")
    question: str = Field(description="What was asked")
    created_ms: int = Field(description="When (milliseconds since 1970)")


class FailureGroup(BaseModel):
    """Requests that failed alike."""

    cause: Cause = Field(description="What went wrong")
    where: str = Field(description="Code of the error, stage of the fallback, or path of the router; empty: no matter")
    count: int = Field(description="How many")
    examples: list[FailedRequest] = Field(description=f"The newest {SHOWN}")


class FailuresData(BaseModel):
    """Failures of live traffic."""

    requests: int = Field(description="Requests looked at")
    failed: int = Field(description="Those in at least one group")
    groups: list[FailureGroup] = Field(description="The largest first")


class Judgement(BaseModel):
    """What a user said of an answer."""

    request_id: str = Field(description="The request")
    verdict: Literal["good", "bad"] = Field(description="Whether the answer is right")
    answers: list[str] = Field(description="Right answers, where they were given")
    documents: list[str] = Field(description="Documents that answer it, where they were given")
    comment: str = Field(description="Anything else")
    created_ms: int = Field(description="When (milliseconds since 1970)")
    question: str | None = Field(description="What was asked; null when it is no longer on record")
    kind: str | None = Field(description="Kind of the answer")
    path: str | None = Field(description="Path of the router")


class JudgementsData(BaseModel):
    """Some of the feedback, the newest first."""

    feedback: list[Judgement] = Field(description="Of this page")
    total: int = Field(description="How much there is in all")
    next_after: int | None = Field(description="Send it as `after` for the next page; null at the end")


@router.get("/metrics/failures", response_model=Envelope[FailuresData], summary="Failures of live traffic, in groups")
async def failures(
    request: Request,
    caller: Evaluating,
    hours: Annotated[float, Query(gt=0, le=87_600, description="How far back")] = 24.0,
) -> Response:
    """Group the tenant's requests on record that ended badly, needed a fallback or were judged bad."""
    service = service_of(request)
    since = int((service.clock() - hours * 3600) * 1000)

    def compute() -> FailuresData:
        if service.writer is not None:
            service.writer.flush(2.0)
        return grouped(service.journal.requests(caller.tenant, since_ms=since, endpoints=("search", "ask")))

    return reply(request, await in_thread(compute))


def grouped(rows: Iterable[Mapping[str, Any]]) -> FailuresData:
    """Return the groups of rows of `RequestJournal.requests`, oldest first."""
    found: dict[tuple[Cause, str], list[FailedRequest]] = {}
    counts: dict[tuple[Cause, str], int] = {}
    requests = failed = 0
    for row in rows:
        requests += 1
        causes = list(dict.fromkeys(_causes(row)))
        failed += bool(causes)
        one = FailedRequest(request_id=row["request_id"], question=row["question"], created_ms=row["created_ms"])
        for cause in causes:
            counts[cause] = counts.get(cause, 0) + 1
            found[cause] = [one, *found.get(cause, ())][:SHOWN]
    order = sorted(counts, key=lambda cause: (-counts[cause], cause))
    groups = [FailureGroup(cause=c[0], where=c[1], count=counts[c], examples=found[c]) for c in order]
    return FailuresData(requests=requests, failed=failed, groups=groups)


def _causes(row: Mapping[str, Any]) -> Iterator[tuple[Cause, str]]:
    if row["status"] == "error":
        yield "error", str(row["code"])
    if row["kind"] == "none":
        yield "no_evidence", ""
    yield from (("fallback", item["stage"]) for item in row["outcome"].get("degradations") or [])
    if row["feedback"] is not None and row["feedback"]["verdict"] == "bad":
        yield "judged_bad", row["path"] or ""


@router.get("/feedback", response_model=Envelope[JudgementsData], summary="List feedback")
async def list_feedback(
    request: Request,
    caller: Evaluating,
    *,
    verdict: Annotated[Literal["good", "bad"] | None, Query(description="Only such; default: both")] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="Number to go on after")] = 0,
    limit: Annotated[int, Query(ge=1, le=500, description="Entries of a page")] = 100,
) -> Response:
    """List what the tenant's users said of answers, the newest first."""
    journal = service_of(request).journal

    def read() -> JudgementsData:
        rows, total, next_after = journal.judgements(caller.tenant, verdict=verdict, after=after, limit=limit)
        some = [Judgement(**{name: row[name] for name in Judgement.model_fields}) for row in rows]
        return JudgementsData(feedback=some, total=total, next_after=next_after)

    return reply(request, await in_thread(read))
