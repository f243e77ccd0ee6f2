"""`/eval/datasets`: question sets, uploaded or made from requests on record."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from theworld.errors import InvalidQuestionError
from theworld.nodes.receive_question import clean_question
from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import WITH_BODY, ApiError, documented
from theworld.service.api.schemas import Body as Strict
from theworld.service.api.schemas import Question
from theworld.service.api.serving import in_thread, service_of
from theworld.service.golden import golden_set, provenance_of, stored_queries
from theworld.service.runtime import Service
from theworld.stores.ledger.evaluations import StoredQuery

router = APIRouter(
    prefix="/api/v1/eval",
    tags=["evaluation"],
    responses=documented(*WITH_BODY, Code.NOT_FOUND, Code.STORE_UNAVAILABLE),
)
Evaluating = Annotated[Caller, caller_with("evaluate")]
After = Annotated[str, Query(max_length=64, pattern=r"^[!-~]*$", description="Id to go on after")]
Limit = Annotated[int, Query(ge=1, le=500, description="Entries of a page")]
Text = Annotated[str, Field(min_length=1, max_length=2000)]


class GivenQuery(Strict):
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


class FromLogs(Strict):
    """A set made from the tenant's own requests and feedback."""

    hours: float = Field(default=24 * 30, gt=0, le=87_600, description="How far back")
    size: int | None = Field(default=None, ge=1, le=100_000, description="At most so many, strata taken in turn")


class DatasetRequest(Strict):
    """A question set (BEIR: queries and qrels), over documents that are in the tenant's knowledge; or one from logs."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
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
            ]
        }
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


class DatasetsData(BaseModel):
    """Some of the sets, the newest first."""

    datasets: list[DatasetSummaryData] = Field(description="Of this page")
    total: int = Field(description="How many there are in all")
    next_after: str | None = Field(description="Send it as `after` for the next page; null at the end")


@router.post("/datasets", response_model=Envelope[DatasetData], status_code=201, summary="Keep a question set")
async def add_dataset(request: Request, body: Annotated[DatasetRequest, Body()], caller: Evaluating) -> Response:
    """Keep an uploaded set, or build a golden set from requests and feedback on record."""
    service = service_of(request)
    data = await in_thread(lambda: _add_dataset(service, caller.tenant, body))
    return reply(request, data, status=201)


@router.get("/datasets", response_model=Envelope[DatasetsData], summary="List question sets")
async def list_datasets(request: Request, caller: Evaluating, *, after: After = "", limit: Limit = 100) -> Response:
    """List the tenant's question sets, the newest first."""
    evaluations = service_of(request).evaluations
    some, total, next_after = await in_thread(lambda: evaluations.datasets(caller.tenant, after=after, limit=limit))
    datasets = [DatasetSummaryData(**{**asdict(one), "provenance": dict(one.provenance)}) for one in some]
    return reply(request, DatasetsData(datasets=datasets, total=total, next_after=next_after))


def _add_dataset(service: Service, tenant: str, body: DatasetRequest) -> DatasetData:
    if body.from_logs is not None:
        since = int((service.clock() - body.from_logs.hours * 3600) * 1000)
        found = golden_set(service, tenant, since_ms=since, size=body.from_logs.size)
        queries, provenance = stored_queries(found), provenance_of(found, since)
    else:
        queries = [StoredQuery(q.id, q.text, tuple(q.answers), q.grades, q.type) for q in body.queries]
        provenance = {"made": "uploaded"}
    if not queries:
        raise ApiError(Code.INVALID, "no question on record has feedback that says what is right", details=provenance)
    dataset_id = service.evaluations.add_dataset(tenant, body.name, queries, provenance)
    return DatasetData(dataset_id=dataset_id, questions=len(queries), provenance=provenance)
