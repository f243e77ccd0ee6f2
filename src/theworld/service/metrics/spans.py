"""OpenTelemetry spans: one a request, one a node below it, with the attributes of the GenAI conventions.

Nothing is sent unless the environment names an exporter (`OTEL_TRACES_EXPORTER=console`, or `otlp` with
`OTEL_EXPORTER_OTLP_ENDPOINT`); question and answer text only where `service.trace_text` allows it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from theworld import __version__
from theworld.errors import SettingsError

if TYPE_CHECKING:
    from theworld.service.requests.running import Run

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

    @classmethod
    def from_environment(cls, *, text: bool, model: str | None = None) -> RequestSpans:
        """Return what the process's environment asks for."""
        return cls(exporter_of(os.environ), text=text, model=model)

    def emit(self, run: Run, *, endpoint: str, request_id: str, trace_id: str, tenant: str) -> None:
        """Make the spans of one run, with the times at which its nodes ran."""
        if self._provider is None:
            return
        tracer = self._provider.get_tracer("theworld", __version__)
        ended = run.started + run.elapsed_ms / 1000
        root = tracer.start_span(
            f"invoke_agent theworld.{endpoint}",
            kind=SpanKind.SERVER,
            start_time=int(run.started * _NANO),
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "theworld",
                "theworld.endpoint": endpoint,
                "theworld.request_id": request_id,
                "theworld.trace_id": trace_id,
                "theworld.tenant": tenant,
            },
        )
        self._describe(root, run)
        below = trace.set_span_in_context(root)
        broken = {item.stage: item.reason for item in run.state.get("degradations") or []}
        for step in run.steps:
            stage = step.trace.stage
            begun = step.ended - step.trace.elapsed_ms / 1000
            span = tracer.start_span(
                stage, context=below, start_time=int(begun * _NANO), attributes=self._attributes(stage, run)
            )
            for name, count in step.trace.counts.items():
                span.set_attribute(f"theworld.count.{name}", count)
            if stage in broken:
                span.set_status(Status(StatusCode.ERROR, broken[stage] if self._text else "degraded"))
            span.end(int(step.ended * _NANO))
        root.end(int(ended * _NANO))

    def _describe(self, root: Span, run: Run) -> None:
        result = run.state.get("result")
        if result is not None:
            root.set_attribute("theworld.answer.kind", result.kind)
        if self._text:
            root.set_attribute("gen_ai.input.messages", run.state.get("question") or run.question.question)
            root.set_attribute("gen_ai.output.messages", result.text if result is not None else "")
        if run.error is not None:
            root.set_attribute("error.type", type(run.error).__name__)
            root.set_status(Status(StatusCode.ERROR))

    def _attributes(self, stage: str, run: Run) -> dict[str, Any]:
        if stage.startswith("retrieve_"):
            found = run.state.get("channel_results") or {}
            channel = stage.removeprefix("retrieve_")
            hits = len(found[channel].hits) if channel in found else 0
            return {"gen_ai.operation.name": "retrieval", "theworld.channel": channel, "theworld.hits": hits}
        if stage == "generate_answer":
            usage = run.state.get("usage")
            return {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": self._model or "",
                "gen_ai.usage.input_tokens": usage.prompt_tokens if usage is not None else 0,
                "gen_ai.usage.output_tokens": usage.completion_tokens if usage is not None else 0,
            }
        return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": stage}

    def close(self) -> None:
        """Send what waits."""
        if self._provider is not None:
            self._provider.shutdown()
