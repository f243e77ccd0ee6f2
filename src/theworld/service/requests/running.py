"""One pass over the graph, watched: what every node left, when, and the final state; stopped early where asked.

Reranking by itself, of texts a caller gives or of notes of the store, is a run like any other.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, StreamMode

from theworld.deadline import Deadline
from theworld.degrading import degrading
from theworld.errors import StoreError
from theworld.graph import Resources
from theworld.graph.build import CompiledGraph, allow_state_types
from theworld.nodes.receive_question import clean_question
from theworld.ranking.contract import apply_ranking, rerank_within
from theworld.retrieval.notes import candidate_of, read_notes
from theworld.state import Candidate, Context, Degradation, QueryInput, QueryOutput, QueryState, StageTrace
from theworld.stores.records import StoredNote
from theworld.text import detect_language

Until = Literal["route", "evidence", "answer", "rerank"]
"""How far a request goes: to the router's decision, the final candidates, or the answer; `rerank` runs no graph."""
KEYS = sorted((set(QueryState.model_fields) | set(QueryOutput.model_fields)) - {"messages"})
_INTERRUPT = "__interrupt__"


class CancelledRunError(Exception):
    """Whoever asked has gone; the run was stopped between two nodes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One node that has run."""

    trace: StageTrace
    ended: float
    """`time.time()` when its update arrived."""


@dataclass(slots=True)
class Run:
    """What one pass over the graph left; plain values of the state, nothing open."""

    question: QueryInput
    context: Context
    started: float = field(default_factory=time.time)
    elapsed_ms: float = 0.0
    state: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    clarification: Mapping[str, Any] | None = None
    """What was asked back, where the reference was ambiguous."""
    error: BaseException | None = None


Watch = Callable[[str, Any], None]
"""Called with ("stage", StageTrace) after each node, ("token", text) for a model's text as it comes, and
("restart", "") when what came so far was not the answer."""


def run_graph(
    graph: CompiledGraph,
    question: QueryInput,
    context: Context,
    *,
    until: Until = "answer",
    choice: str | None = None,
    watch: Watch | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Run:
    """Run the graph and return what it left; an error is kept in the run.

    `choice` answers the question the graph asks back when a reference is ambiguous (`context.clarify`). `cancelled` is
    looked at between nodes.
    """
    config: RunnableConfig | None = None
    if choice is not None:  # only what is saved can go on; nothing of a conversation is kept between requests
        graph = graph.copy(update={"checkpointer": allow_state_types(InMemorySaver())})
        config = {"configurable": {"thread_id": uuid.uuid4().hex}}
    follower = _Follower(Run(question, context), graph, config, until, watch, cancelled)
    run = follower.run
    with _kept(run):
        follower.follow(question)
        if run.clarification is not None and choice is not None:
            run.clarification, run.steps = None, []
            follower.follow(Command(resume=choice))
    return run


@contextmanager
def _kept(run: Run) -> Iterator[None]:
    """Keep in a run how long the block takes, and its error."""
    begun = time.perf_counter()
    try:
        yield
    except Exception as error:
        run.error = error
    run.elapsed_ms = (time.perf_counter() - begun) * 1000


@dataclass(slots=True)
class _Follower:
    """Follows the graph's stream and notes what goes by."""

    run: Run
    graph: CompiledGraph
    config: RunnableConfig | None
    until: Until
    watch: Watch | None
    cancelled: Callable[[], bool]

    def follow(self, given: Any) -> None:
        """Go through the stream to the goal."""
        modes: list[StreamMode] = ["updates", "values"]
        if self.watch is not None:
            modes.append("custom")  # for tokens as they come LangGraph waits in one more thread, which takes time
        stream = self.graph.stream(given, self.config, context=self.run.context, stream_mode=modes, output_keys=KEYS)
        reached = False
        # What is broken off gives its turn back now, not when its traceback is forgotten.
        with closing(cast("Generator[Any]", stream)) as parts:
            for part in parts:
                if self.cancelled():
                    raise CancelledRunError
                mode, event = cast("tuple[str, Any]", part)
                if mode == "values":
                    self.run.state = event
                    if reached:
                        break
                elif mode == "updates":
                    for node, update in event.items():
                        self.note(node, update or {})
                        reached = reached or self.reached(node, update or {})
                elif self.watch is not None and event.get("type") in {"token", "restart"}:
                    self.watch(event["type"], event.get("text", ""))

    def reached(self, node: str, update: Mapping[str, Any]) -> bool:
        """Return whether the goal is behind this node's update."""
        if self.until == "evidence" and node == "rerank_candidates":
            # A question that may go on from the one before may be searched once more.
            alone = self.run.state["reference"].in_context is None
            return alone and update.get("rerank_outcome") in {"complete", "partial"}
        return node in _GOALS.get(self.until, ())

    def note(self, node: str, update: Any) -> None:
        """Keep what one node left."""
        if node == _INTERRUPT:
            self.run.clarification = update[0].value
            return
        stages = update.get("stages") or []
        for trace in getattr(stages, "value", stages):  # the first node's is an Overwrite
            self.run.steps.append(Step(trace, time.time()))
            if self.watch is not None:
                self.watch("stage", trace)


_AFTER = ("search_again", "find_entity_candidates", "restore_fused_order", "report_no_evidence", "reply_to_smalltalk")
_GOALS: dict[Until, tuple[str, ...]] = {"route": ("route_query",), "evidence": _AFTER}
"""The nodes with whose update a goal short of the answer is reached."""
STAGE = "rerank_candidates"
GIVEN = "\x1f"
"""Stands before a given text's position; no note id can hold this character."""


def rerank_given(resources: Resources, query: str, given: Sequence[dict[str, str]], context: Context) -> Run:
    """Rank the texts; an entry with `note_id` names a note of the tenant, unknown ones are left out."""
    run, begun = Run(QueryInput(question=query), context), time.perf_counter()
    with _kept(run):
        question = clean_question(query)
        deadline = Deadline.after(context.deadline_ms or resources.settings.retrieval.deadline_ms)
        ids, degraded = [item["note_id"] for item in given if "note_id" in item], list[Degradation]()
        notes: list[StoredNote] = []
        if ids:  # where a ledger on a server does not answer in half the time, those in memory
            half = Deadline(deadline.started, deadline.budget_ms / 2)
            with degrading(STAGE, context, degraded, "newly written notes could not be taken in", catching=StoreError):
                resources.store.refresh(half)
            notes = read_notes(ids, resources.store, stage=STAGE, context=context, noted=degraded, within=half)
        candidates = [
            Candidate(
                note_id=f"{GIVEN}{place}",
                document_id=item["id"],
                title=item.get("title", ""),
                text=item["text"],
                end=len(item["text"]),
                language=detect_language(item["text"]),
            )
            for place, item in enumerate(given)
            if "note_id" not in item
        ]
        candidates += [candidate_of(note) for note in {note.id: note for note in notes}.values()]
        candidates = [c.model_copy(update={"fused_rank": rank}) for rank, c in enumerate(candidates, start=1)]
        top_k = context.top_k or resources.settings.retrieval.top_k
        reranking = rerank_within(
            resources.reranker, question, candidates, top_k=top_k, tenant=context.tenant, deadline=deadline
        )
        elapsed = (time.perf_counter() - begun) * 1000
        trace = StageTrace(stage=STAGE, elapsed_ms=elapsed, counts={"candidates": len(candidates)})
        if reranking.outcome != "complete":
            reason = reranking.reason or reranking.outcome
            degraded.append(Degradation(stage=STAGE, reason=reason, elapsed_ms=elapsed))
        run.steps.append(Step(trace, time.time()))
        ranked = apply_ranking(candidates, reranking)[:top_k]
        run.state = {"question": question, "query": question, "language": detect_language(question)}
        run.state |= {"candidates": ranked, "rerank_outcome": reranking.outcome}
        run.state |= {"stages": [trace], "degradations": degraded}
    return run
