"""Prometheus metrics of the service; their names and labels are a contract, described in docs/service.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from theworld.evaluation.online import Outcome, is_tool

if TYPE_CHECKING:
    from theworld.service.requests.running import Run
    from theworld.service.requests.writer import WriterCounts

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 1.2, 2.5, 5.0, 10.0, 30.0)


class ServiceMetrics:
    """Counters of one process; with several workers they are added up over the files of `PROMETHEUS_MULTIPROC_DIR`."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "theworld_requests", "Requests by endpoint and HTTP status", ["endpoint", "code"], registry=registry
        )
        self.seconds = Histogram(
            "theworld_request_seconds",
            "What callers waited, by endpoint",
            ["endpoint"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.stages = Histogram(
            "theworld_stage_seconds", "Time in each node", ["stage"], buckets=_SECONDS, registry=registry
        )
        self.degradations = Counter("theworld_degradations", "Fallbacks taken, by stage", ["stage"], registry=registry)
        self.tools = Counter(
            "theworld_tool_runs", "Runs of tools, by stage and outcome", ["stage", "outcome"], registry=registry
        )
        self.answers = Counter(
            "theworld_answers",
            "Questions by the kind of their answer (clarify: asked back; cancelled: the client went)",
            ["kind"],
            registry=registry,
        )
        self.stumbled = Counter(
            "theworld_stumbled_requests", "Requests in which a stage failed, by how they ended", ["ended"],
            registry=registry,
        )  # fmt: skip
        self.feedback = Counter("theworld_feedback", "Feedback by verdict", ["verdict"], registry=registry)
        self.model_tokens = Counter(
            "theworld_model_tokens", "Tokens of the language model", ["direction"], registry=registry
        )
        self.shadow = Counter("theworld_shadow_runs", "Runs of strategy B by outcome", ["outcome"], registry=registry)
        self.present = Gauge(
            "theworld_requests_present", "Requests worked on or waiting", registry=registry, multiprocess_mode="livesum"
        )
        self.log_waiting = Gauge(
            "theworld_log_waiting", "Records waiting to be written", registry=registry, multiprocess_mode="livesum"
        )
        self.log_written = Gauge(
            "theworld_log_written", "Records written since the start", registry=registry, multiprocess_mode="livesum"
        )
        self.log_dropped = Gauge(
            "theworld_log_dropped", "Records dropped since the start", registry=registry, multiprocess_mode="livesum"
        )

    def count(self, endpoint: str, status: int, elapsed_ms: float) -> None:
        """Count one reply."""
        self.requests.labels(endpoint, str(status)).inc()
        self.seconds.labels(endpoint).observe(elapsed_ms / 1000)

    def count_run(self, run: Run, outcome: Outcome) -> None:
        """Count what one pass over the graph did; `outcome` is the same the log's metrics are computed from."""
        broken = set(outcome.degraded)
        for step in run.steps:
            stage = step.trace.stage
            self.stages.labels(stage).observe(step.trace.elapsed_ms / 1000)
            if is_tool(stage):
                self.tools.labels(stage, "degraded" if stage in broken else "ok").inc()
        for stage in outcome.degraded:
            self.degradations.labels(stage).inc()
        if outcome.asked:
            self.answers.labels(outcome.kind or ("error" if outcome.failed else "cancelled")).inc()
        if outcome.stumbled:
            self.stumbled.labels("recovered" if outcome.recovered else "failed").inc()
        usage = run.state.get("usage")
        if usage is not None and usage.calls:
            self.model_tokens.labels("sent").inc(usage.prompt_tokens)
            self.model_tokens.labels("received").inc(usage.completion_tokens)

    def follow_log(self, waiting: int, counts: WriterCounts) -> None:
        """Note where the request log stands: whenever it changes, since any worker may be the one that is asked."""
        self.log_waiting.set(waiting)
        self.log_written.set(counts.written)
        self.log_dropped.set(counts.dropped)

    def exposition(self) -> bytes:
        """Return the metrics of all workers as text."""
        if os.environ.get(MULTIPROCESS):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(_WithoutCreated(self.registry))


class _WithoutCreated(CollectorRegistry):
    """A registry without the times at which its series began: several workers have none, and nothing asks for them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics without their samples `*_created`."""
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
