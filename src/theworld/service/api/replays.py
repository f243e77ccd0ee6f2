"""`/retrieval/replay/{request_id}`: a request on record again, as it was or with another strategy, beside what it gave.

It is no live traffic: nothing of it is put on record, counted in the online metrics or in the metrics of answers.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import WITH_BODY, as_api_error, documented, must_exist, redacted
from theworld.service.api.explanations import RequestId
from theworld.service.api.schemas import NO_REQUEST
from theworld.service.api.schemas import Body as Strict
from theworld.service.api.serving import ClientGoneError, RequestContext, in_thread
from theworld.service.explain.replay import Replay, replay
from theworld.service.requests.running import CancelledRunError
from theworld.service.requests.strategies import Strategy
from theworld.state import Candidate
from theworld.stores.ledger.request_log import RequestRecord
from theworld.text import Language

router = APIRouter(
    prefix="/api/v1",
    tags=["evaluation"],
    responses=documented(
        *WITH_BODY, Code.NOT_FOUND, Code.TOO_MANY, Code.STORE_BUSY, Code.STORE_UNAVAILABLE, Code.MODEL_UNAVAILABLE,
        Code.RETRIEVAL_UNAVAILABLE, Code.VECTOR_TIMEOUT,
    ),
)  # fmt: skip
Evaluating = Annotated[Caller, caller_with("evaluate")]


class ReplayRequest(Strict):
    """How to ask again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{}, {"strategy": {"name": "no-rerank", "rerank": False}}]}
    )

    strategy: Strategy | None = Field(default=None, description="What to do differently; default: ask as it was asked")


class PassageRanks(BaseModel):
    """Where a passage stood, and where it stands now."""

    note_id: str = Field(description="Id of the note; of a text that was given, its place among them")
    before: int | None = Field(description="Place in the final list on record, null where it was not in it")
    now: int | None = Field(description="Place now, null where it is not in it")


class ReplayEnd(BaseModel):
    """How a request ended."""

    kind: str = Field(description="Kind of the answer; empty where none was asked for")
    text: str = Field(description="The answer")
    confidence: float | None = Field(description="Its confidence, in [0, 1]")
    elapsed_ms: float = Field(description="Milliseconds in the graph")


class ReplayData(BaseModel):
    """A request on record beside the same one now."""

    request_id: str = Field(description="The request that was run again")
    question: str = Field(description="What was asked")
    strategy: Strategy | None = Field(description="How it was asked differently")
    exact: bool = Field(description="Whether everything but times is the same, byte for byte")
    stages: dict[str, bool] = Field(description="By stage, whether it is the same")
    differences: dict[str, list[str]] = Field(description="By stage that differs, how")
    causes: list[str] = Field(description="What has changed since")
    before: ReplayEnd = Field(description="How it ended, as it is on record")
    now: ReplayEnd = Field(description="How it ends now")
    passages: list[PassageRanks] = Field(description="The final lists, by the better place")


@router.post(
    "/retrieval/replay/{request_id}", response_model=Envelope[ReplayData], summary="Run a request on record again"
)
async def replay_request(
    request: Request,
    request_id: RequestId,
    caller: Evaluating,
    body: Annotated[ReplayRequest, Body()],
    language: Annotated[Language, Query(description="Language of differences and causes")] = "en",
) -> Response:
    """Run a request of the tenant again on the store as it is; with a strategy, asked differently (A/B of one request).

    It takes a place among the requests being answered, like any other, and stops when the caller goes.
    """
    asked = RequestContext(request, caller, "replay", "answer")
    service = asked.service

    def read() -> RequestRecord | None:
        if body.strategy is not None:
            body.strategy.resources(service.resources)
        if service.writer is not None:
            service.writer.settle(request_id, tenant=caller.tenant)
        return service.journal.read(request_id, tenant=caller.tenant)

    record = must_exist(await in_thread(read), NO_REQUEST)

    def work() -> Replay:
        gone, graph = asked.gone.is_set, service.graph
        return replay(record, service.resources, graph, strategy=body.strategy, cancelled=gone, language=language)

    async with asked.slot():
        found = await service.limiter.work(work, asked.gone.set)
    if isinstance(found.run.error, CancelledRunError):
        raise ClientGoneError from found.run.error
    if found.run.error is not None:
        raise as_api_error(found.run.error)
    return reply(request, _data(record, found, body.strategy))


def _data(record: RequestRecord, found: Replay, strategy: Strategy | None) -> ReplayData:
    outcome, state = record.request["outcome"], found.run.state
    result = outcome.get("result") or {}
    answer, asked_back = state.get("result"), (found.run.clarification or {}).get("question", "")
    before = ReplayEnd(
        kind=record.request["kind"],
        text=result.get("text") or (outcome.get("clarification") or {}).get("question", ""),
        confidence=result.get("confidence"),
        elapsed_ms=outcome["graph_ms"],
    )
    now = ReplayEnd(
        kind="clarify" if found.run.clarification is not None else answer.kind if answer is not None else "",
        text=str(asked_back) or (answer.text if answer is not None else ""),
        confidence=answer.confidence if answer is not None else None,
        elapsed_ms=found.run.elapsed_ms,
    )
    return ReplayData(
        request_id=found.request_id,
        question=record.request["question"],
        strategy=strategy,
        exact=found.exact,
        stages=dict(found.stages),
        differences={stage: [redacted(line) for line in lines] for stage, lines in found.differences.items()},
        causes=[redacted(cause) for cause in found.causes],
        before=before,
        now=now,
        passages=_ranks([row["note_id"] for row in record.ranking], state.get("candidates") or []),
    )


def _ranks(before: list[str], now: list[Candidate]) -> list[PassageRanks]:
    """Return the places of all that stand in either list."""
    was = {note_id: place for place, note_id in enumerate(before, 1)}
    is_ = {candidate.note_id: place for place, candidate in enumerate(now, 1)}
    last = len(was) + len(is_)
    ids = sorted({**was, **is_}, key=lambda one: (min(was.get(one, last), is_.get(one, last)), was.get(one, last)))
    return [PassageRanks(note_id=one, before=was.get(one), now=is_.get(one)) for one in ids]
