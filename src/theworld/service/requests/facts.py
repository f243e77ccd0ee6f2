"""From a run to plain facts: what the log keeps of it, and the digest that a replay must reproduce.

Everything is taken generically from the state's values, so that a field added there is logged, digested and explained.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic_core import to_jsonable_python

from theworld.service.requests.running import Run
from theworld.settings import Settings

TIMES = frozenset({"elapsed_ms", "request_started", "retrieval_started"})
"""Names of what differs from run to run by nature, at any depth."""
ELSEWHERE = frozenset(
    {"question", "query", "language", "route", "channel_results", "candidates", "evidence", "history", "answer"}
    | {"kind", "confidence", "citations"}
)
"""Keys of the state that other columns or tables hold, or that repeat `result`."""


_NESTED = frozenset({dict, list})


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


def replayable(run: Run, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return, stage by stage, all that the same request gives again on an unchanged store: no times.

    `facts` is the run's `outcome_facts`, where they are there already.
    """
    state = run.state
    results = state.get("channel_results") or {}
    facts = outcome_facts(run) if facts is None else facts
    parts = {
        "reference": {"query": state.get("query"), "language": state.get("language"), "is": facts.get("reference")},
        "route": plain(state.get("route")),
        "channels": {name: plain(result.hits) for name, result in sorted(results.items())},
        "fusion": [[c.note_id, c.fused_rank, c.fused_score] for c in run.fused],
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
    kind = type(value)
    if kind is dict:
        return {
            key: without_times(item) if type(item) in _NESTED else item
            for key, item in value.items()
            if key not in TIMES
        }
    return [without_times(item) if type(item) in _NESTED else item for item in value] if kind is list else value


def canonical(value: Any) -> bytes:
    """Return the one way to write a plain value as JSON."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest_of(parts: Mapping[str, Any]) -> dict[str, str]:
    """Return a hash by stage, and of all of them as `all`."""
    found = {name: _hash(canonical(part)) for name, part in parts.items()}
    return {**found, "all": _hash(canonical(found))}


def settings_hash(settings: Settings) -> str:
    """Return the hash of every setting that an answer may depend on; no secret, no place, nothing of the service."""
    shown = settings.model_dump_json(
        exclude={
            "store": True,
            "service": True,
            "sparse": True,
            "graph": True,
            "database": {"url"},
            "model": {"api_key"},
            "embedding": {"api_key", "threads", "batch_size"},
            "rerank": {"api_key"},
        }
    )
    return _hash(shown.encode())


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
