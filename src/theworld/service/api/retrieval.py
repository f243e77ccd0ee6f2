"""`/retrieval/search`, `/retrieval/route` and `/retrieval/rerank`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import WITH_BODY, ApiError, documented, shown
from theworld.service.api.schemas import (
    RerankData,
    RerankedText,
    RerankRequest,
    RouteData,
    SearchData,
    SearchRequest,
)
from theworld.service.api.serving import Conduct, moment
from theworld.service.requests.reranking import id_of, rerank_given
from theworld.service.requests.running import Run
from theworld.state import Context

router = APIRouter(
    prefix="/api/v1/retrieval",
    tags=["retrieval"],
    responses=documented(
        *WITH_BODY, Code.TOO_MANY, Code.RETRIEVAL_UNAVAILABLE, Code.VECTOR_TIMEOUT, Code.STORE_UNAVAILABLE
    ),
)
Querying = Annotated[Caller, caller_with("query")]


@router.post("/search", response_model=Envelope[SearchData], summary="Find candidates")
async def search(request: Request, body: Annotated[SearchRequest, Body()], caller: Querying) -> Response:
    """Route, search every chosen channel, fuse and rerank; no answer is made."""
    conduct = Conduct(request, caller, "search", "evidence")
    async with conduct.place():
        run = await conduct.run(body.question(), body.context(caller.tenant, moment()))
    return reply(request, search_data(conduct, run), request_id=conduct.request_id)


@router.post("/route", response_model=Envelope[RouteData], summary="Ask the router only")
async def route(request: Request, body: Annotated[SearchRequest, Body()], caller: Querying) -> Response:
    """Decide path, channels, weights and reranking, with reasons; nothing is searched."""
    conduct = Conduct(request, caller, "route", "route")
    async with conduct.place():
        run = await conduct.run(body.question(), body.context(caller.tenant, moment()))
    state = run.state
    data = RouteData.model_construct(
        request_id=conduct.request_id,
        elapsed_ms=conduct.elapsed_ms,
        degradations=shown(state["degradations"]),
        query=state["query"],
        language=state["language"],
        route=state["route"],
    )
    return reply(request, data, request_id=conduct.request_id)


def search_data(conduct: Conduct, run: Run) -> SearchData:
    """Return a run's candidates as a reply's data."""
    state = run.state
    return SearchData.model_construct(
        request_id=conduct.request_id,
        elapsed_ms=conduct.elapsed_ms,
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


@router.post("/rerank", response_model=Envelope[RerankData], summary="Order texts by a query")
async def rerank(request: Request, body: Annotated[RerankRequest, Body()], caller: Querying) -> Response:
    """Rank given texts, or notes of the store, as a set of evidence."""
    if not body.documents and not body.note_ids:
        raise ApiError(Code.INVALID, "give documents or note_ids")
    if len({text.id for text in body.documents}) < len(body.documents):
        raise ApiError(Code.INVALID, "two documents have the same id")
    conduct = Conduct(request, caller, "rerank", "rerank")
    service = conduct.service
    given = [text.model_dump() for text in body.documents] + [{"note_id": note} for note in body.note_ids]
    context = Context(tenant=caller.tenant, top_k=body.top_k, deadline_ms=body.deadline_ms, now=moment())
    async with conduct.place():
        sequence, run = await service.places.work(
            lambda: (
                service.resources.store.ledger.sequence(),
                rerank_given(service.resources, body.query, given, context),
            )
        )
        conduct.conclude(run, sequence, given=given)
    state = run.state
    reranked = state["rerank_outcome"] in {"complete", "partial"}
    ranked = [candidate for candidate in state["candidates"] if candidate.rerank_rank is not None]
    data = RerankData(
        request_id=conduct.request_id,
        elapsed_ms=conduct.elapsed_ms,
        degradations=shown(state["degradations"]),
        outcome=state["rerank_outcome"],
        model_version=service.resources.reranker.name if reranked else "",
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
    return reply(request, data, request_id=conduct.request_id)
