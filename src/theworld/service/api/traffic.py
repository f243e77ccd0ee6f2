"""Live traffic: `/metrics/online`, `/metrics/failures`, and `/feedback`, what users say of answers.

Failures are grouped by what is on record: an error by its code, an answer that found no evidence, a fallback by its
stage, an answer judged bad by the router's path. A request may be in several groups. Why a stage failed is told by an
evaluation that explains failures, for which questions from logs are a set.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any, Literal

from fastapi import Query, Request
from pydantic import BaseModel, Field

from theworld.evaluation.online import OnlineMetrics, online_metrics
from theworld.service.api.access import Evaluating, Querying, refuse_foreign_page
from theworld.service.api.replies import GUARDED, WITH_BODY, Code, must_exist, router_of
from theworld.service.api.schemas import NO_REQUEST, Body, Text, examples
from theworld.service.api.serving import enveloped, service_of
from theworld.service.requests.record import outcome_of_record

router = router_of("on record", *GUARDED, Code.STORE_UNAVAILABLE)
feedback_router = router_of("feedback", *WITH_BODY, Code.NOT_FOUND, Code.STORE_UNAVAILABLE)
Hours = Annotated[float, Query(gt=0, le=87_600, description="How far back")]
Verdict = Literal["good", "bad"]
Cause = Literal["error", "no_evidence", "fallback", "judged_bad"]
SHOWN = 5


class OnlineData(OnlineMetrics):
    """Online metrics of a tenant, as docs/service.md defines them."""

    routes: dict[str, Any] = Field(description="By the router's path: successes and attempts, from feedback")


@enveloped(router.get, "/metrics/online", "Online metrics of a tenant")
def online(request: Request, caller: Querying, hours: Hours = 24.0) -> OnlineData:
    """Compute the online metrics from the tenant's requests on record, so that every number can be traced back."""
    service = service_of(request)
    since, rows = service.recent(caller.tenant, hours)
    found = online_metrics(outcome_of_record(row) for row in rows)
    routes = service.journal.route_outcomes(caller.tenant, since_ms=since)
    named = {path: {"successes": good, "attempts": tried} for path, (good, tried) in routes.items()}
    return OnlineData(**dict(found), routes=named)


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


@enveloped(router.get, "/metrics/failures", "Failures of live traffic, in groups")
def failures(request: Request, caller: Evaluating, hours: Hours = 24.0) -> FailuresData:
    """Group the tenant's requests on record that ended badly, needed a fallback or were judged bad."""
    found: dict[tuple[Cause, str], list[FailedRequest]] = defaultdict(list)
    requests = failed = 0
    for row in service_of(request).recent(caller.tenant, hours)[1]:
        requests += 1
        causes: set[tuple[Cause, str]] = {
            ("fallback", item["stage"]) for item in row["outcome"].get("degradations") or []
        }
        if row["status"] == "error":
            causes.add(("error", str(row["code"])))
        if row["kind"] == "none":
            causes.add(("no_evidence", ""))
        if row["feedback"] is not None and row["feedback"]["verdict"] == "bad":
            causes.add(("judged_bad", row["path"] or ""))
        failed += bool(causes)
        one = FailedRequest(request_id=row["request_id"], question=row["question"], created_ms=row["created_ms"])
        for cause in causes:
            found[cause].append(one)
    groups = [
        FailureGroup(cause=cause, where=where, count=len(some), examples=some[::-1][:SHOWN])
        for (cause, where), some in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return FailuresData(requests=requests, failed=failed, groups=groups)


class FeedbackRequest(Body):
    """A judgement of one answer; the latest one on a request counts."""

    model_config = examples({"request_id": "0123456789abcdef0123456789abcdef", "verdict": "bad", "answers": ["Vienna"]})

    request_id: str = Field(min_length=1, max_length=64, description="The request it is about")
    verdict: Verdict = Field(description="Whether the answer is right")
    answers: list[Text] = Field(default_factory=list, max_length=20, description="Right answers, where known")
    documents: list[Text] = Field(default_factory=list, max_length=50, description="Ids of documents that answer it")
    comment: str = Field(default="", max_length=4000, description="Anything else")


class FeedbackData(BaseModel):
    """Feedback that was kept."""

    request_id: str = Field(description="The request it is about")
    verdict: Verdict = Field(description="Whether the answer is right")


@enveloped(feedback_router.post, "/feedback", "Judge an answer")
def give_feedback(request: Request, body: FeedbackRequest, caller: Querying) -> FeedbackData:
    """Keep a judgement; it feeds the online metrics, the router's history and golden sets."""
    refuse_foreign_page(request)
    service = service_of(request)
    service.settle(body.request_id, caller.tenant)
    must_exist(service.journal.knows(body.request_id, tenant=caller.tenant) or None, NO_REQUEST)
    now = int(service.clock() * 1000)
    service.journal.add_feedback({**body.model_dump(), "tenant": caller.tenant, "created_ms": now})
    service.metrics.feedback.labels(body.verdict).inc()
    return FeedbackData(request_id=body.request_id, verdict=body.verdict)


class Judgement(FeedbackData):
    """What a user said of an answer."""

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


@enveloped(router.get, "/feedback", "List feedback")
def list_feedback(
    request: Request,
    caller: Evaluating,
    *,
    verdict: Annotated[Verdict | None, Query(description="Only such; default: both")] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="Number to go on after")] = 0,
    limit: Annotated[int, Query(ge=1, le=500, description="Entries of a page")] = 100,
) -> JudgementsData:
    """List what the tenant's users said of answers, the newest first."""
    journal = service_of(request).journal
    rows, total, next_after = journal.judgements(caller.tenant, verdict=verdict, after=after, limit=limit)
    return JudgementsData(feedback=list(map(Judgement.model_validate, rows)), total=total, next_after=next_after)
