"""`/eval/datasets`: question sets, uploaded or made from requests on record; `/eval/jobs`: evaluations on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from pydantic import BaseModel, Field, field_validator, model_validator

from theworld.errors import InvalidQuestionError
from theworld.evaluation.failures import as_html, as_markdown
from theworld.nodes.receive_question import clean_question
from theworld.service.api.access import Evaluating
from theworld.service.api.passages import markdown_html
from theworld.service.api.replies import WITH_BODY, ApiError, Code, documented, must_exist, redacted, router_of
from theworld.service.api.schemas import TEXT, Body, Question, Text, examples
from theworld.service.api.serving import enveloped, service_of
from theworld.service.golden import golden_set
from theworld.service.requests.strategies import Strategy
from theworld.service.runtime import Service
from theworld.stores.ledger.evaluations import MOST_OPEN, Job
from theworld.stores.ledger.evaluations import Query as StoredQuery

router = router_of("evaluation", *WITH_BODY, Code.NOT_FOUND, Code.STORE_UNAVAILABLE, prefix="/api/v1/eval")
After = Annotated[str, Query(max_length=64, pattern=r"^[!-~]*$", description="Id to go on after")]
Limit = Annotated[int, Query(ge=1, le=500, description="Entries of a page")]
Id = Annotated[str, Path(min_length=1, max_length=64, pattern=TEXT)]


class GivenQuery(Body):
    """A question with what is right about it."""

    id: str = Field(min_length=1, max_length=512, description="Its id within the set")
    text: Question
    answers: list[Text] = Field(default_factory=list, max_length=100, description="Accepted answers")
    grades: dict[str, Annotated[int, Field(ge=1, le=1000)]] = Field(
        default_factory=dict, max_length=1000, description="Gold documents and their grades (qrels above 0)"
    )
    type: str = Field(default="", max_length=200, description="A label that results are given by as well")

    @field_validator("text")
    @classmethod
    def _can_be_asked(cls, text: str) -> str:
        try:
            clean_question(text)
        except InvalidQuestionError as error:
            raise ValueError(error.what) from error
        return text

    @model_validator(mode="after")
    def _has_gold(self) -> GivenQuery:
        if not self.answers and not self.grades:
            raise ValueError("a question needs answers or grades")
        return self


class FromLogs(Body):
    """A set made from the tenant's own requests and feedback."""

    hours: float = Field(default=24 * 30, gt=0, le=87_600, description="How far back")
    size: int | None = Field(default=None, ge=1, le=100_000, description="At most so many, strata taken in turn")


class DatasetRequest(Body):
    """A question set (BEIR: queries and qrels), over documents that are in the tenant's knowledge; or one from logs."""

    model_config = examples(
        {
            "name": "films",
            "queries": [
                {
                    "id": "q1",
                    "text": "In which city was the director of Metropolis born?",
                    "answers": ["Vienna"],
                    "grades": {"metropolis-film.md": 1, "fritz-lang.md": 1},
                }
            ],
        },
        {"name": "last month", "from_logs": {"hours": 720, "size": 200}},
    )

    name: str = Field(min_length=1, max_length=200, description="Its name")
    queries: list[GivenQuery] = Field(default_factory=list, max_length=100_000, description="Its questions")
    from_logs: FromLogs | None = Field(default=None, description="Make it from requests and feedback instead")

    @model_validator(mode="after")
    def _one_source(self) -> DatasetRequest:
        if bool(self.queries) == (self.from_logs is not None):
            raise ValueError("give either queries or from_logs")
        if len({query.id for query in self.queries}) < len(self.queries):
            raise ValueError("two questions have the same id")
        return self


class DatasetData(BaseModel):
    """A set that was kept."""

    dataset_id: str = Field(description="Its id")
    questions: int = Field(description="How many questions it has")
    provenance: dict[str, Any] = Field(description="Where it comes from, and what was left out")


class DatasetSummaryData(DatasetData):
    """A set without its questions."""

    name: str = Field(description="Its name")
    created_ms: int = Field(description="When it was made (milliseconds since 1970)")


class PageData(BaseModel):
    """Where a page of a list stands."""

    total: int = Field(description="How many there are in all")
    next_after: str | None = Field(description="Send it as `after` for the next page; null at the end")


class DatasetsData(PageData):
    """Some of the sets, the newest first."""

    datasets: list[DatasetSummaryData] = Field(description="Of this page")


@enveloped(router.post, "/datasets", "Keep a question set", status=201)
def add_dataset(request: Request, body: DatasetRequest, caller: Evaluating) -> DatasetData:
    """Keep an uploaded set, or build a golden set from requests and feedback on record."""
    service = service_of(request)
    if body.from_logs is not None:
        queries, provenance = golden_set(service, caller.tenant, hours=body.from_logs.hours, size=body.from_logs.size)
    else:
        queries = [StoredQuery(q.id, q.text, tuple(q.answers), q.type, q.grades) for q in body.queries]
        provenance = {"made": "uploaded"}
    if not queries:
        raise ApiError(Code.INVALID, "no question on record has feedback that says what is right", details=provenance)
    dataset_id = service.evaluations.add_dataset(caller.tenant, body.name, queries, provenance)
    return DatasetData(dataset_id=dataset_id, questions=len(queries), provenance=provenance)


@enveloped(router.get, "/datasets", "List question sets")
def list_datasets(request: Request, caller: Evaluating, *, after: After = "", limit: Limit = 100) -> DatasetsData:
    """List the tenant's question sets, the newest first."""
    some, total, next_after = service_of(request).evaluations.datasets(caller.tenant, after=after, limit=limit)
    datasets = [DatasetSummaryData(**one._mapping) for one in some]
    return DatasetsData(datasets=datasets, total=total, next_after=next_after)


class JobRequest(Body):
    """An evaluation of one strategy, or of two against each other."""

    model_config = examples(
        {
            "dataset_id": "0123456789abcdef0123456789abcdef",
            "strategies": [{"name": "A"}, {"name": "B", "rerank": False}],
            "explain_failures": True,
        }
    )

    dataset_id: str = Field(min_length=1, max_length=64, description="The set")
    strategies: Annotated[list[Strategy], Field(min_length=1, max_length=2)] = Field(
        default_factory=lambda: [Strategy(name="A")], description="One strategy, or two (A/B)"
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
    comparison: dict[str, Any] | None = Field(
        description="The second strategy over the first, with paired tests; null where a metric rests on one question"
    )
    failures: dict[str, Any] | None = Field(description="Failures by strategy and culprit")
    error: str = Field(description="What of it failed, and why")
    created_ms: int = Field(description="When it was asked for (milliseconds since 1970)")
    started_ms: int | None = Field(description="When it began")
    finished_ms: int | None = Field(description="When it was over")


class JobsData(PageData):
    """Some of the jobs, the newest first."""

    jobs: list[JobData] = Field(description="Of this page")


class ReportData(BaseModel):
    """A failure report."""

    format: str = Field(description="html, markdown or fragment")
    report: str = Field(description="The document")


@enveloped(router.post, "/jobs", "Start an evaluation", status=202, responses=documented(Code.TOO_MANY))
def add_job(request: Request, body: JobRequest, caller: Evaluating) -> JobData:
    """Queue an evaluation; a process of low priority works on it, also after a restart."""
    service = service_of(request)
    for strategy in body.strategies:
        strategy.resources(service.resources)
    dataset = service.evaluations.dataset(body.dataset_id, tenant=caller.tenant)
    row, _, questions = must_exist(dataset, "the tenant has no dataset of this id")
    steps = min(questions, body.limit or questions) * len(body.strategies)
    wanted = body.model_dump(mode="json", exclude={"dataset_id"})
    job_id = service.evaluations.add_job(caller.tenant, row, wanted, steps)
    if job_id is None:
        raise ApiError(Code.TOO_MANY, details={"unfinished_jobs": MOST_OPEN})
    service.jobs.start()
    return _stored(service, job_id, caller.tenant)


@enveloped(router.get, "/jobs", "List evaluations")
def list_jobs(request: Request, caller: Evaluating, *, after: After = "", limit: Limit = 100) -> JobsData:
    """List the tenant's evaluations, the newest first."""
    service = service_of(request)
    some, total, next_after = service.evaluations.jobs(caller.tenant, after=after, limit=limit)
    return JobsData(jobs=[_data(service, job) for job in some], total=total, next_after=next_after)


@enveloped(router.get, "/jobs/{job_id}", "How far is an evaluation?")
def get_job(request: Request, job_id: Id, caller: Evaluating) -> JobData:
    """Return progress and, when it is done, metrics, comparison and failures."""
    return _stored(service_of(request), job_id, caller.tenant)


@enveloped(router.delete, "/jobs/{job_id}", "Cancel an evaluation")
def cancel_job(request: Request, job_id: Id, caller: Evaluating) -> JobData:
    """Stop a job after the question in hand; one that is over stays as it is."""
    service = service_of(request)
    service.evaluations.cancel(job_id, tenant=caller.tenant)
    return _stored(service, job_id, caller.tenant)


@enveloped(router.get, "/jobs/{job_id}/report", "Failure report")
def get_report(
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
) -> ReportData:
    """Return the failures of a finished job in clusters, with counts, examples and what to try."""
    job = service_of(request).evaluations.job(job_id, tenant=caller.tenant)
    failures = ((job.report if job is not None else None) or {}).get("failures") or {}
    found = failures.get(strategy) if strategy is not None else next(iter(failures.values()), None)
    found = must_exist(found, "no finished job of this id and strategy has its failures explained (explain_failures)")
    if format == "html":
        return ReportData(format=format, report=as_html(found, language))
    text = as_markdown(found, language)
    return ReportData(format=format, report=markdown_html(text) if format == "fragment" else text)


def _stored(service: Service, job_id: str, tenant: str) -> JobData:
    job = service.evaluations.job(job_id, tenant=tenant)
    return _data(service, must_exist(job, "the tenant has no job of this id"))


def _data(service: Service, job: Job) -> JobData:
    names = [strategy["name"] for strategy in job.request["strategies"]]
    more = {"error": redacted(job.error), "strategies": names, "results": service.evaluations.results(job.id)}
    report = dict.fromkeys(("comparison", "failures")) | (job.report or {})
    return JobData.model_validate({**job._mapping, **more, **report})
