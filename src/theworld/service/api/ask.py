"""`/retrieval/search`, `/bench`, `/route` and `/rerank`, and `/ask`: an answer as events, or as one reply."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.sse import format_sse_event

from theworld.answers import said_text
from theworld.service.api.access import Querying
from theworld.service.api.passages import answer_html
from theworld.service.api.replies import WITH_BODY, ApiError, Code, envelope, error_body, router_of, shown
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
from theworld.service.api.serving import EVENTS, RequestContext, enveloped, followed, streamed
from theworld.service.requests.running import GIVEN, Run, rerank_given
from theworld.state import Answer, Context, ModelUsage, ResolvedReference

_FAILING = (Code.TOO_MANY, Code.RETRIEVAL_UNAVAILABLE, Code.VECTOR_TIMEOUT, Code.STORE_UNAVAILABLE)
retrieval_router = router_of("retrieval", *WITH_BODY, *_FAILING, prefix="/api/v1/retrieval")
_ROUTED = ("query", "language", "route")


@enveloped(retrieval_router.post, "/search", "Find candidates")
async def search(request: Request, body: SearchRequest, caller: Querying) -> SearchData:
    """Route, search every chosen channel, fuse and rerank; no answer is made."""
    current = RequestContext(request, caller, "search", "evidence")
    return SearchData.model_construct(**_found(current, await current.answered(body)))


@enveloped(retrieval_router.post, "/bench", "Try a search")
async def bench(request: Request, body: SearchRequest, caller: Querying) -> SearchData:
    """Find candidates as `search` does, off the record: no metric, golden set, explanation or A/B run knows of it."""
    current = RequestContext(request, caller, "bench", "evidence", on_record=False)
    return SearchData.model_construct(**_found(current, await current.answered(body)))


@enveloped(retrieval_router.post, "/route", "Ask the router only")
async def route(request: Request, body: SearchRequest, caller: Querying) -> RouteData:
    """Decide path, channels, weights and reranking, with reasons; nothing is searched."""
    current = RequestContext(request, caller, "route", "route")
    return RouteData.model_construct(**_replied(current, await current.answered(body), *_ROUTED))


def _replied(current: RequestContext, run: Run, *same: str) -> dict[str, Any]:
    named = {"request_id": current.request_id, "elapsed_ms": current.elapsed_ms}
    return named | {"degradations": shown(run.state["degradations"])} | {name: run.state[name] for name in same}


def _found(current: RequestContext, run: Run) -> dict[str, Any]:
    found = _replied(current, run, *_ROUTED, "candidates", "rerank_outcome", "paths", "stages")
    return found | {"ontology": run.state.get("ontology"), "tables": run.state.get("tables") or []}


@enveloped(retrieval_router.post, "/rerank", "Order texts by a query")
async def rerank(request: Request, body: RerankRequest, caller: Querying) -> RerankData:
    """Rank given texts, or notes of the store, as a set of evidence."""
    if not body.documents and not body.note_ids:
        raise ApiError(Code.INVALID, "give documents or note_ids")
    if len({text.id for text in body.documents}) < len(body.documents):
        raise ApiError(Code.INVALID, "two documents have the same id")
    given = [text.model_dump() for text in body.documents] + [{"note_id": note} for note in body.note_ids]
    return await reranked(RequestContext(request, caller, "rerank", "rerank"), body, given)


async def reranked(current: RequestContext, body: RerankRequest, given: list[dict[str, str]]) -> RerankData:
    """Rank what was given in a place of its own, on record; `given` are texts with ids, or {note_id}."""
    resources, now = current.service.resources, datetime.now(UTC)
    context = Context(tenant=current.caller.tenant, top_k=body.top_k, deadline_ms=body.deadline_ms, now=now)
    async with current.slot():
        run = await current.carry_out(partial(rerank_given, resources, body.query, given, context), given=given)
    outcome = run.state["rerank_outcome"]
    model_version = resources.reranker.name if outcome in {"complete", "partial"} else ""
    results = [
        RerankedText(
            id=one.document_id if one.note_id.startswith(GIVEN) else one.note_id,
            rank=one.rerank_rank,
            score=one.rerank_score or 0.0,
            relevance=one.final_score,
            covered=one.covered,
        )
        for one in run.state["candidates"]
        if one.rerank_rank is not None
    ]
    return RerankData(**_replied(current, run), outcome=outcome, model_version=model_version, results=results)


router = router_of(
    "answers", *WITH_BODY, Code.TOO_MANY, Code.RETRIEVAL_UNAVAILABLE, Code.MODEL_UNAVAILABLE, Code.VECTOR_TIMEOUT
)
_DATA = {"type": "string", "contentMediaType": "application/json"}
_KIND = {"type": "string", "enum": ["stage", "token", "restart", "final", "error"]}
_EVENT = {"type": "object", "properties": {"event": _KIND, "data": _DATA}, "required": ["event", "data"]}
_STREAM = {
    "description": "With `stream: true`: events `stage` (a node's trace), `token` (text of a model as it comes), "
    "`restart` (the tokens so far were not the answer: forget them), then `final` with the envelope of the answer, or "
    "`error` with an envelope",
    "content": {EVENTS: {"itemSchema": _EVENT}},
}


@enveloped(router.post, "/ask", "Answer a question", responses={200: _STREAM})
async def ask(request: Request, body: AskRequest, caller: Querying) -> AskData | Response:
    """Answer a question with citations, evidence paths and the trace of every step."""
    current = RequestContext(request, caller, "ask", "answer")
    if body.stream:
        return await streamed(current, _events(current, body))
    return ask_data(current, await current.answered(body), html=body.html)


async def _events(current: RequestContext, body: AskRequest) -> AsyncGenerator[bytes]:
    async with aclosing(followed(current, body)) as happened:
        async for kind, value in happened:
            match kind:
                case "stage":
                    data = value.model_dump_json()
                case "final":
                    data = envelope(current.trace_id, ask_data(current, value, html=body.html)).decode()
                case "error":
                    data = error_body(value, current.trace_id, current.language)[1].decode()
                case _:
                    data = orjson.dumps({"text": value} if value else {}).decode()
            yield format_sse_event(event=kind, data_str=data)


def ask_data(current: RequestContext, run: Run, *, html: bool = False) -> AskData:
    """Return a run's answer as a reply's data, with HTML of it too where that is wanted."""
    state, asked_back, result = run.state, run.clarification, run.state.get("result")
    given = result or Answer()
    said = said_text(given, run.context.language or state["language"])
    made: dict[str, Any] = {"answer": given.text, "said": said, "kind": given.kind, "confidence": given.confidence}
    if asked_back is not None:
        made |= {"answer": str(asked_back["question"]), "kind": "clarify"}
    return AskData.model_construct(
        **_found(current, run),
        **made,
        citations=list(given.citations),
        question=state["question"],
        result=result,
        reference=state.get("reference") or ResolvedReference(),
        parts=state.get("parts") or [],
        judgements=state.get("judgements") or [],
        usage=state.get("usage") or ModelUsage(),
        clarification=dict(asked_back) if asked_back is not None else None,
        answer_html=answer_html(result) if html and result is not None and asked_back is None else None,
    )
