"""Turn a node with dependencies into one that LangGraph runs: bound, timed, counted, and unable to end the request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Protocol, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from theworld.degrading import degrading
from theworld.state import ChannelResult, Context, Degradation, QueryInput, QueryState, StageTrace, Update, context_of

S = TypeVar("S", QueryInput, QueryState)
S_contra = TypeVar("S_contra", QueryInput, QueryState, contravariant=True)


class Node(Protocol[S_contra]):
    """What LangGraph runs; it calls its first parameter by name."""

    def __call__(self, state: S_contra, runtime: Runtime[Context]) -> Update:
        """Return the keys of the state that change."""


_COUNTED = ("history", "candidates", "evidence", "paths", "judgements", "entity_candidates", "citations")


def trace_of(stage: str, elapsed_ms: float, update: Mapping[str, Any]) -> StageTrace:
    """Return how many of what an update holds (lists by length, channels by their hits), and what it decided."""
    counts = {key: len(update[key]) for key in _COUNTED if update.get(key)}
    notes: list[str] = []
    results = update.get("channel_results")
    for name, result in results.items() if isinstance(results, dict) else ():
        if isinstance(result, ChannelResult):
            counts[f"{name}_hits"] = len(result.hits)
            notes += [result.note] if result.note else []
    if update.get("route") is not None:
        notes += update["route"].reasons
    if update.get("result") is not None:
        notes.append(f"{update['result'].kind}: {update['result'].reason}")
    if update.get("rerank_outcome"):
        notes.append(str(update["rerank_outcome"]))
    return StageTrace(stage=stage, elapsed_ms=elapsed_ms, counts=counts, notes=tuple(notes))


def bind(
    node: Callable[Concatenate[S, Runtime[Context], ...], Update], *, optional: bool = True, **dependencies: Any
) -> Node[S]:
    """Return `node(state, runtime)` with its dependencies bound and its trace added to `stages`.

    An optional node that raises becomes a Degradation, unless the caller asked for `strict`; interrupts pass.
    """
    stage = node.__name__

    def run(state: S, runtime: Runtime[Context]) -> Update:
        begun, noted = time.perf_counter(), list[Degradation]()
        update: Update = {"degradations": noted}
        catching = Exception if optional else ()
        with degrading(stage, context_of(runtime), noted, "it failed and was skipped", catching=catching):
            update = node(state, runtime, **dependencies)
        trace = trace_of(stage, (time.perf_counter() - begun) * 1000, update)
        before: Any = update.get("stages", [])  # no list: it overwrites those of the state
        return {**update, "stages": [*before, trace] if isinstance(before, list) else Overwrite([trace])}

    run.__name__ = run.__qualname__ = stage
    run.__doc__ = node.__doc__
    return run
