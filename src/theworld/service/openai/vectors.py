"""`/v1/embeddings`, `/v1/rerank` (the form of Cohere and Jina) and `/rerank` (that of Text Embeddings Inference)."""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from theworld.models.chat import estimated_tokens
from theworld.models.protocols import Embedder, FloatArray
from theworld.service.api.access import Caller, Naming
from theworld.service.api.ask import reranked
from theworld.service.api.replies import ApiError, Code, bare_reply
from theworld.service.api.schemas import RerankData, RerankRequest
from theworld.service.api.serving import ClientGoneError, RequestContext, service_of
from theworld.service.openai.conversation import MODEL, unknown_model
from theworld.service.openai.schemas import ERRORS, EmbeddingRequest, RankRequest, TeiRankRequest, described, failing
from theworld.service.runtime import Service

router = APIRouter(tags=["OpenAI-compatible"], default_response_class=Response)
_BATCH = 16
"""Texts embedded between two looks at whether somebody still waits."""
_TEI_ERRORS = failing(
    {"type": "object", "required": ["error", "error_type"]}, 401, 403, 413, 415, 422, 429, 500, 503, 504
)


def embedders(service: Service) -> dict[str, Embedder]:
    """Return the embedders by the names a client may use: by language, and by the space of their vectors."""
    known = service.resources.models.embedders
    return {f"{MODEL}-{language}": one for language, one in known.items()} | {e.name: e for e in known.values()}


@router.post(
    "/v1/embeddings",
    summary="Embed texts",
    responses={200: described("CreateEmbeddingResponse", "data", "model", "usage"), **ERRORS},
)
async def embeddings(request: Request, body: EmbeddingRequest, caller: Naming) -> Response:
    """Embed texts as this service embeds its notes, or as questions; `model` of the reply names the vectors' space."""
    service = service_of(request)
    known = embedders(service)
    embedder = known.get(body.model)
    if embedder is None:
        raise unknown_model(body.model, list(known))
    if body.dimensions not in {None, embedder.dimension}:
        what = f"dimensions: {embedder.name} has {embedder.dimension}"
        raise ApiError(Code.INVALID, what, details={"param": "dimensions", "code": "unsupported_value"})
    current = RequestContext(request, caller, "embeddings", "rerank")
    texts = [body.input] if isinstance(body.input, str) else body.input

    def embedded(batch: list[str]) -> list[FloatArray]:
        if body.input_type == "query":
            return [embedder.embed_query(text).vector for text in batch]
        return [one.vector for one in embedder.embed_passages(batch)]

    vectors: list[FloatArray] = []
    async with current.slot():
        for start in range(0, len(texts), _BATCH):
            vectors += await service.limiter.work(partial(embedded, texts[start : start + _BATCH]))
            if current.gone.is_set():
                raise ClientGoneError
    shown: list[Any] = [vector.tolist() for vector in vectors]
    if body.encoding_format == "base64":
        shown = [base64.b64encode(np.asarray(one, dtype="<f4").tobytes()).decode("ascii") for one in vectors]
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(shown)]
    usage = dict.fromkeys(("prompt_tokens", "total_tokens"), sum(map(estimated_tokens, texts)))
    return bare_reply({"object": "list", "data": data, "model": embedder.name, "usage": usage})


@router.post(
    "/v1/rerank",
    summary="Order texts by a query",
    responses={200: described("RerankResponse", "id", "model", "results"), **ERRORS},
)
async def rank(request: Request, body: RankRequest, caller: Naming) -> Response:
    """Rank texts as a set of evidence; relevance lies in [0, 1]."""
    name = service_of(request).resources.reranker.name
    if body.model not in {MODEL, name}:
        raise unknown_model(body.model, [MODEL, name])
    texts = [item if isinstance(item, str) else item.text for item in body.documents]
    data = await _ranked(request, caller, body.query, texts)
    results = []
    for one in data.results[: body.top_n]:
        document = {"document": {"text": texts[int(one.id)]}} if body.return_documents else {}
        results.append({"index": int(one.id), "relevance_score": one.relevance, **document})
    usage = {"total_tokens": sum(map(estimated_tokens, [body.query, *texts]))}
    return bare_reply({"id": data.request_id, "model": data.model_version, "results": results, "usage": usage})


@router.post(
    "/rerank",
    summary="Order texts by a query (Text Embeddings Inference)",
    responses={200: described("Rank", "index", "score", array=True), **_TEI_ERRORS},
)
async def tei_rank(request: Request, body: TeiRankRequest, caller: Naming) -> Response:
    """Rank texts as a set of evidence, best first."""
    data = await _ranked(request, caller, body.query, body.texts)
    results = []
    for one in data.results:
        text = {"text": body.texts[int(one.id)]} if body.return_text else {}
        results.append({"index": int(one.id), "score": one.score if body.raw_scores else one.relevance, **text})
    return bare_reply(results)


async def _ranked(request: Request, caller: Caller, query: str, texts: list[str]) -> RerankData:
    """Return texts ranked, their ids the places they were given at; ApiError when the reranker did not rank them."""
    current = RequestContext(request, caller, "rerank", "rerank")
    body = RerankRequest(query=query, top_k=len(texts))
    given = [{"id": str(place), "text": text} for place, text in enumerate(texts)]
    data = await reranked(current, body, given)
    if data.outcome not in {"complete", "partial"}:
        raise ApiError(Code.RETRIEVAL_UNAVAILABLE)
    return data
