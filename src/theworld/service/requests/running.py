"""One pass over the graph, watched: what every node left, when, and the final state; stopped early where asked."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from theworld.graph.checkpoints import allow_state_types
from theworld.state import Candidate, Context, QueryInput, QueryOutput, QueryState, StageTrace

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StreamMode

    from theworld.graph.build import CompiledGraph

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
    """`time.time()` at the start."""
    elapsed_ms: float = 0.0
    state: dict[str, Any] = field(default_factory=dict)
    fused: list[Candidate] = field(default_factory=list)
    """The candidates as fusion left them, before reranking cut and ordered them."""
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
    follower = _Follower(Run(question, context), graph, until, watch, cancelled)
    begun = time.perf_counter()
    try:
        follower.follow(question)
        if follower.run.clarification is not None and choice is not None:
            follower.resume(choice)
    except Exception as error:
        follower.run.error = error
    follower.run.elapsed_ms = (time.perf_counter() - begun) * 1000
    return follower.run


@dataclass(slots=True)
class _Follower:
    """Follows the graph's stream and notes what goes by."""

    run: Run
    graph: CompiledGraph
    until: Until
    watch: Watch | None
    cancelled: Callable[[], bool]

    def follow(self, given: Any, config: RunnableConfig | None = None) -> None:
        """Go through the stream to the goal."""
        modes: list[StreamMode] = ["updates", "values"]
        if self.watch is not None:
            modes.append("custom")  # for tokens as they come LangGraph waits in one more thread, which takes time
        stream = self.graph.stream(given, config, context=self.run.context, stream_mode=modes, output_keys=KEYS)
        reached = False
        for part in stream:
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
                    reached = reached or _reached(self.until, node, update or {})
            elif self.watch is not None and event.get("type") in {"token", "restart"}:
                self.watch(event["type"], event.get("text", ""))

    def resume(self, choice: str) -> None:
        """Go the same way again, this time with the choice: nothing of a conversation is kept between requests."""
        config: RunnableConfig = {"configurable": {"thread_id": uuid.uuid4().hex}}
        saved = self.graph.copy(update={"checkpointer": allow_state_types(InMemorySaver())})
        question, context = self.run.question, self.run.context
        _Follower(Run(question, context), saved, self.until, None, self.cancelled).follow(question, config)
        self.graph, self.run.clarification, self.run.steps = saved, None, []
        self.follow(Command(resume=choice), config)

    def note(self, node: str, update: Any) -> None:
        """Keep what one node left."""
        if node == _INTERRUPT:
            self.run.clarification = update[0].value
            return
        if node == "fuse_candidates":
            self.run.fused = list(update.get("candidates") or [])
        stages = update.get("stages") or []
        for trace in getattr(stages, "value", stages):  # the first node's is an Overwrite
            self.run.steps.append(Step(trace, time.time()))
            if self.watch is not None:
                self.watch("stage", trace)


def _reached(until: Until, node: str, update: Mapping[str, Any]) -> bool:
    """Tell whether the goal is behind this node's update."""
    if until == "route":
        return node == "route_query"
    if until == "evidence":
        if node == "rerank_candidates":
            return update.get("rerank_outcome") in {"complete", "partial"}
        return node in {"restore_fused_order", "report_no_evidence", "reply_to_smalltalk"}
    return False
