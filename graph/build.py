"""Wire the nodes into one graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from theworld.graph import edges
from theworld.graph.admission import RunLimit, admit
from theworld.graph.checkpoints import allow_state_types
from theworld.graph.resources import Resources
from theworld.graph.tracing import bind
from theworld.nodes.answer_from_history import answer_from_history
from theworld.nodes.answer_parts import answer_parts
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.nodes.answer_with_passages import answer_with_passages
from theworld.nodes.disambiguate_entities import accept_no_candidates, find_entity_candidates, judge_entities
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
from theworld.routing import DatabaseReader
from theworld.routing.parts import FindParts, parts_finder
from theworld.state import Context, QueryInput, QueryOutput, QueryState
from theworld.wikidata import EntriesByName

Graph = StateGraph[QueryState, Context, QueryInput, QueryOutput]
CompiledGraph = CompiledStateGraph[QueryState, Context, QueryInput, QueryOutput]


def build_graph(resources: Resources, checkpointer: Checkpointer = None) -> CompiledGraph:
    """Return the compiled graph over the given resources.

    Invoke it with `{"question": ..., "history": [...]}` or `{"messages": [...]}` and optionally
    `context=Context(...)`; with a checkpointer, the thread's earlier turns are the history. At most `resources.limit`
    runs are under way at once; further ones wait before their clock starts.
    """
    graph: Graph = StateGraph(QueryState, context_schema=Context, input_schema=QueryInput, output_schema=QueryOutput)
    _add_understanding(graph, resources)
    _add_retrieval(graph, resources)
    _add_answers(graph, resources)
    _connect(graph, resources)
    compiled: CompiledGraph = graph.compile(checkpointer=allow_state_types(checkpointer), name="theworld")
    return admit(compiled, RunLimit(resources.limit))


def _add_understanding(graph: Graph, resources: Resources) -> None:
    news: dict[str, Any] = {"refresh": resources.store.refresh, "deadline_ms": resources.settings.retrieval.deadline_ms}
    receive = bind(receive_question, optional=False, **news)
    graph.add_node("receive_question", receive, input_schema=QueryInput)
    graph.add_node("resolve_references", bind(resolve_references, resolver=resources.resolver))
    graph.add_node("answer_from_history", bind(answer_from_history))
    graph.add_node(
        "answer_parts", bind(answer_parts, find_parts=_find_parts(resources), answer=_part_answerer(resources))
    )


def _reader(resources: Resources) -> DatabaseReader | None:
    if resources.database is None:
        return None
    from theworld.sql.database import database_reader

    return database_reader(resources.database)


def _find_parts(resources: Resources) -> FindParts:
    return parts_finder(resources.settings, _reader(resources))


def _part_answerer(resources: Resources) -> Callable[[QueryState, Context], Mapping[str, Any]]:
    """Return what answers one stand-alone query: the graph from references to the answer, without a checkpointer."""
    graph: Graph = StateGraph(QueryState, context_schema=Context)
    _add_retrieval(graph, resources)
    _add_answers(graph, resources)
    graph.add_node("resolve_references", bind(resolve_references, resolver=resources.resolver))
    graph.add_edge(START, "resolve_references")
    graph.add_edge("resolve_references", "route_query")
    _connect_answers(graph, resources)
    compiled: CompiledGraph = graph.compile(checkpointer=False, name="part")
    answer: Any = compiled.invoke
    return lambda state, context: cast("Mapping[str, Any]", answer(state, context=context))


def _add_routing(graph: Graph, resources: Resources) -> None:
    settings, database = resources.settings, resources.database
    parts: dict[str, Any] = {"settings": settings, "strategy": resources.strategy, "database": _reader(resources)}
    parts |= {"history": resources.history, "ontology": resources.ontology}
    graph.add_node("route_query", bind(route_query, optional=False, **parts))
    if database is not None:
        from theworld.nodes.query_database import query_database

        rows: dict[str, Any] = {"database": database, "model": resources.models.chat}
        graph.add_node("query_database", bind(query_database, deadline_ms=settings.retrieval.deadline_ms, **rows))


def _add_retrieval(graph: Graph, resources: Resources) -> None:
    _add_routing(graph, resources)
    settings, store, embedder_of = resources.settings, resources.store, resources.models.by_space
    names = _entries_by_name(resources)
    dense: dict[str, Any] = {"dense": store.dense, "embedder_of": embedder_of, "settings": settings.retrieval}
    sparse: dict[str, Any] = {"sparse": store.sparse, "settings": settings.retrieval}
    graph.add_node("retrieve_sparse", bind(retrieve_sparse, **sparse))
    graph.add_node("retrieve_dense", bind(retrieve_dense, **dense))
    graph.add_node(
        "retrieve_graph",
        bind(retrieve_graph, graph=store.graph, names=names, **(dense | sparse)),
    )
    ontology: dict[str, Any] = {"ontology": resources.ontology, "settings": settings.retrieval}
    graph.add_node("retrieve_ontology", bind(retrieve_ontology, **ontology))
    kept: dict[str, Any] = {"notes": store, "settings": settings}
    graph.add_node("fuse_candidates", bind(fuse_candidates, **kept))
    graph.add_node("rerank_candidates", bind(rerank_candidates, reranker=resources.reranker, **kept))
    graph.add_node("restore_fused_order", bind(restore_fused_order, optional=False, **kept))


def _entries_by_name(resources: Resources) -> EntriesByName | None:
    return resources.knowledge if isinstance(resources.knowledge, EntriesByName) else None


def _add_answers(graph: Graph, resources: Resources) -> None:
    answers, model = resources.settings.answers, resources.models.chat
    lookup: dict[str, Any] = {
        "knowledge": resources.knowledge,
        "timeout_s": resources.settings.wikidata.timeout_s,
    }
    graph.add_node("find_entity_candidates", bind(find_entity_candidates, **lookup))
    graph.add_node("judge_entities", bind(judge_entities, judge=resources.judge))
    graph.add_node("accept_no_candidates", bind(accept_no_candidates))
    entries = _entries_by_name(resources)
    graph.add_node("answer_with_entity", bind(answer_with_entity, settings=answers, entries=entries))
    graph.add_node("link_answer", bind(link_answer, judge=resources.judge, **lookup))
    if model is not None:
        graph.add_node("generate_answer", bind(generate_answer, model=model, settings=answers))
    shown: dict[str, Any] = {"notes": resources.store, "settings": resources.settings}
    graph.add_node("answer_with_passages", bind(answer_with_passages, **shown))
    graph.add_node("reply_to_smalltalk", bind(reply_to_smalltalk, optional=False))
    graph.add_node("report_no_evidence", bind(report_no_evidence, optional=False, store=resources.store))
    graph.add_node("finish_answer", bind(finish_answer, optional=False))


def _connect(graph: Graph, resources: Resources) -> None:
    graph.add_edge(START, "receive_question")
    graph.add_edge("receive_question", "resolve_references")
    graph.add_conditional_edges(
        "resolve_references",
        edges.after_resolution(_find_parts(resources)),
        ["answer_from_history", "answer_parts", "route_query"],
    )
    graph.add_conditional_edges("answer_from_history", edges.after_history, ["finish_answer", "route_query"])
    graph.add_conditional_edges("answer_parts", edges.after_parts, ["finish_answer", "route_query"])
    _connect_answers(graph, resources)


def _connect_answers(graph: Graph, resources: Resources) -> None:
    """Connect everything from routing to the end."""
    has_model = resources.models.chat is not None
    channels = list(edges.CHANNEL_NODES.values())
    searched = [*channels, "reply_to_smalltalk", "report_no_evidence"]
    if resources.database is not None:
        graph.add_conditional_edges("route_query", edges.after_routing, ["query_database", *searched])
        graph.add_conditional_edges("query_database", edges.after_database, ["finish_answer", *searched])
    else:
        graph.add_conditional_edges("route_query", edges.after_routing, searched)
    for channel in channels:
        graph.add_edge(channel, "fuse_candidates")
    graph.add_conditional_edges(
        "fuse_candidates", edges.after_fusion, ["rerank_candidates", "restore_fused_order", "report_no_evidence"]
    )
    graph.add_conditional_edges(
        "rerank_candidates",
        edges.after_reranking(resources.settings.answers),
        ["find_entity_candidates", "restore_fused_order", "report_no_evidence"],
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
