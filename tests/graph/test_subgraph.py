"""The graph as a node of somebody else's graph: shared keys, its own context, tokens of nothing it does not know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from theworld.graph import Resources, build_graph
from theworld.state import Citation, Context, QueryInput

pytestmark = pytest.mark.slow
QUESTION = "Where was Isaac Newton born?"


class Support(TypedDict, total=False):
    """State of an application's own graph."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str
    citations: list[Citation]
    ticket: str


@dataclass
class Caller:
    """Context of an application's own graph."""

    name: str = "somebody"
    theworld: Context = field(default_factory=Context)


def _application(resources: Resources, schema: type | None) -> Any:
    graph: Any = StateGraph(Support, context_schema=schema)
    graph.add_node("documents", build_graph(resources))
    graph.add_node("file", lambda state: {"ticket": f"{len(state['citations'])} sources: {state['answer']}"})
    graph.add_edge(START, "documents")
    graph.add_edge("documents", "file")
    graph.add_edge("file", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(("schema", "context"), [(None, None), (Caller, Caller())])
def test_answers_inside_another_graph(resources: Resources, schema: type | None, context: Caller | None) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    done = _application(resources, schema).invoke({"messages": [HumanMessage(QUESTION)]}, thread, context=context)
    alone = build_graph(resources).invoke(QueryInput(question=QUESTION))
    assert done["answer"] == alone["answer"]
    assert done["ticket"] == f"{len(done['citations'])} sources: {done['answer']}"
    assert [message.content for message in done["messages"]] == [QUESTION, done["answer"]]


def test_the_outer_context_says_whose_knowledge_it_is(resources: Resources) -> None:
    thread: Any = {"configurable": {"thread_id": "2"}}
    caller = Caller(theworld=Context(tenant="nobody"))
    done = _application(resources, Caller).invoke({"messages": [HumanMessage(QUESTION)]}, thread, context=caller)
    assert done["citations"] == []
