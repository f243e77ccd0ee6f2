"""Prometheus metrics of the service; their names and labels are a contract, described in docs/service.md.

OpenTelemetry spans: one a request, one a node below it, with the attributes of the GenAI conventions.

Nothing is sent unless the environment names an exporter (`OTEL_TRACES_EXPORTER=console`, or `otlp` with
`OTEL_EXPORTER_OTLP_ENDPOINT`); question and answer text only where `service.trace_text` allows it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import partial

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from theworld import __version__
from theworld.errors import SettingsError
from theworld.evaluation.online import Outcome, is_tool
from theworld.service.requests.running import Run
from theworld.state import ModelUsage

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 1.2, 2.5, 5.0, 10.0, 30.0)


class ServiceMetrics:
    """Counters of one process; with several workers they are added up over the files of `PROMETHEUS_MULTIPROC_DIR`."""

    def __init__(self) -> None:
        # Several workers have no times at which series began, and nothing asks for them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        seconds = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        self.requests = counter("theworld_requests", "Requests by endpoint and HTTP status", ["endpoint", "code"])
        self.seconds = seconds("theworld_request_seconds", "What callers waited, by endpoint", ["endpoint"])
        self.stages = seconds("theworld_stage_seconds", "Time in each node", ["stage"])
        self.degradations = counter("theworld_degradations", "Fallbacks taken, by stage", ["stage"])
        self.tools = counter("theworld_tool_runs", "Runs of tools, by stage and outcome", ["stage", "outcome"])
        kinds = "Questions by the kind of their answer (clarify: asked back; cancelled: the client went)"
        self.answers = counter("theworld_answers", kinds, ["kind"])
        stumbled = "Requests in which a stage failed, by how they ended"
        self.stumbled = counter("theworld_stumbled_requests", stumbled, ["ended"])
        self.feedback = counter("theworld_feedback", "Feedback by verdict", ["verdict"])
        self.model_tokens = counter("theworld_model_tokens", "Tokens of the language model", ["direction"])
        self.shadow = counter("theworld_shadow_runs", "Runs of strategy B by outcome", ["outcome"])
        summed = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        self.present = summed("theworld_requests_present", "Requests worked on or waiting")
        self.log_waiting = summed("theworld_log_waiting", "Records waiting to be written")
        self.log_written = summed("theworld_log_written", "Records written since the start")
        self.log_dropped = summed("theworld_log_dropped", "Records dropped since the start")

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

    def follow_log(self, waiting: int, written: int, dropped: int) -> None:
        """Note where the request log stands: whenever it changes, since any worker may be the one that is asked."""
        self.log_waiting.set(waiting)
        self.log_written.set(written)
        self.log_dropped.set(dropped)

    def exposition(self) -> bytes:
        """Return the metrics of all workers as text."""
        if os.environ.get(MULTIPROCESS):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self.registry)


EXPORTER = "OTEL_TRACES_EXPORTER"
_OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_NANO = 1_000_000_000


def exporter_of(environment: Mapping[str, str]) -> SpanExporter | None:
    """Return the exporter the environment names, None when it names none.

    Raises SettingsError for an unknown one, or one that is not installed.
    """
    named = environment.get(EXPORTER, "").strip().lower()
    if named in {"", "none"}:
        return None
    if named == "console":
        return ConsoleSpanExporter()
    if named != "otlp":
        raise SettingsError(f"{named!r} is no exporter", where=EXPORTER, remedy="Take otlp, console or none.")
    try:
        module = importlib.import_module(_OTLP)
    except ImportError as error:
        remedy = 'pip install "opentelemetry-exporter-otlp-proto-http"'
        raise SettingsError("the OTLP exporter is not installed", where=EXPORTER, remedy=remedy) from error
    exporter: SpanExporter = module.OTLPSpanExporter()
    return exporter


class RequestSpans:
    """Makes the spans of finished runs."""

    def __init__(self, exporter: SpanExporter | None, *, text: bool, model: str | None = None) -> None:
        self._text, self._model = text, model
        self._provider: TracerProvider | None = None
        if exporter is not None:
            self._provider = TracerProvider(resource=Resource.create({"service.name": "theworld"}))
            self._provider.add_span_processor(BatchSpanProcessor(exporter))

    def emit(self, run: Run, *, endpoint: str, request_id: str, trace_id: str, tenant: str) -> None:
        """Make the spans of one run, with the times at which its nodes ran."""
        if self._provider is None:
            return
        tracer = self._provider.get_tracer("theworld", __version__)
        named = {"endpoint": endpoint, "request_id": request_id, "trace_id": trace_id, "tenant": tenant}
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "theworld"}
        attributes |= {f"theworld.{name}": value for name, value in named.items()}
        name, start = f"invoke_agent theworld.{endpoint}", int(run.started * _NANO)
        root = tracer.start_span(name, kind=SpanKind.SERVER, start_time=start, attributes=attributes)
        result = run.state.get("result")
        if result is not None:
            root.set_attribute("theworld.answer.kind", result.kind)
        if self._text:
            root.set_attribute("gen_ai.input.messages", run.state.get("question") or run.question.question)
            root.set_attribute("gen_ai.output.messages", result.text if result is not None else "")
        if run.error is not None:
            root.set_attribute("error.type", type(run.error).__name__)
            root.set_status(Status(StatusCode.ERROR))
        broken = {item.stage: item.reason for item in run.state.get("degradations") or []}
        for step in run.steps:
            stage, begun = step.trace.stage, int((step.ended - step.trace.elapsed_ms / 1000) * _NANO)
            told: dict[str, str | int] = {f"theworld.count.{name}": count for name, count in step.trace.counts.items()}
            if stage.startswith("retrieve_"):
                found, channel = run.state.get("channel_results") or {}, stage.removeprefix("retrieve_")
                hits = len(found[channel].hits) if channel in found else 0
                told |= {"gen_ai.operation.name": "retrieval", "theworld.channel": channel, "theworld.hits": hits}
            elif stage == "generate_answer":
                usage = run.state.get("usage") or ModelUsage()
                told |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": self._model or ""}
                told |= {"gen_ai.usage.input_tokens": usage.prompt_tokens}
                told |= {"gen_ai.usage.output_tokens": usage.completion_tokens}
            else:
                told |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": stage}
            context = trace.set_span_in_context(root)
            span = tracer.start_span(stage, context=context, start_time=begun, attributes=told)
            if stage in broken:
                span.set_status(Status(StatusCode.ERROR, broken[stage] if self._text else "degraded"))
            span.end(int(step.ended * _NANO))
        root.end(int((run.started + run.elapsed_ms / 1000) * _NANO))

    def close(self) -> None:
        """Send what waits."""
        if self._provider is not None:
            self._provider.shutdown()
