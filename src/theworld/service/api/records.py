"""What is on record of a request: `/retrieval/explain/{request_id}`, and `/retrieval/replay/{request_id}`.

A replay is a request again, as it was or with another strategy, beside what it gave. It is no live traffic: nothing of
it is put on record, counted in the online metrics or in the metrics of answers.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from pydantic import BaseModel, Field

from theworld.service.api.access import Evaluating, Querying
from theworld.service.api.replies import GUARDED, WITH_BODY, Code, must_exist, redacted, router_of, without_internals
from theworld.service.api.schemas import NO_REQUEST, TEXT, Body, examples
from theworld.service.api.serving import ClientGoneError, RequestContext, enveloped, service_of
from theworld.service.requests.explanation import Explanation, as_mermaid, as_text, explain
from theworld.service.requests.replay import replay
from theworld.service.requests.running import CancelledRunError
from theworld.service.requests.strategies import Strategy
from theworld.service.runtime import Service
from theworld.stores.ledger.request_log import RequestRecord
from theworld.text import Language

router = router_of("on record", *GUARDED, Code.NOT_FOUND, Code.STORE_UNAVAILABLE)
replay_router = router_of(
    "evaluation", *WITH_BODY, Code.NOT_FOUND, Code.TOO_MANY, Code.STORE_BUSY, Code.STORE_UNAVAILABLE,
    Code.MODEL_UNAVAILABLE, Code.RETRIEVAL_UNAVAILABLE, Code.VECTOR_TIMEOUT,
)  # fmt: skip
RequestId = Annotated[
    str, Path(min_length=1, max_length=64, pattern=TEXT, description="Of search, route, rerank or ask")
]
_WITH_FREE_TEXT = ("route", "channels", "entities", "answer", "timings", "degradations", "other")


class ExplainData(BaseModel):
    """An explanation in the form that was asked for."""

    explanation: Explanation | None = Field(default=None, description="As values (format json)")
    text: str | None = Field(default=None, description="In words (format text)")
    mermaid: str | None = Field(default=None, description="As a drawing (format mermaid)")


@enveloped(router.get, "/retrieval/explain/{request_id}", "Explain a request")
def explain_request(
    request: Request,
    request_id: RequestId,
    caller: Querying,
    format: Annotated[Literal["json", "text", "mermaid"], Query(description="Form")] = "json",
    language: Annotated[Literal["en", "zh"], Query(description="Language of the text")] = "en",
) -> ExplainData:
    """Rebuild what a request did from its records alone; another tenant's request is as unknown as no request."""
    service, tenant = service_of(request), caller.tenant
    record, journal = _record(service, request_id, tenant), service.journal
    found = explain(record, journal.feedback(request_id, tenant=tenant), journal.arms(request_id, tenant=tenant))
    found = found.model_copy(update={name: without_internals(getattr(found, name)) for name in _WITH_FREE_TEXT})
    if format == "text":
        return ExplainData(text=as_text(found, language))
    return ExplainData(mermaid=as_mermaid(found)) if format == "mermaid" else ExplainData(explanation=found)


def _record(service: Service, request_id: str, tenant: str) -> RequestRecord:
    service.settle(request_id, tenant)
    return must_exist(service.journal.read(request_id, tenant=tenant), NO_REQUEST)


class ReplayRequest(Body):
    """How to ask again."""

    model_config = examples({}, {"strategy": {"name": "no-rerank", "rerank": False}})

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


@enveloped(replay_router.post, "/retrieval/replay/{request_id}", "Run a request on record again")
async def replay_request(
    request: Request,
    request_id: RequestId,
    caller: Evaluating,
    body: ReplayRequest,
    language: Annotated[Language, Query(description="Language of differences and causes")] = "en",
) -> ReplayData:
    """Run a request of the tenant again on the store as it is; with a strategy, asked differently (A/B of one request).

    It takes a place among the requests being answered, like any other, and stops when the caller goes.
    """
    asked, strategy = RequestContext(request, caller, "replay", "answer"), body.strategy
    service = asked.service

    if strategy is not None:  # one that is wrong is refused before a place is taken
        await asyncio.to_thread(strategy.resources, service.resources)
    record = await asyncio.to_thread(_record, service, request_id, caller.tenant)
    again = partial(replay, record, service.resources, service.graph, cancelled=asked.gone.is_set)
    async with asked.slot():
        found = await service.limiter.work(partial(again, strategy=strategy, language=language), asked.gone.set)
    if isinstance(found.run.error, CancelledRunError):
        raise ClientGoneError from found.run.error
    if found.run.error is not None:
        raise found.run.error
    was, is_ = ({row["note_id"]: row["position"] for row in one.ranking} for one in (record, found.record))
    last = len(was) + len(is_)
    ids = sorted({**was, **is_}, key=lambda one: (min(was.get(one, last), is_.get(one, last)), was.get(one, last)))
    told: dict[str, Any] = {
        "differences": {stage: [redacted(line) for line in lines] for stage, lines in found.differences.items()},
        "causes": [redacted(cause) for cause in found.causes],
        "passages": [PassageRanks(note_id=one, before=was.get(one), now=is_.get(one)) for one in ids],
    }
    told |= {"question": record.request["question"], "strategy": strategy}
    told |= {"before": _end(record), "now": _end(found.record)}
    return ReplayData(**found.as_json() | told)


def _end(record: RequestRecord) -> ReplayEnd:
    """Return how a request ended, as its rows have it."""
    outcome = record.request["outcome"]
    result, asked_back = outcome.get("result") or {}, outcome.get("clarification") or {}
    text = result.get("text") or asked_back.get("question", "")
    confidence, elapsed_ms = result.get("confidence"), outcome["graph_ms"]
    return ReplayEnd(kind=record.request["kind"], text=text, confidence=confidence, elapsed_ms=elapsed_ms)
