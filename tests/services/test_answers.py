"""The whole graph over servers: answers as embedded, and under every fault one that says what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.answering import QUESTIONS, Answering, answering
from services.server_faults import HALF_OPEN, Engine, Fault, kinds
from theworld.graph import Resources, build_graph

pytestmark = [pytest.mark.slow, HALF_OPEN]


@pytest.fixture(scope="module")
def servers_graph(
    copy_of_demo: Callable[[], Path], opensearch_url: str, neo4j_url: str, qdrant_url_if_any: str | None
) -> Iterator[Answering]:
    urls: dict[Engine, str] = {"sparse": opensearch_url, "graph": neo4j_url}
    if qdrant_url_if_any is not None:
        urls["dense"] = qdrant_url_if_any
    limits = {"timeout_s": 15.0, "probe_s": 0.1}
    with answering(copy_of_demo(), urls, limits=limits, deadline_ms=60_000) as opened:
        yield opened


def gist(output: dict[str, Any]) -> tuple[Any, ...]:
    return output["kind"], output["answer"], [candidate.note_id for candidate in output["candidates"][:10]]


def test_answers_are_those_of_the_embedded_store(servers_graph: Answering, resources: Resources) -> None:
    embedded = build_graph(resources)
    for question in QUESTIONS:
        output = servers_graph.ask(question)
        assert output["degradations"] == []
        assert gist(output) == gist(embedded.invoke({"question": question}))


ENGINES: tuple[Engine, ...] = ("sparse", "dense", "graph")


@pytest.mark.parametrize(
    "fault",
    [Fault(engine, kind, "question") for engine in ENGINES for kind in kinds(engine, "question", real=False)],
    ids=lambda fault: f"{fault.engine}-{fault.kind}",
)
def test_a_fault_is_answered_named_and_recovered_from(servers_graph: Answering, fault: Fault) -> None:
    if fault.engine not in servers_graph.proxies:
        pytest.skip("no qdrant")
    trial = servers_graph.trial(fault, 0)
    assert (trial.answered, trial.named) == (True, True), trial
    assert trial.recovery_s < 60
    assert servers_graph.ask(QUESTIONS[0])["degradations"] == []
