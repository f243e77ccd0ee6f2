"""The LlamaIndex retriever in a query engine of LlamaIndex."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer

from theworld.errors import SettingsError
from theworld.graph import Resources, build_graph
from theworld.integrations.llamaindex import TheWorldRetriever

pytestmark = pytest.mark.slow


def test_in_a_query_engine(resources: Resources) -> None:
    retriever = TheWorldRetriever(build_graph(resources), k=3)
    synthesizer = get_response_synthesizer(MockLLM(), response_mode=ResponseMode.COMPACT)
    engine = RetrieverQueryEngine(retriever, response_synthesizer=synthesizer)
    response = engine.query("Where was Isaac Newton born?")
    assert len(response.source_nodes) == 3
    best = response.source_nodes[0]
    assert "Newton" in best.node.get_content()
    assert best.score == best.node.metadata["score"]


def test_over_a_folder(demo_store: Path) -> None:
    retriever = TheWorldRetriever(demo_store, k=2)
    try:
        assert len(retriever.retrieve("天坛位于哪里？")) == 2
    finally:
        retriever.close()


def test_a_number_that_cannot_be_is_refused() -> None:
    with pytest.raises(SettingsError, match="top_k is -1"):
        TheWorldRetriever("my.store", k=-1)
