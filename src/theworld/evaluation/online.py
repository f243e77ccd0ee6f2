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
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, Field

from theworld.evaluation.metrics import percentiles

_TOOLS = frozenset({"rerank_candidates", "find_entity_candidates", "judge_entities", "generate_answer"})
_CHANNEL = "retrieve_"
T = TypeVar("T")


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
    elapsed_ms: float = 0.0
    stages: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def stumbled(self) -> bool:
        """Whether some stage failed."""
        return self.failed or bool(self.degraded)

    @property
    def recovered(self) -> bool:
        """Whether it stumbled and still ended well."""
        well = self.kind not in {"", "none"} if self.asked else self.found
        return self.stumbled and not self.failed and well


class OnlineMetrics(BaseModel):
    """The metrics over some requests; a share is None where nothing counts for it."""

    requests: int = Field(description="Requests counted")
    judged: int = Field(description="Answers somebody judged")
    answer_success: float | None = Field(description="Share of judged answers that were right")
    tool_success: float | None = Field(description="Share of tool runs without a fallback")
    clarify_rate: float | None = Field(description="Share of questions that were answered by asking back")
    recovery_rate: float | None = Field(description="Share of requests with a failed stage that still ended well")
    latency_ms: dict[str, float] = Field(description="Percentiles 50, 95 and 99")


def online_metrics(outcomes: Iterable[Outcome]) -> OnlineMetrics:
    """Compute all metrics; the order of the outcomes does not matter."""
    found = list(outcomes)
    asked = [outcome for outcome in found if outcome.asked]
    judged = [outcome for outcome in asked if outcome.success is not None]
    tools = [stage not in outcome.degraded for outcome in found for stage in filter(is_tool, outcome.stages)]
    return OnlineMetrics(
        requests=len(found),
        judged=len(judged),
        answer_success=_share(judged, lambda outcome: bool(outcome.success)),
        tool_success=_share(tools, bool),
        clarify_rate=_share(asked, lambda outcome: outcome.kind == "clarify"),
        recovery_rate=_share([o for o in found if o.stumbled], lambda outcome: outcome.recovered),
        latency_ms=percentiles([outcome.elapsed_ms for outcome in found], 50, 95, 99) if found else {},
    )


def _share(items: Sequence[T], holds: Callable[[T], bool]) -> float | None:
    return round(sum(map(holds, items)) / len(items), 6) if items else None
