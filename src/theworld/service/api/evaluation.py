"""`/eval/jobs`: evaluations of one or two strategies on question sets."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from theworld.evaluation.failure_report import as_html, as_markdown
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import WITH_BODY, ApiError, documented, must_exist
from theworld.service.api.markup import markdown_html
from theworld.service.api.question_sets import After, Evaluating, Limit
from theworld.service.api.schemas import TEXT
from theworld.service.api.schemas import Body as Strict
from theworld.service.api.serving import in_thread, service_of
from theworld.service.requests.strategies import Strategy
from theworld.service.runtime import Service
from theworld.stores.ledger.evaluations import MOST_OPEN, StoredJob

router = APIRouter(
    prefix="/api/v1/eval",
    tags=["evaluation"],
    responses=documented(*WITH_BODY, Code.NOT_FOUND, Code.STORE_UNAVAILABLE),
)
Id = Annotated[str, Path(min_length=1, max_length=64, pattern=TEXT)]
_A = [Strategy(name="A")]
NO_DATASET = "the tenant has no dataset of this id"
NO_JOB = "the tenant has no job of this id"
NO_REPORT = "no finished job of this id and strategy has its failures explained (explain_failures)"


class JobRequest(Strict):
    """An evaluation of one strategy, or of two against each other."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "dataset_id": "0123456789abcdef0123456789abcdef",
                    "strategies": [{"name": "A"}, {"name": "B", "rerank": False}],
                    "explain_failures": True,
                }
            ]
        }
    )

    dataset_id: str = Field(min_length=1, max_length=64, description="The set")
    strategies: list[Strategy] = Field(
        default_factory=lambda: list(_A), min_length=1, max_length=2, description="One strategy, or two (A/B)"
    )
    limit: int | None = Field(default=None, ge=1, description="Only the first questions")
    explain_failures: bool = Field(default=False, description="Name the culprit of every failure, by counterfactual")
    use_model: bool = Field(default=False, description="Allow the language model, where one is configured")

    @model_validator(mode="after")
    def _distinct(self) -> JobRequest:
        if len({strategy.name for strategy in self.strategies}) < len(self.strategies):
            raise ValueError("two strategies have the same name")
        return self


class JobData(BaseModel):
    """A job as it stands."""

    job_id: str = Field(description="Its id")
    dataset_id: str = Field(description="The set")
    status: Literal["queued", "running", "done", "cancelled", "failed"] = Field(description="How far it is")
    done: int = Field(description="Steps done")
    total: int = Field(description="Steps known of so far")
    strategies: list[str] = Field(description="Names of the strategies")
    results: dict[str, Any] = Field(description="Metrics by strategy, when it is done")
    comparison: dict[str, Any] | None = Field(description="The second strategy over the first, with paired tests")
    failures: dict[str, Any] | None = Field(description="Failures by strategy and culprit")
    error: str = Field(description="Why it failed")
    created_ms: int = Field(description="When it was asked for (milliseconds since 1970)")
    started_ms: int | None = Field(description="When it began")
    finished_ms: int | None = Field(description="When it was over")


class JobsData(BaseModel):
    """Some of the jobs, the newest first."""

    jobs: list[JobData] = Field(description="Of this page")
    total: int = Field(description="How many there are in all")
    next_after: str | None = Field(description="Send it as `after` for the next page; null at the end")


class ReportData(BaseModel):
    """A failure report."""

    format: str = Field(description="html, markdown or fragment")
    report: str = Field(description="The document")


@router.post(
    "/jobs",
    response_model=Envelope[JobData],
    status_code=202,
    summary="Start an evaluation",
    responses=documented(Code.TOO_MANY),
)
async def add_job(request: Request, body: Annotated[JobRequest, Body()], caller: Evaluating) -> Response:
    """Queue an evaluation; a process of low priority works on it, also after a restart."""
    service = service_of(request)

    def add() -> JobData | None:
        for strategy in body.strategies:
            strategy.resources(service.resources)
        dataset = service.evaluations.dataset(body.dataset_id, tenant=caller.tenant)
        if dataset is None:
            return None
        row, _, questions = dataset
        count = min(questions, body.limit or questions)
        wanted = body.model_dump(mode="json", exclude={"dataset_id"})
        job_id = service.evaluations.add_job(caller.tenant, row, wanted, count * len(body.strategies))
        if job_id is None:
            raise ApiError(Code.TOO_MANY, details={"unfinished_jobs": MOST_OPEN})
        service.jobs.start()
        return _job(service, job_id, caller.tenant)

    return reply(request, must_exist(await in_thread(add), NO_DATASET), status=202)


@router.get("/jobs", response_model=Envelope[JobsData], summary="List evaluations")
async def list_jobs(request: Request, caller: Evaluating, *, after: After = "", limit: Limit = 100) -> Response:
    """List the tenant's evaluations, the newest first."""
    service = service_of(request)

    def read() -> JobsData:
        some, total, next_after = service.evaluations.jobs(caller.tenant, after=after, limit=limit)
        return JobsData(jobs=[_data(service, job) for job in some], total=total, next_after=next_after)

    return reply(request, await in_thread(read))


@router.get("/jobs/{job_id}", response_model=Envelope[JobData], summary="How far is an evaluation?")
async def get_job(request: Request, job_id: Id, caller: Evaluating) -> Response:
    """Return progress and, when it is done, metrics, comparison and failures."""
    service = service_of(request)
    return reply(request, must_exist(await in_thread(lambda: _job(service, job_id, caller.tenant)), NO_JOB))


@router.delete("/jobs/{job_id}", response_model=Envelope[JobData], summary="Cancel an evaluation")
async def cancel_job(request: Request, job_id: Id, caller: Evaluating) -> Response:
    """Stop a job after the question in hand; one that is over stays as it is."""
    service = service_of(request)

    def cancel() -> JobData | None:
        known = service.evaluations.cancel(job_id, tenant=caller.tenant)
        return _job(service, job_id, caller.tenant) if known else None

    return reply(request, must_exist(await in_thread(cancel), NO_JOB))


@router.get("/jobs/{job_id}/report", response_model=Envelope[ReportData], summary="Failure report")
async def get_report(
    request: Request,
    job_id: Id,
    caller: Evaluating,
    *,
    strategy: Annotated[str | None, Query(max_length=64, description="Default: the first one")] = None,
    format: Annotated[
        Literal["html", "markdown", "fragment"],
        Query(description="A whole page with plots, Markdown, or cleaned HTML to be put into a page"),
    ] = "html",
    language: Annotated[Literal["en", "zh"], Query(description="Language")] = "en",
) -> Response:
    """Return the failures of a finished job in clusters, with counts, examples and what to try."""
    service = service_of(request)

    def render() -> str | None:
        job = service.evaluations.job(job_id, tenant=caller.tenant)
        failures = ((job.report if job is not None else None) or {}).get("failures") or {}
        found = failures.get(strategy) if strategy is not None else next(iter(failures.values()), None)
        if found is None:
            return None
        if format == "html":
            return as_html(found, language)
        text = as_markdown(found, language)
        return markdown_html(text) if format == "fragment" else text

    text = must_exist(await in_thread(render), NO_REPORT)
    return reply(request, ReportData(format=format, report=text))


def _job(service: Service, job_id: str, tenant: str) -> JobData | None:
    job = service.evaluations.job(job_id, tenant=tenant)
    return _data(service, job) if job is not None else None


def _data(service: Service, job: StoredJob) -> JobData:
    report: Any = job.report or {}
    return JobData(
        job_id=job.job_id,
        dataset_id=service.evaluations.dataset_facts(job.dataset)[0],
        status=job.status,
        done=job.done,
        total=job.total,
        strategies=[strategy["name"] for strategy in job.request["strategies"]],
        results=dict(service.evaluations.results(job.row)),
        comparison=report.get("comparison"),
        failures=report.get("failures"),
        error=job.error,
        created_ms=job.created_ms,
        started_ms=job.started_ms,
        finished_ms=job.finished_ms,
    )
