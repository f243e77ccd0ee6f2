"""From a run to plain facts: the rows of the four tables, and the digest that a replay must reproduce.

Everything is taken generically from the state's values, so that a field added there is logged, digested and explained.
Also what the online metrics are computed from: of a run as it ends, and of a request on record.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic_core import to_jsonable_python

from theworld import __version__
from theworld.evaluation.online import Outcome
from theworld.service.requests.running import CancelledRunError, Run, Until
from theworld.settings import Settings
from theworld.stores.ledger.request_log import RequestRecord

TIMES = frozenset({"asked_at", "elapsed_ms", "request_started", "retrieval_started"})
"""Names of what differs from run to run by nature, at any depth."""
ELSEWHERE = frozenset(
    {"question", "query", "language", "route", "channel_results", "candidates", "evidence", "history", "answer"}
    | {"kind", "confidence", "citations"}
)
"""Keys of the state that other columns or tables hold, or that repeat `result`."""


def plain(value: Any) -> Any:
    """Return a value of the state as JSON types; dataclasses and models by field."""
    return to_jsonable_python(value, inf_nan_mode="constants")


def outcome_facts(run: Run) -> dict[str, Any]:
    """Return what a run left in the state, but for what other tables hold, in the order of the keys."""
    facts = {key: plain(value) for key, value in sorted(run.state.items()) if key not in ELSEWHERE}
    channels = run.state.get("channel_results") or {}
    facts["channels"] = {
        name: {key: value for key, value in plain(result).items() if key != "hits"}
        for name, result in sorted(channels.items())
    }
    facts["evidence"] = [candidate.note_id for candidate in run.state.get("evidence") or []]
    facts["clarification"] = plain(run.clarification) if run.clarification is not None else None
    facts["error"] = type(run.error).__name__ if run.error is not None else None
    return facts


def replayable(run: Run, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return, stage by stage, all that the same request gives again on an unchanged store: no times.

    `facts` is the run's `outcome_facts`.
    """
    state, results = run.state, run.state.get("channel_results") or {}
    parts = {
        "reference": {"query": state.get("query"), "language": state.get("language"), "is": facts.get("reference")},
        "route": plain(state.get("route")),
        "channels": {name: plain(result.hits) for name, result in sorted(results.items())},
        "fusion": [[note, rank, score] for rank, (note, score) in enumerate(state.get("fused") or [], start=1)],
        "ranking": [plain(candidate) for candidate in state.get("candidates") or []],
        "rerank_outcome": facts.get("rerank_outcome"),
        "paths": facts.get("paths"),
        "entities": {"candidates": facts.get("entity_candidates"), "judgements": facts.get("judgements")},
        "answer": facts.get("result"),
        "clarification": facts["clarification"],
        "degradations": facts.get("degradations"),
        "stages": [step["stage"] for step in facts.get("stages") or []],
    }
    return {name: without_times(part) for name, part in parts.items()}


def without_times(value: Any) -> Any:
    """Return a plain value without its times."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def digest_of(parts: Mapping[str, Any]) -> dict[str, str]:
    """Return a hash by stage, and of all of them as `all`; a plain value is written as JSON in one way only."""
    found = {name: _hash(orjson.dumps(part, option=orjson.OPT_SORT_KEYS)) for name, part in parts.items()}
    return {**found, "all": _hash(orjson.dumps(found, option=orjson.OPT_SORT_KEYS))}


def settings_hash(settings: Settings) -> str:
    """Return the hash of every setting that an answer may depend on; no secret, no place, nothing of the service."""
    left_out: dict[str, Any] = dict.fromkeys(("store", "service", "sparse", "graph"), True)
    left_out |= {"database": {"url"}, "model": {"api_key"}, "embedding": {"api_key", "threads"}, "rerank": {"api_key"}}
    return _hash(settings.model_dump_json(exclude=left_out).encode())


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def kind_of(run: Run) -> str:
    """Return the kind of a run's answer, `clarify` where it asked back; empty where none was asked for."""
    result = run.state.get("result")
    return "clarify" if run.clarification is not None else result.kind if result is not None else ""


def outcome_of_run(run: Run, endpoint: str, elapsed_ms: float) -> Outcome:
    """Return how a run ended."""
    return Outcome(
        asked=endpoint == "ask",
        kind=kind_of(run),
        found=bool(run.state.get("candidates")),
        failed=run.error is not None and not isinstance(run.error, CancelledRunError),
        elapsed_ms=elapsed_ms,
        stages=tuple(step.trace.stage for step in run.steps),
        degraded=tuple(item.stage for item in run.state.get("degradations") or []),
    )


def outcome_of_record(request: Mapping[str, Any]) -> Outcome:
    """Return how a request on record ended; `request` is a row of `RequestJournal.requests`."""
    kept, feedback = request["outcome"], request.get("feedback")
    return Outcome(
        asked=request["endpoint"] == "ask",
        kind=request["kind"],
        success=feedback["verdict"] == "good" if feedback else None,
        found=bool(kept.get("evidence")),
        failed=request["status"] == "error",
        elapsed_ms=request["elapsed_ms"],
        stages=tuple(stage["stage"] for stage in kept.get("stages") or []),
        degraded=tuple(item["stage"] for item in kept.get("degradations") or []),
    )


@dataclass(frozen=True, slots=True)
class FinishedRequest:
    """A request and how it ended: all that is put into the queue, so that rows are made off the hot path."""

    tenant: str
    request_id: str
    trace_id: str
    endpoint: str
    until: Until
    run: Run
    settings: Settings
    """Those it ran with, a strategy's changes included."""
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


def record_of(asked: FinishedRequest) -> RequestRecord:
    """Return the rows of one request."""
    run, state, retrieval = asked.run, asked.run.state, asked.settings.retrieval
    facts = outcome_facts(run)
    digests, result, top_k = digest_of(replayable(run, facts)), state.get("result"), run.context.top_k
    wrong = "error" if run.error is not None or asked.code else "ok"
    same = ("tenant", "request_id", "trace_id", "endpoint", "arm", "parent", "elapsed_ms", "code")
    found = sorted((state.get("channel_results") or {}).items())
    fusion = {  # all that its arithmetic depends on, but the weights, which the route's decision holds
        "settings": retrieval.fusion.model_dump(mode="json"),
        "depths": {"graph": retrieval.graph_depth} if len(found) > 1 else {},
        "kept": max(asked.settings.rerank.pool, top_k or retrieval.top_k),
        "top_k": top_k or retrieval.top_k,
    }
    request = {
        **{name: getattr(asked, name) for name in (*same, "store_sequence")},
        "settings_hash": settings_hash(asked.settings),
        "created_ms": int(asked.created * 1000),
        "status": "cancelled" if isinstance(run.error, CancelledRunError) else wrong,
        "question": state.get("question") or run.question.question,
        "query": state.get("query") or "",
        "language": state.get("language") or "en",
        "kind": kind_of(run),
        "confidence": float(result.confidence) if result is not None else 0.0,
        "version": __version__,
        "digest": digests["all"],
        "request": {
            "input": plain(run.question.model_dump(mode="json", exclude={"messages"})),
            "context": run.context.model_dump(mode="json"),
            **{name: getattr(asked, name) for name in ("until", "choice", "given", "strategy")},
        },
        "outcome": {**facts, "graph_ms": run.elapsed_ms, "fusion": fusion, "digests": digests},
    }
    route = None
    if state.get("route") is not None and any(step.trace.stage == "route_query" for step in run.steps):
        decision = plain(state["route"])
        named = ("strategy", "path", "intent", "rerank", "confidence")
        route = {"decision": decision, **{name: decision.get(name) for name in named}}
    candidates = [
        {"source": name, "note_id": note_id, "rank": rank, "score": score}
        for name, result in found
        for rank, (note_id, score) in enumerate(result.hits, start=1)
    ]
    return RequestRecord(request, route, candidates, _ranking(asked) if asked.until != "route" else [])


def _ranking(asked: FinishedRequest) -> list[dict[str, Any]]:
    """Return the rows of the final list."""
    state = asked.run.state
    same = ("note_id", "document_id", "title", "fused_rank", "fused_score", "final_score", "covered", "hop", "bridge")
    version = asked.model_version if state.get("rerank_outcome") in {"complete", "partial"} else ""
    return [
        {"position": position, **{name: getattr(c, name) for name in same}}
        | {"rank": c.rerank_rank, "score": c.rerank_score, "model_version": version}
        for position, c in enumerate(state.get("candidates") or [], start=1)
    ]
