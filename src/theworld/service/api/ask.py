"""`/retrieval/search`, `/retrieval/route` and `/retrieval/rerank`.

`/ask`: an answer as server-sent events, or as one reply.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Request, Response
from fastapi.sse import format_sse_event

from theworld.answers import said_text
from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, envelope, reply
from theworld.service.api.errors import WITH_BODY, ApiError, documented, error_body, shown
from theworld.service.api.markup import answer_html
from theworld.service.api.schemas import (
    AskData,
    AskRequest,
    RerankData,
    RerankedText,
    RerankRequest,
    RouteData,
    SearchData,
    SearchRequest,
)
from theworld.service.api.serving import RequestContext, moment
from theworld.service.api.streaming import EVENTS, followed, streamed
from theworld.service.requests.running import Run, id_of, rerank_given
from theworld.state import Context, ModelUsage, ResolvedReference

retrieval_router = APIRouter(
    prefix="/api/v1/retrieval",
    tags=["retrieval"],
    responses=documented(
        *WITH_BODY, Code.TOO_MANY, Code.RETRIEVAL_UNAVAILABLE, Code.VECTOR_TIMEOUT, Code.STORE_UNAVAILABLE
    ),
)
Querying = Annotated[Caller, caller_with("query")]


@retrieval_router.post("/search", response_model=Envelope[SearchData], summary="Find candidates")
async def search(request: Request, body: Annotated[SearchRequest, Body()], caller: Querying) -> Response:
    """Route, search every chosen channel, fuse and rerank; no answer is made."""
    current = RequestContext(request, caller, "search", "evidence")
    async with current.slot():
        run = await current.run(body.question(), body.context(caller.tenant, moment()))
    return reply(request, search_data(current, run), request_id=current.request_id)


@retrieval_router.post("/bench", response_model=Envelope[SearchData], summary="Try a search")
async def bench(request: Request, body: Annotated[SearchRequest, Body()], caller: Querying) -> Response:
    """Find candidates as `search` does, off the record: no metric, golden set, explanation or A/B run knows of it."""
    current = RequestContext(request, caller, "bench", "evidence", on_record=False)
    async with current.slot():
        run = await current.run(body.question(), body.context(caller.tenant, moment()))
    return reply(request, search_data(current, run), request_id=current.request_id)


@retrieval_router.post("/route", response_model=Envelope[RouteData], summary="Ask the router only")
async def route(request: Request, body: Annotated[SearchRequest, Body()], caller: Querying) -> Response:
    """Decide path, channels, weights and reranking, with reasons; nothing is searched."""
    current = RequestContext(request, caller, "route", "route")
    async with current.slot():
        run = await current.run(body.question(), body.context(caller.tenant, moment()))
    state = run.state
    data = RouteData.model_construct(
        request_id=current.request_id,
        elapsed_ms=current.elapsed_ms,
        degradations=shown(state["degradations"]),
        query=state["query"],
        language=state["language"],
        route=state["route"],
    )
    return reply(request, data, request_id=current.request_id)


def search_data(current: RequestContext, run: Run) -> SearchData:
    """Return a run's candidates as a reply's data."""
    state = run.state
    return SearchData.model_construct(
        request_id=current.request_id,
        elapsed_ms=current.elapsed_ms,
        degradations=shown(state["degradations"]),
        query=state["query"],
        language=state["language"],
        route=state["route"],
        candidates=state["candidates"],
        rerank_outcome=state["rerank_outcome"],
        paths=state["paths"],
        ontology=state.get("ontology"),
        tables=state.get("tables") or [],
        stages=state["stages"],
    )


@retrieval_router.post("/rerank", response_model=Envelope[RerankData], summary="Order texts by a query")
async def rerank(request: Request, body: Annotated[RerankRequest, Body()], caller: Querying) -> Response:
    """Rank given texts, or notes of the store, as a set of evidence."""
    if not body.documents and not body.note_ids:
        raise ApiError(Code.INVALID, "give documents or note_ids")
    if len({text.id for text in body.documents}) < len(body.documents):
        raise ApiError(Code.INVALID, "two documents have the same id")
    current = RequestContext(request, caller, "rerank", "rerank")
    given = [text.model_dump() for text in body.documents] + [{"note_id": note} for note in body.note_ids]
    data = await reranked(current, body, given)
    return reply(request, data, request_id=current.request_id)


async def reranked(current: RequestContext, body: RerankRequest, given: list[dict[str, str]]) -> RerankData:
    """Rank what was given in a place of its own, on record; `given` are texts with ids, or {note_id}."""
    service = current.service
    context = Context(tenant=current.caller.tenant, top_k=body.top_k, deadline_ms=body.deadline_ms, now=moment())
    async with current.slot():
        sequence, run = await service.limiter.work(
            lambda: (
                service.resources.store.ledger.sequence(),
                rerank_given(service.resources, body.query, given, context),
            )
        )
        current.conclude(run, sequence, given=given)
    state = run.state
    done = state["rerank_outcome"] in {"complete", "partial"}
    ranked = [candidate for candidate in state["candidates"] if candidate.rerank_rank is not None]
    return RerankData(
        request_id=current.request_id,
        elapsed_ms=current.elapsed_ms,
        degradations=shown(state["degradations"]),
        outcome=state["rerank_outcome"],
        model_version=service.resources.reranker.name if done else "",
        results=[
            RerankedText(
                id=id_of(candidate, given),
                rank=candidate.rerank_rank or 1,
                score=candidate.rerank_score or 0.0,
                relevance=candidate.final_score,
                covered=candidate.covered,
            )
            for candidate in ranked
        ],
    )


router = APIRouter(prefix="/api/v1", tags=["answers"])
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["stage", "token", "restart", "final", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
_STREAM = {
    "description": "With `stream: true`: events `stage` (a node's trace), `token` (text of a model as it comes), "
    "`restart` (the tokens so far were not the answer: forget them), then `final` with the envelope of the answer, or "
    "`error` with an envelope",
    "content": {EVENTS: {"itemSchema": _EVENT}},
}
_ERRORS = documented(*WITH_BODY, Code.TOO_MANY, Code.RETRIEVAL_UNAVAILABLE, Code.MODEL_UNAVAILABLE, Code.VECTOR_TIMEOUT)


@router.post("/ask", response_model=Envelope[AskData], summary="Answer a question", responses={200: _STREAM, **_ERRORS})
async def ask(
    request: Request, body: Annotated[AskRequest, Body()], caller: Annotated[Caller, caller_with("query")]
) -> Response:
    """Answer a question with citations, evidence paths and the trace of every step."""
    current = RequestContext(request, caller, "ask", "answer")
    if not body.stream:
        async with current.slot():
            run = await current.run(body.asked(), body.context(caller.tenant, moment()), choice=body.choice)
        return reply(request, ask_data(current, run, html=body.html), request_id=current.request_id)
    return await streamed(current, _events(current, body))


async def _events(current: RequestContext, body: AskRequest) -> AsyncGenerator[bytes]:
    async with aclosing(followed(current, body)) as happened:
        async for kind, value in happened:
            yield format_sse_event(event=kind, data_str=_event(current, kind, value, html=body.html).decode())


def _event(current: RequestContext, kind: str, value: Any, *, html: bool) -> bytes:
    match kind:
        case "stage":
            data: bytes = value.model_dump_json().encode()
        case "final":
            data = envelope(current.trace_id, ask_data(current, value, html=html))
        case "error":
            data = error_body(value, current.trace_id, current.language)[1]
        case _:
            data = orjson.dumps({"text": value} if value else {})
    return data


def ask_data(current: RequestContext, run: Run, *, html: bool = False) -> AskData:
    """Return a run's answer as a reply's data, with HTML of it too where that is wanted."""
    state, asked_back = run.state, run.clarification
    result = state.get("result")
    found = search_data(current, run)
    return AskData.model_construct(
        **{name: getattr(found, name) for name in type(found).model_fields},
        question=state["question"],
        answer=str(asked_back["question"]) if asked_back is not None else result.text if result is not None else "",
        said=said_text(result, run.context.language or state["language"]) if result is not None else "",
        kind="clarify" if asked_back is not None else result.kind if result is not None else "none",
        confidence=result.confidence if result is not None else 0.0,
        citations=list(result.citations) if result is not None else [],
        result=result,
        reference=state.get("reference") or ResolvedReference(),
        parts=state.get("parts") or [],
        judgements=state.get("judgements") or [],
        usage=state.get("usage") or ModelUsage(),
        clarification=dict(asked_back) if asked_back is not None else None,
        answer_html=answer_html(result) if html and result is not None and asked_back is None else None,
    )
