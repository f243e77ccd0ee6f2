"""The stored request again: the same to the byte on an unchanged store, else what differs, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.graph import Resources, build_graph
from theworld.graph.build import CompiledGraph
from theworld.service.requests.explanation import Say, fused_again, logged_rankings, say_in
from theworld.service.requests.record import FinishedRequest, record_of, without_times
from theworld.service.requests.running import Run, rerank_given, run_graph
from theworld.service.requests.strategies import Strategy
from theworld.state import Context, QueryInput
from theworld.stores.ledger.request_log import RequestRecord
from theworld.text import Language

SHOWN = 20
"""Differences told of one stage."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What running a request again showed: the same but for times or not, by stage, how, and what has changed."""

    request_id: str
    exact: bool
    stages: Mapping[str, bool]
    differences: Mapping[str, list[str]]
    causes: list[str]
    run: Run
    record: RequestRecord
    """The rows of the run, as they would be on record."""

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {name: getattr(self, name) for name in ("request_id", "exact", "stages", "differences", "causes")}


def replay(
    record: RequestRecord,
    resources: Resources,
    graph: CompiledGraph | None = None,
    *,
    strategy: Strategy | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    language: Language = "en",
) -> Replay:
    """Run a request on record again, on the store as it is; `graph` is the one over `resources`, if it is there.

    With a `strategy` it is asked differently, and the differences tell what that changes; SettingsError when the
    strategy is wrong. Without one, a request of another arm is run with the strategy it had. `cancelled` is looked at
    between nodes; `language` is that of differences and causes.
    """
    request, stored = record.request, record.request["request"]
    asked = strategy or (Strategy.model_validate(stored["strategy"]) if stored.get("strategy") else None)
    if asked is not None:
        resources, graph = asked.resources(resources), None
    question, context = QueryInput.model_validate(stored["input"]), Context.model_validate(stored["context"])
    context = context.model_copy(update={"deadline_ms": max(context.deadline_ms or 0, BACKGROUND_DEADLINE_MS)})
    context = strategy.context(context) if strategy is not None else context
    if stored["until"] == "rerank":
        run = rerank_given(resources, question.question, stored["given"], context)
    else:
        run = run_graph(
            graph or build_graph(resources), question, context,
            until=stored["until"], choice=stored["choice"], cancelled=cancelled,
        )  # fmt: skip
    named = {name: request[name] for name in ("tenant", "request_id", "trace_id", "endpoint")}
    now = record_of(
        FinishedRequest(
            **named, until=stored["until"], run=run, settings=resources.settings, elapsed_ms=run.elapsed_ms,
            store_sequence=resources.store.ledger.sequence(), model_version=resources.reranker.name,
        )
    )  # fmt: skip
    before, digests = request["outcome"]["digests"], now.request["outcome"]["digests"]
    stages = {name: digest == before.get(name) for name, digest in digests.items() if name != "all"}
    old, new, say = _parts(record), _parts(now), partial(say_in, language)
    differences = {
        name: list(_differences(old[name], new[name], say))[:SHOWN] or [say("order_differs")]
        for name, same in stages.items()
        if not same
    }
    exact = digests["all"] == request["digest"]
    causes = [] if exact else list(_causes(request, now.request, strategy, say))
    return Replay(request["request_id"], exact, stages, differences, causes, run, now)


def _parts(record: RequestRecord) -> dict[str, Any]:
    """Return the stages as the tables have them, in the form in which they are compared."""
    request, outcome = record.request, record.request["outcome"]
    same = ("rerank_outcome", "paths", "clarification", "degradations")
    parts = {
        "reference": {"query": request["query"], "language": request["language"], "is": outcome.get("reference")},
        "route": record.route["decision"] if record.route is not None else None,
        "channels": {name: [list(hit) for hit in hits] for name, hits in logged_rankings(record).items()},
        "fusion": [[n.note_id, rank, n.score] for rank, n in enumerate(fused_again(record), 1)],
        "ranking": [[row[name] for name in _RANKED] for row in record.ranking],
        "entities": {"candidates": outcome.get("entity_candidates"), "judgements": outcome.get("judgements")},
        "answer": outcome.get("result"),
        "stages": [stage["stage"] for stage in outcome.get("stages") or []],
        **{name: outcome.get(name) for name in same},
    }
    return {name: without_times(part) for name, part in parts.items()}


_RANKED = ("note_id", "fused_rank", "rank", "score", "final_score")
"""What is compared of the final list; `rank` and `score` are the reranker's."""


def _differences(old: Any, new: Any, say: Say, where: str = "") -> Iterator[str]:
    """Yield where two plain values differ, in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(old.get(key), new.get(key), say, f"{where}.{key}" if where else str(key))
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield say("entries", where=where or say("list"), before=len(old), now=len(new))
        for place, (first, second) in enumerate(zip(old, new, strict=False)):
            yield from _differences(first, second, say, f"{where}[{place}]")
    elif old != new:
        yield say("differs", where=where or say("value"), before=repr(old), now=repr(new))


def _causes(old: Mapping[str, Any], new: Mapping[str, Any], strategy: Strategy | None, say: Say) -> Iterator[str]:
    """Yield what may have made two requests differ: the one on record and the one made of it now."""
    if strategy is not None:
        yield say("asked_with", name=strategy.name)
    if old["store_sequence"] != new["store_sequence"]:
        yield say("store_changed", before=old["store_sequence"], now=new["store_sequence"])
    if strategy is None and old["settings_hash"] != new["settings_hash"]:
        yield say("settings_changed")
    if old["version"] != new["version"]:
        yield say("program_changed", before=old["version"], now=new["version"])
    if old["outcome"].get("degradations"):
        yield say("had_fallbacks")
    if any((one["outcome"].get("usage") or {}).get("calls") for one in (old, new)):
        yield say("model_asked")
