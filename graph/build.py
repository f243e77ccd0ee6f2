"""Wire the nodes into one graph, whose checkpoints restore the values of the state and nothing else."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

import theworld.state
from theworld.errors import SettingsError, check_kind
from theworld.graph import edges
from theworld.graph.admission import RunLimit, admit
from theworld.graph.resources import Resources
from theworld.graph.tracing import bind
from theworld.nodes.answer_from_history import answer_from_history
from theworld.nodes.answer_parts import answer_parts, parts_finder
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.nodes.answer_with_passages import answer_with_passages
from theworld.nodes.disambiguate_entities import accept_no_candidates, find_entity_candidates, judge_entities
from theworld.nodes.find_conversation_documents import find_conversation_documents
from theworld.nodes.finish_answer import finish_answer
from theworld.nodes.fuse_candidates import fuse_candidates
from theworld.nodes.generate_answer import generate_answer
from theworld.nodes.link_answer import link_answer
from theworld.nodes.receive_question import receive_question
from theworld.nodes.reply_to_smalltalk import reply_to_smalltalk
from theworld.nodes.report_no_evidence import report_no_evidence
from theworld.nodes.rerank_candidates import rerank_candidates
from theworld.nodes.resolve_references import resolve_references
from theworld.nodes.restore_fused_order import restore_fused_order
from theworld.nodes.retrieve_dense import retrieve_dense
from theworld.nodes.retrieve_graph import retrieve_graph
from theworld.nodes.retrieve_ontology import retrieve_ontology
from theworld.nodes.retrieve_sparse import retrieve_sparse
from theworld.nodes.route_query import route_query
from theworld.nodes.search_again import Search, search_again
from theworld.state import Context, QueryInput, QueryOutput, QueryState, Update
from theworld.wikidata import EntriesByName

Graph = StateGraph[QueryState, Context, Any, QueryOutput]  # asked with a QueryInput, or a plain dict of its fields
CompiledGraph = CompiledStateGraph[QueryState, Context, Any, QueryOutput]


def build_graph(resources: Resources, checkpointer: Checkpointer = None) -> CompiledGraph:
    """Return the compiled graph over the given resources.

    Invoke it with `{"question": ..., "history": [...]}` or `{"messages": [...]}` and optionally
    `context=Context(...)`; with a checkpointer, the thread's earlier turns are the history. At most `resources.limit`
    runs are under way at once; further ones wait before their clock starts.

    SettingsError where it is given anything but resources, or a language model that is no `ChatModel`.
    """
    remedy = "Give what `with open_resources(Settings.load(store=...)) as resources` opens."
    check_kind(resources, Resources, where="resources of build_graph", remedy=remedy)
    if (chat := resources.models.chat) is not None and not hasattr(chat, "complete"):
        remedy = "Wrap it as docs/integrations.md does, in a class with `name`, `complete` and `stream`."
        raise SettingsError(f"{type(chat).__name__} is no theworld.ChatModel", where="models.chat", remedy=remedy)
    graph: Graph = StateGraph(QueryState, context_schema=Context, input_schema=QueryInput, output_schema=QueryOutput)
    database = resources.database
    find_parts = parts_finder(resources.settings, None if database is None else database.view)
    news: dict[str, Any] = {"refresh": resources.store.refresh, "deadline_ms": resources.settings.retrieval.deadline_ms}
    receive = bind(receive_question, optional=False, **news)
    graph.add_node("receive_question", receive, input_schema=QueryInput)
    _add(graph, resolve_references, resolver=resources.resolver)
    _add(graph, answer_from_history)
    _add(graph, answer_parts, find_parts=find_parts, answer=_part_answerer(resources))
    graph.add_edge(START, "receive_question")
    graph.add_edge("receive_question", "resolve_references")
    graph.add_conditional_edges(
        "resolve_references",
        edges.after_resolution(find_parts),
        ["answer_from_history", "answer_parts", "route_query"],
    )
    for node in ("answer_from_history", "answer_parts"):
        graph.add_conditional_edges(node, edges.after_history_or_parts, ["finish_answer", "route_query"])
    _add_answering(graph, resources)
    compiled: CompiledGraph = graph.compile(checkpointer=allow_state_types(checkpointer), name="theworld")
    # The answer is a message once it is checked: what a chat model of LangChain says in a node is no message beside it.
    return admit(compiled.with_config(tags=[TAG_NOSTREAM]), RunLimit(resources.limit))


def _part_answerer(resources: Resources) -> Callable[[QueryState, Context], Mapping[str, Any]]:
    """Return what answers one stand-alone query: the graph from references to the answer, without a checkpointer."""
    graph: Graph = StateGraph(QueryState, context_schema=Context)
    _add(graph, resolve_references, resolver=resources.resolver)
    graph.add_edge(START, "resolve_references")
    graph.add_edge("resolve_references", "route_query")
    _add_answering(graph, resources)
    compiled: CompiledGraph = graph.compile(checkpointer=False, name="part")
    answer: Any = compiled.invoke
    return lambda state, context: cast("Mapping[str, Any]", answer(state, context=context))


def _searcher(resources: Resources) -> Search:
    """Return what searches for one query by the channels of its route: the graph from there to the reranking."""
    graph: Graph = StateGraph(QueryState, context_schema=Context)
    _add_search(graph, resources)
    graph.add_conditional_edges(START, edges.to_channels, edges.SEARCHING)
    graph.add_conditional_edges(
        "fuse_candidates",
        edges.after_fusion,
        {"rerank_candidates": "rerank_candidates", "report_no_evidence": END, "restore_fused_order": END},
    )
    graph.add_edge("rerank_candidates", END)
    compiled: CompiledGraph = graph.compile(checkpointer=False, name="search")
    search: Any = compiled.invoke
    return lambda state, context: cast("Mapping[str, Any]", search(state, context=context))


def _add(graph: Graph, node: Callable[..., Update], /, *, optional: bool = True, **dependencies: Any) -> None:
    """Add a node under the name of its function."""
    graph.add_node(node.__name__, bind(node, optional=optional, **dependencies))


def _add_answering(graph: Graph, resources: Resources) -> None:
    """Add everything from routing to the end, and connect it."""
    settings, store, embedder_of = resources.settings, resources.store, resources.models.by_space
    _add(
        graph,
        route_query,
        optional=False,
        settings=settings,
        strategy=resources.strategy,
        database=resources.database and resources.database.view,
        history=resources.history,
        ontology=resources.ontology,
    )
    if resources.database is not None:
        from theworld.nodes.query_database import query_database

        rows: dict[str, Any] = {"database": resources.database, "model": resources.models.chat}
        _add(graph, query_database, settings=settings.retrieval, **rows)
    _add_search(graph, resources)
    _add(graph, search_again, search=_searcher(resources))
    _add(graph, restore_fused_order, optional=False, notes=store, settings=settings)
    lookup: dict[str, Any] = {"knowledge": resources.knowledge, "timeout_s": settings.wikidata.timeout_s}
    _add(graph, find_entity_candidates, **lookup)
    _add(graph, judge_entities, judge=resources.judge)
    _add(graph, accept_no_candidates)
    _add(graph, answer_with_entity, settings=settings.answers, entries=_entries(resources))
    _add(graph, link_answer, judge=resources.judge, **lookup)
    if resources.models.chat is not None:
        answering: dict[str, Any] = {"settings": settings.answers, "timeout_s": settings.model.timeout_s}
        _add(graph, generate_answer, model=resources.models.chat, **answering)
    _add(graph, answer_with_passages, notes=store, dense=store.dense, embedder_of=embedder_of, settings=settings)
    _add(graph, reply_to_smalltalk, optional=False)
    _add(graph, report_no_evidence, optional=False, store=store)
    _add(graph, finish_answer, optional=False)
    _connect_answering(graph, resources)


def _add_search(graph: Graph, resources: Resources) -> None:
    """Add the channels, fusion and reranking; what follows each of the last two is left open."""
    settings, store = resources.settings, resources.store
    dense: dict[str, Any] = {
        "dense": store.dense,
        "embedder_of": resources.models.by_space,
        "settings": settings.retrieval,
    }
    _add(graph, retrieve_sparse, sparse=store.sparse, settings=settings.retrieval)
    _add(graph, retrieve_dense, **dense)
    _add(graph, retrieve_graph, graph=store.graph, names=_entries(resources), sparse=store.sparse, **dense)
    _add(graph, retrieve_ontology, ontology=resources.ontology, settings=settings.retrieval)
    _add(graph, find_conversation_documents, sparse=store.sparse, settings=settings.retrieval)
    _add(graph, fuse_candidates, notes=store, settings=settings)
    _add(graph, rerank_candidates, reranker=resources.reranker, notes=store, settings=settings)
    for node in edges.SEARCHING:
        graph.add_edge(node, "fuse_candidates")


def _entries(resources: Resources) -> EntriesByName | None:
    return resources.knowledge if isinstance(resources.knowledge, EntriesByName) else None


def _connect_answering(graph: Graph, resources: Resources) -> None:
    has_model = resources.models.chat is not None
    searched = [*edges.SEARCHING, "reply_to_smalltalk", "report_no_evidence"]
    if resources.database is not None:
        graph.add_conditional_edges("route_query", edges.after_routing, ["query_database", *searched])
        graph.add_conditional_edges("query_database", edges.after_database, ["finish_answer", *searched])
    else:
        graph.add_conditional_edges("route_query", edges.after_routing, searched)
    graph.add_conditional_edges(
        "fuse_candidates", edges.after_fusion, ["rerank_candidates", "restore_fused_order", "report_no_evidence"]
    )
    graph.add_conditional_edges(
        "rerank_candidates",
        edges.after_reranking(resources.settings.answers),
        ["search_again", "find_entity_candidates", "restore_fused_order", "report_no_evidence"],
    )
    graph.add_conditional_edges(
        "search_again",
        edges.with_evidence(resources.settings.answers),
        ["find_entity_candidates", "report_no_evidence"],
    )
    graph.add_edge("restore_fused_order", "find_entity_candidates")
    graph.add_conditional_edges(
        "find_entity_candidates", edges.after_entity_search, ["judge_entities", "accept_no_candidates"]
    )
    graph.add_edge("judge_entities", "answer_with_entity")
    graph.add_edge("accept_no_candidates", "answer_with_entity")
    generation = ["generate_answer"] if has_model else []
    graph.add_conditional_edges(
        "answer_with_entity",
        edges.after_entity_answer(has_model=has_model),
        ["link_answer", *generation, "answer_with_passages"],
    )
    graph.add_edge("link_answer", "answer_with_passages")
    if has_model:
        graph.add_conditional_edges(
            "generate_answer", edges.after_generation, ["finish_answer", "answer_with_passages"]
        )
    graph.add_conditional_edges("answer_with_passages", edges.after_passages, ["finish_answer", "report_no_evidence"])
    graph.add_edge("reply_to_smalltalk", "finish_answer")
    graph.add_edge("report_no_evidence", "finish_answer")
    graph.add_edge("finish_answer", END)


def allow_state_types(checkpointer: Checkpointer, *own: type) -> Checkpointer:
    """Return a checkpointer that restores this graph's values and those of your `own` types, and nothing else.

    LangGraph's default restores any class and warns of each. A serializer the caller made (an encrypting one, or one
    with other types allowed) is the caller's choice and stays as it is.
    """
    if not isinstance(checkpointer, BaseCheckpointSaver) or type(checkpointer.serde) is not JsonPlusSerializer:
        return checkpointer
    classes: list[type] = [AIMessage, HumanMessage, SystemMessage, ToolMessage, *own]
    classes += [value for name, value in vars(theworld.state).items() if inspect.isclass(value) and name[0].isupper()]
    allowed = sorted({(value.__module__, value.__name__) for value in classes})
    clone = copy.copy(checkpointer)
    clone.serde = JsonPlusSerializer(allowed_msgpack_modules=allowed)
    return clone
