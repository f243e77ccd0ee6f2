"""OpenTelemetry: one span a request, one a node, GenAI attributes, no text unless allowed, nothing sent by default."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from theworld.errors import SettingsError
from theworld.service.metrics import RequestSpans, exporter_of
from theworld.service.requests.running import Run, Step
from theworld.state import Answer, ChannelResult, Context, Degradation, ModelUsage, QueryInput, StageTrace

QUESTION = "a private question"


def emitted(*, text):
    run = Run(QueryInput(question=QUESTION), Context(), started=1000.0, elapsed_ms=50.0)
    run.state = {
        "question": QUESTION,
        "channel_results": {"sparse": ChannelResult(channel="sparse", hits=(("a#0", 1.0),))},
        "result": Answer(text="a private answer", kind="generated"),
        "usage": ModelUsage(calls=1, prompt_tokens=7, completion_tokens=3),
        "degradations": [Degradation(stage="retrieve_dense", reason="a private reason")],
    }
    stages = ["route_query", "retrieve_sparse", "retrieve_dense", "generate_answer"]
    run.steps = [
        Step(StageTrace(stage=name, elapsed_ms=10.0), 1000.01 * 1 + 0.01 * place) for place, name in enumerate(stages)
    ]
    exporter = InMemorySpanExporter()
    spans = RequestSpans(exporter, text=text, model="some-model")
    spans.emit(run, endpoint="ask", request_id="r", trace_id="t", tenant="default")
    spans.close()
    return {span.name: span for span in exporter.get_finished_spans()}


def test_a_span_for_the_request_and_one_below_it_for_every_node():
    found = emitted(text=False)
    root = found["invoke_agent theworld.ask"]
    assert len(found) == 5
    assert {span.parent.span_id for name, span in found.items() if span is not root} == {root.context.span_id}
    node = found["retrieve_sparse"]
    assert (node.end_time - node.start_time) / 1e6 == pytest.approx(10.0, abs=0.01)
    assert node.attributes["gen_ai.operation.name"] == "retrieval"
    assert node.attributes["theworld.hits"] == 1
    model = found["generate_answer"].attributes
    assert (model["gen_ai.operation.name"], model["gen_ai.request.model"]) == ("chat", "some-model")
    assert (model["gen_ai.usage.input_tokens"], model["gen_ai.usage.output_tokens"]) == (7, 3)
    assert not found["retrieve_dense"].status.is_ok


@pytest.mark.parametrize("text", [True, False])
def test_text_is_in_the_spans_only_where_it_is_allowed(text):
    dumped = "".join(span.to_json() for span in emitted(text=text).values())
    assert ("private" in dumped) == text


def test_nothing_is_sent_unless_the_environment_says_where():
    assert exporter_of({}) is None
    assert exporter_of({"OTEL_TRACES_EXPORTER": "none"}) is None
    assert type(exporter_of({"OTEL_TRACES_EXPORTER": "console"})).__name__ == "ConsoleSpanExporter"
    with pytest.raises(SettingsError, match="otlp"):
        exporter_of({"OTEL_TRACES_EXPORTER": "smoke-signals"})
