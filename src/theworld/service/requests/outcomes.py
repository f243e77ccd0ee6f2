"""What the online metrics are computed from: of a run as it ends, and of a request on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theworld.evaluation.online import Outcome
from theworld.service.requests.running import CancelledRunError, Run


def outcome_of_run(run: Run, endpoint: str, elapsed_ms: float, *, success: bool | None = None) -> Outcome:
    """Return how a run ended."""
    result = run.state.get("result")
    return Outcome(
        asked=endpoint == "ask",
        kind="clarify" if run.clarification is not None else result.kind if result is not None else "",
        success=success,
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
