"""Runs one question under a change: the bridge from failure analysis to the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.evaluation.failures import Change, Seen
from theworld.evaluation.metrics import first_occurrences
from theworld.graph import Resources, build_graph, make_resources
from theworld.graph.checkpoints import allow_state_types
from theworld.nodes.fuse_candidates import to_candidate
from theworld.ranking.fusion import Fused
from theworld.state import EVIDENCE_NOTES, Candidate, Context, QueryInput, Update
from theworld.stores.records import StoredNote

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from theworld.graph.build import CompiledGraph

FOUND_BY = "fuse_candidates"
"""The node in whose name given notes enter the graph: what follows it is reranking and answering."""
NOTES_AT_ONCE = 64
KEYS = ["query", "question", "language", "route", "channel_results", "candidates", "evidence", "result"]


class Counterfactuals:
    """Asks questions as they are, or with one thing changed, over one store."""

    def __init__(self, resources: Resources, graph: CompiledGraph, context: Context) -> None:
        self._resources, self._graph = resources, graph
        self._context = context.model_copy(update={"deadline_ms": BACKGROUND_DEADLINE_MS})
        self._deep: dict[int, CompiledGraph] = {}

    def ask(self, question: str, change: Change) -> Seen:
        """Run a question under a change."""
        if change.given is not None:
            return self._ask_given(question, change.given)
        channels = list(change.channels) if change.channels else None
        choices = {"channels": channels, "rerank": change.rerank, "top_k": change.top_k}
        context = self._context.model_copy(update={name: value for name, value in choices.items() if value is not None})
        graph = self._graph if change.depth is None else self._deeper(change.depth)
        return seen_of(graph.invoke(QueryInput(question=question), context=context, output_keys=KEYS))

    def _ask_given(self, question: str, documents: Sequence[str]) -> Seen:
        """Run a question as if the channels had found exactly these documents' notes, in this order."""
        from langgraph.checkpoint.memory import InMemorySaver

        graph = self._graph.copy(update={"checkpointer": allow_state_types(InMemorySaver())})
        config: RunnableConfig = {"configurable": {"thread_id": "given"}}
        graph.invoke(QueryInput(question=question), config, context=self._context, output_keys=KEYS)
        notes = [note for document in documents for note in self._notes_of(document)]
        candidates = [
            to_candidate(note, Fused(note_id=note.id, score=1.0, channels={}), rank, 1.0, None)
            for rank, note in enumerate(notes, start=1)
        ]
        graph.update_state(config, as_found(candidates), as_node=FOUND_BY)
        return seen_of(graph.invoke(None, config, context=self._context, output_keys=KEYS))

    def _notes_of(self, document: str) -> list[StoredNote]:
        """Return a document's notes in order; their ids are its own with their ordinals."""
        found: list[StoredNote] = []
        while len(found) % NOTES_AT_ONCE == 0:
            ids = [f"{document}#{len(found) + n}" for n in range(NOTES_AT_ONCE)]
            more = self._resources.store.notes(ids, tenant=self._context.tenant)
            if not more:
                break
            found += more
        return found

    def _deeper(self, depth: int) -> CompiledGraph:
        if depth not in self._deep:
            old = self._resources
            retrieval = old.settings.retrieval.model_copy(update={"per_channel": 2 * depth})
            rerank = old.settings.rerank.model_copy(update={"pool": depth})
            settings = old.settings.model_copy(update={"retrieval": retrieval, "rerank": rerank})
            self._deep[depth] = build_graph(make_resources(settings, old.store, old.models, old.knowledge))
        return self._deep[depth]


def as_found(candidates: Sequence[Candidate]) -> Update:
    """Return what makes the graph go on with these candidates, whatever it found and answered before."""
    return {
        "candidates": list(candidates),
        "evidence": list(candidates[:EVIDENCE_NOTES]),
        "paths": [],
        "rerank_outcome": "skipped",
        "entity_candidates": {},
        "judgements": [],
        "result": None,
    }


def seen_of(state: Mapping[str, Any]) -> Seen:
    """Return what a final state gave."""
    result, evidence = state.get("result"), state.get("evidence") or []
    route, candidates = state.get("route"), state.get("candidates") or []
    return Seen(
        documents=tuple(first_occurrences(candidate.document_id for candidate in candidates)),
        answer=result.brief if result is not None else "",
        kind=result.kind if result is not None else "none",
        evidence=tuple((note.document_id, f"{note.title}\n{note.text}") for note in evidence),
        passages="\n".join(passage.text for passage in result.passages) if result is not None else "",
        channels=tuple(route.channels) if route is not None else (),
        path=route.path if route is not None else "",
    )
