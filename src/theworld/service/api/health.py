"""`/healthz`, `/readyz` (per engine) and `/metrics`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from theworld import __version__
from theworld.service.api.access import caller_with
from theworld.service.api.replies import GUARDED, JSON, Code, ErrorEnvelope, documented, envelope
from theworld.service.api.serving import enveloped, service_of

router = APIRouter(tags=["operation"])
_NOBODY = "\x1fnobody"
_UNREADY = {503: {"model": ErrorEnvelope, "description": "Some engine does not answer"}}


class Health(BaseModel):
    """The process lives."""

    status: Literal["ok"] = "ok"
    version: str = Field(description="Version of the program")


class Engine(BaseModel):
    """One engine."""

    name: str = Field(description="Which engine")
    ready: bool = Field(description="Whether it answered")
    elapsed_ms: float = Field(description="How long that took")
    note: str = Field(default="", description="What else is to be said of it")


class Readiness(BaseModel):
    """Whether questions can be answered."""

    ready: bool = Field(description="Whether every engine that is needed answered")
    engines: list[Engine] = Field(description="Engine by engine")


@enveloped(router.head, "/healthz", "Does the process live?", include_in_schema=False)
@enveloped(router.get, "/healthz", "Does the process live?")
async def healthz(_request: Request) -> Health:
    """Answer as long as the process can."""
    return Health(version=__version__)


@enveloped(router.head, "/readyz", "Can questions be answered?", include_in_schema=False)
@enveloped(router.get, "/readyz", "Can questions be answered?", responses=_UNREADY)
def readyz(request: Request) -> Readiness | Response:
    """Ask every engine something small."""
    service = service_of(request)
    resources, chosen, writer, store = service.resources, service.settings, service.writer, service.resources.store

    def dense() -> str:
        store.dense.spaces(_NOBODY)
        return ", ".join(embedder.name for embedder in resources.models.embedders.values())

    written = any(run.report.documents for run in service.documents.runs)
    load = "" if written else "the first documents take seconds longer: they load models"
    kept = "off"
    if writer is not None:
        kept = f"{writer.waiting()} waiting, {writer.written} written, {writer.dropped} dropped"
    # What one says is shown, but for what is no text.
    probes: dict[str, Callable[[], object]] = {
        "ledger": lambda: f"sequence {store.ledger.sequence()}",
        "sparse": lambda: store.sparse.search("ready", tenant=_NOBODY, filters={}, limit=1),
        "dense": dense,
        "graph": lambda: store.graph.entities(["ready"], tenant=_NOBODY),
        "reranker": lambda: resources.reranker.name if chosen.rerank.kind != "none" else "off",
        "entities": lambda: "Wikidata service" if chosen.wikidata.online else "snapshot",
        "model": lambda: chosen.model.name or "none configured: answers are entities and quotes",
        "documents": lambda: load,
        "request_log": lambda: kept,
    }
    engines = []
    for name, ask in probes.items():
        begun = time.perf_counter()
        try:
            said, ready = ask(), True
        except Exception:  # whatever it is, the engine is not ready; internals stay inside
            said, ready = "it does not answer", False
        elapsed_ms, note = (time.perf_counter() - begun) * 1000, said if isinstance(said, str) else ""
        engines.append(Engine(name=name, ready=ready, elapsed_ms=elapsed_ms, note=note))
    found = Readiness(ready=all(engine.ready for engine in engines), engines=engines)
    if found.ready:
        return found
    body = envelope(request.state.trace_id, found, code=Code.STORE_UNAVAILABLE, message="not ready")
    return Response(body, 503, media_type=JSON)


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}, **documented(*GUARDED)},
    response_class=Response,
    dependencies=[caller_with("query", any_tenant=True)],
)
async def metrics(request: Request) -> Response:
    """Return counters in the exposition format; no tenant and no text is in them."""
    return Response(service_of(request).metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
