"""The LangChain retriever and tool: LangChain's own suite for retrievers, a real chain, a real store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests

from theworld.errors import InvalidQuestionError, StoreError
from theworld.graph import Resources, build_graph
from theworld.integrations.langchain import TheWorldRetriever, ask_tool
from theworld.state import Context, QueryOutput

QUESTION = "Where was Isaac Newton born?"
pytestmark = pytest.mark.slow


class TestLangChainSuite(RetrieversIntegrationTests):
    """What LangChain asks of every retriever."""

    @pytest.fixture(autouse=True)
    def _over(self, demo_store: Path) -> None:
        type(self)._store = demo_store

    _store: Path

    @property
    def retriever_constructor(self) -> type[TheWorldRetriever]:
        """The class under test."""
        return TheWorldRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """What it is made with."""
        return {"store": self._store}

    @property
    def retriever_query_example(self) -> str:
        """A question."""
        return QUESTION


def test_documents_say_where_they_stand_and_how_they_were_found(resources: Resources) -> None:
    found = TheWorldRetriever(graph=build_graph(resources), k=3).invoke(QUESTION)
    assert [document.metadata["rank"] for document in found] == [1, 2, 3]
    best = found[0]
    assert "Newton" in best.page_content
    assert best.id == best.metadata["note_id"]
    assert best.metadata["section_path"].startswith(best.metadata["title"])
    assert set(best.metadata["channels"]) <= {"sparse", "dense", "graph"}
    assert 0 <= best.metadata["score"] <= 1
    json.dumps(best.metadata)


def test_it_searches_whatever_the_question_sounds_like(resources: Resources) -> None:
    assert TheWorldRetriever(graph=build_graph(resources), k=1).invoke("hello")


def test_filters_and_tenants_are_kept(resources: Resources) -> None:
    graph = build_graph(resources)
    assert TheWorldRetriever(graph=graph, context=Context(tenant="nobody")).invoke(QUESTION) == []
    assert TheWorldRetriever(graph=graph, context=Context(filters={"area": "none"})).invoke(QUESTION) == []


def test_in_a_chain_and_at_once(resources: Resources) -> None:
    def joined(documents: list[Document]) -> str:
        return " | ".join(document.metadata["title"] for document in documents)

    retriever = TheWorldRetriever(graph=build_graph(resources), k=2)
    chain: Runnable[str, dict[str, str]] = {
        "titles": retriever | RunnableLambda(joined),
        "question": RunnablePassthrough(),
    } | RunnableLambda(dict)

    async def together() -> list[dict[str, str]]:
        return await chain.abatch([QUESTION, "北京的天坛建于哪一年？"])

    english, chinese = asyncio.run(together())
    assert chain.invoke(QUESTION) == english
    assert chinese["question"] == "北京的天坛建于哪一年？"
    assert chinese["titles"]


def test_the_tool_answers_with_sources(resources: Resources) -> None:
    tool = ask_tool(build_graph(resources))
    reply = tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": QUESTION}})
    assert "[1] " in reply.content
    assert isinstance(reply.artifact, QueryOutput)
    assert reply.artifact.citations


@pytest.mark.parametrize("question", ["", "?!", "x" * 30_000])
def test_the_tool_says_what_is_wrong_with_a_question(resources: Resources, question: str) -> None:
    tool = ask_tool(build_graph(resources))
    assert tool.invoke({"question": question}).startswith("question: it ")
    reply = tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": question}})
    assert reply.status == "error"


@pytest.mark.parametrize("given", [{}, {"store": Path("a"), "graph": object()}, {"store": Path("a"), "k": 0}])
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"store|k"):
        TheWorldRetriever(**given)


def test_errors_are_those_of_the_project(tmp_path: Path, resources: Resources) -> None:
    with pytest.raises(StoreError):
        TheWorldRetriever(store=tmp_path / "none").invoke(QUESTION)
    with pytest.raises(InvalidQuestionError):
        TheWorldRetriever(graph=build_graph(resources)).invoke("  ")
