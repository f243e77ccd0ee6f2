"""From a finished run to the rows of the four tables."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from theworld import __version__
from theworld.service.requests.facts import digest_of, outcome_facts, plain, replayable
from theworld.service.requests.running import CancelledRunError, Run, Until
from theworld.settings import Settings
from theworld.stores.ledger.request_log import RequestRecord


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and how it ended: all that is put into the queue, so that rows are made off the hot path."""

    tenant: str
    request_id: str
    trace_id: str
    endpoint: str
    until: Until
    run: Run
    settings: Settings
    """Those it ran with, a strategy's changes included."""
    settings_hash: str
    store_sequence: int
    model_version: str
    """Name and version of the reranker."""
    elapsed_ms: float
    """As the caller saw it, waiting included."""
    code: int = 0
    arm: str = "main"
    parent: str | None = None
    choice: str | None = None
    """The caller's answer to what was asked back."""
    strategy: dict[str, Any] | None = None
    """The strategy of another arm, so that it can be replayed."""
    given: list[dict[str, str]] | None = None
    """Texts that were given to be reranked."""
    created: float = field(default_factory=time.time)


def record_of(asked: Asked) -> RequestRecord:
    """Return the rows of one request."""
    run, state = asked.run, asked.run.state
    route = state.get("route")
    routed = route is not None and any(step.trace.stage == "route_query" for step in run.steps)
    return RequestRecord(
        request=_request(asked),
        route=_route(route) if routed else None,
        candidates=_channels(run),
        ranking=_ranking(asked) if asked.until != "route" else [],
    )


def _request(asked: Asked) -> dict[str, Any]:
    run, state = asked.run, asked.run.state
    facts = outcome_facts(run)
    digests = digest_of(replayable(run, facts))
    result = state.get("result")
    return {
        "tenant": asked.tenant,
        "request_id": asked.request_id,
        "trace_id": asked.trace_id,
        "endpoint": asked.endpoint,
        "arm": asked.arm,
        "parent": asked.parent,
        "created_ms": int(asked.created * 1000),
        "elapsed_ms": asked.elapsed_ms,
        "status": _status(run, asked.code),
        "code": asked.code,
        "question": state.get("question") or run.question.question,
        "query": state.get("query") or "",
        "language": state.get("language") or "en",
        "kind": "clarify" if run.clarification is not None else result.kind if result is not None else "",
        "confidence": float(result.confidence) if result is not None else 0.0,
        "store_sequence": asked.store_sequence,
        "settings_hash": asked.settings_hash,
        "version": __version__,
        "digest": digests["all"],
        "request": {
            "input": plain(run.question.model_dump(mode="json", exclude={"messages"})),
            "context": run.context.model_dump(mode="json"),
            "until": asked.until,
            "choice": asked.choice,
            "given": asked.given,
            "strategy": asked.strategy,
        },
        "outcome": {
            **facts,
            "graph_ms": run.elapsed_ms,
            "fusion": fusion_parameters(asked.settings, run),
            "digests": digests,
        },
    }


def _status(run: Run, code: int) -> str:
    if isinstance(run.error, CancelledRunError):
        return "cancelled"
    return "error" if run.error is not None or code else "ok"


def fusion_parameters(settings: Settings, run: Run) -> dict[str, Any]:
    """Return all that fusion's arithmetic depends on, but the weights, which the route's decision holds."""
    retrieval = settings.retrieval
    ranked = len(run.state.get("channel_results") or {})
    return {
        "settings": retrieval.fusion.model_dump(mode="json"),
        "depths": {"graph": retrieval.graph_depth} if ranked > 1 else {},
        "kept": max(settings.rerank.pool, run.context.top_k or retrieval.top_k),
        "top_k": run.context.top_k or retrieval.top_k,
    }


def _route(route: Any) -> dict[str, Any]:
    decision = plain(route)
    named = {name: decision.get(name) for name in ("strategy", "path", "intent", "rerank", "confidence")}
    return {**named, "decision": decision}


def _channels(run: Run) -> list[dict[str, Any]]:
    return [
        {"source": name, "note_id": note_id, "rank": rank, "score": score}
        for name, result in sorted((run.state.get("channel_results") or {}).items())
        for rank, (note_id, score) in enumerate(result.hits, start=1)
    ]


def _ranking(asked: Asked) -> list[dict[str, Any]]:
    state = asked.run.state
    reranked = state.get("rerank_outcome") in {"complete", "partial"}
    return [
        {
            "position": position,
            "note_id": c.note_id,
            "document_id": c.document_id,
            "title": c.title,
            "fused_rank": c.fused_rank,
            "fused_score": c.fused_score,
            "rank": c.rerank_rank,
            "score": c.rerank_score,
            "final_score": c.final_score,
            "covered": c.covered,
            "hop": c.hop,
            "bridge": c.bridge,
            "model_version": asked.model_version if reranked else "",
        }
        for position, c in enumerate(state.get("candidates") or [], start=1)
    ]
