"""The graph as a node of somebody else's graph: shared keys, its own context, tokens of nothing it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from theworld.errors import SettingsError
from theworld.graph import Resources, allow_state_types, build_graph
from theworld.models.protocols import ChatMessage, Completion
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


def test_the_outer_context_may_hold_a_dict_and_nothing_that_is_no_context(resources: Resources) -> None:
    thread: Any = {"configurable": {"thread_id": "3"}}
    asked = {"messages": [HumanMessage(QUESTION)]}
    done = _application(resources, Caller).invoke(asked, thread, context={"theworld": {"tenant": "nobody"}})
    assert done["citations"] == []
    with pytest.raises(SettingsError, match="`theworld` of the graph's context: it is 'nobody'"):
        _application(resources, Caller).invoke(asked, thread, context={"theworld": "nobody"})


@dataclass(frozen=True)
class Ticket:
    """What an application keeps itself."""

    sources: int


def test_its_values_are_restored_from_the_checkpoints_of_another_graph(
    resources: Resources, caplog: pytest.LogCaptureFixture
) -> None:
    class Kept(Support):
        filed: Ticket

    graph: Any = StateGraph(Kept)
    graph.add_node("documents", build_graph(resources))
    graph.add_node("file", lambda state: {"filed": Ticket(len(state["citations"]))})
    graph.add_edge(START, "documents")
    graph.add_edge("documents", "file")
    kept = graph.compile(checkpointer=allow_state_types(InMemorySaver(), Ticket))
    thread: Any = {"configurable": {"thread_id": "4"}}
    for question in (QUESTION, "When did he die?"):
        done = kept.invoke({"messages": [HumanMessage(question)]}, thread)
    state = kept.get_state(thread).values
    assert state["filed"] == Ticket(len(done["citations"]))
    assert state["citations"] == done["citations"]
    assert "unregistered type" not in caplog.text
    assert "Blocked" not in caplog.text


class Telling(GenericFakeChatModel):
    """A chat model of LangChain, within one of ours."""

    name: str = "telling"

    def complete(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Completion:
        return Completion(str(self.invoke([(message.role, message.content) for message in messages]).content))

    def stream(self, messages: Any, *rest: Any, **options: Any) -> Iterator[Any]:  # type: ignore[override]
        yield self.complete(messages)


def test_an_answer_of_a_chat_model_of_langchain_is_one_message(resources: Resources) -> None:
    answer = AIMessage("Isaac Newton was born at Woolsthorpe Manor [1].")
    models = replace(resources.models, chat=Telling(messages=iter([answer])))  # type: ignore[arg-type]
    graph = build_graph(replace(resources, models=models))
    said = [part[0].text for part in graph.stream({"question": QUESTION}, stream_mode="messages")]  # type: ignore[index]
    assert said == [QUESTION, answer.text]
