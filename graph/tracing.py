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


def counts_of(update: Mapping[str, Any]) -> dict[str, int]:
    """Return how many of what an update holds: lists by length, channels by their hits."""
    counts = {key: len(update[key]) for key in _COUNTED if update.get(key)}
    results = update.get("channel_results")
    if isinstance(results, dict):
        counts |= {f"{name}_hits": len(r.hits) for name, r in results.items() if isinstance(r, ChannelResult)}
    return counts


def notes_of(update: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what an update decided, in words."""
    notes: list[str] = []
    results = update.get("channel_results")
    if isinstance(results, dict):
        notes += [r.note for r in results.values() if isinstance(r, ChannelResult) and r.note]
    if update.get("route") is not None:
        notes += update["route"].reasons
    if update.get("result") is not None:
        notes.append(f"{update['result'].kind}: {update['result'].reason}")
    if update.get("rerank_outcome"):
        notes.append(str(update["rerank_outcome"]))
    return tuple(notes)


def with_trace(update: Update, trace: StageTrace) -> Update:
    """Return the update with one more stage; where it overwrites those of the state, with this one alone."""
    before = update.get("stages", [])
    return {**update, "stages": [*before, trace] if isinstance(before, list) else Overwrite([trace])}


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
        elapsed = (time.perf_counter() - begun) * 1000
        trace = StageTrace(stage=stage, elapsed_ms=elapsed, counts=counts_of(update), notes=notes_of(update))
        return with_trace(update, trace)

    run.__name__ = run.__qualname__ = stage
    run.__doc__ = node.__doc__
    return run
