"""The online metrics, defined once: for live traffic (from the request log) and for evaluation jobs alike.

**Answer Success**: of the questions whose answer was judged, the share judged right. In live traffic a judgement is the
latest feedback on the answer; in an evaluation it is the comparison with the gold answers (an entity must equal one, a
sentence contain one; where a question has no gold answers, its retrieval: every gold document among the first 5).
What nobody judged does not count, and `judged` says how many were.

**Tool Success**: of all runs of a tool, the share that ended without a Degradation of that stage. A tool is a node that
calls an engine, a model or a service: every retrieval channel, the reranker, the entity search and judge, the language
model.

**Clarify Rate**: of the questions asked, the share answered by asking back which of several things was meant.

**Recovery Rate**: of the requests in which some stage failed (at least one Degradation, or an error), the share that
still ended in an answer or, where only a search was asked for, in at least one candidate. None where nothing failed.

**Latency**: the nearest-rank percentiles 50, 95 and 99 of what callers waited, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from theworld.evaluation.metrics import percentile

_TOOLS = frozenset({"rerank_candidates", "find_entity_candidates", "judge_entities", "generate_answer"})
_CHANNEL = "retrieve_"
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def is_tool(stage: str) -> bool:
    """Return whether a stage counts for Tool Success."""
    return stage in _TOOLS or stage.startswith(_CHANNEL)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one request ended: what the metrics are computed from."""

    asked: bool
    """True for a question that wants an answer, False for a search."""
    kind: str = ""
    """Kind of the answer; `clarify` when it asked back."""
    success: bool | None = None
    """What was judged; None when nobody did."""
    found: bool = False
    """Whether there was a candidate."""
    failed: bool = False
    """Whether it ended in an error."""
    elapsed_ms: float = 0.0
    stages: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    """Stages of its degradations."""

    @property
    def tool_runs(self) -> int:
        """Runs of tools."""
        return sum(is_tool(stage) for stage in self.stages)

    @property
    def tool_failures(self) -> int:
        """Runs of tools that were degraded."""
        broken = set(self.degraded)
        return sum(is_tool(stage) and stage in broken for stage in self.stages)

    @property
    def stumbled(self) -> bool:
        """Whether some stage failed."""
        return self.failed or bool(self.degraded)

    @property
    def recovered(self) -> bool:
        """Whether it stumbled and still ended well."""
        well = self.kind not in {"", "none"} if self.asked else self.found
        return self.stumbled and not self.failed and well


@dataclass(frozen=True, slots=True)
class OnlineMetrics:
    """The metrics over some requests; a share is None where nothing counts for it."""

    requests: int
    judged: int
    answer_success: float | None
    tool_success: float | None
    clarify_rate: float | None
    recovery_rate: float | None
    latency_ms: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        shares = ("answer_success", "tool_success", "clarify_rate", "recovery_rate")
        return {
            "requests": self.requests,
            "judged": self.judged,
            **{name: _rounded(getattr(self, name)) for name in shares},
            "latency_ms": self.latency_ms,
        }


def online_metrics(outcomes: Iterable[Outcome]) -> OnlineMetrics:
    """Compute all metrics; the order of the outcomes does not matter."""
    found = list(outcomes)
    asked = [outcome for outcome in found if outcome.asked]
    judged = [outcome for outcome in asked if outcome.success is not None]
    runs = sum(outcome.tool_runs for outcome in found)
    return OnlineMetrics(
        requests=len(found),
        judged=len(judged),
        answer_success=_share(judged, lambda outcome: bool(outcome.success)),
        tool_success=1 - sum(outcome.tool_failures for outcome in found) / runs if runs else None,
        clarify_rate=_share(asked, lambda outcome: outcome.kind == "clarify"),
        recovery_rate=_share([o for o in found if o.stumbled], lambda outcome: outcome.recovered),
        latency_ms=latency([outcome.elapsed_ms for outcome in found]),
    )


def latency(values: Sequence[float]) -> dict[str, float]:
    """Return the percentiles of times in milliseconds; nothing for no values."""
    return {name: round(percentile(values, share), 2) for name, share in PERCENTILES.items()} if values else {}


def _share(outcomes: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> float | None:
    return sum(map(holds, outcomes)) / len(outcomes) if outcomes else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
