"""How nodes and graphs are run: a node with its dependencies bound, timed, counted, and unable to end the request; and
how many runs are under way at once in a process, the others waiting their turn before their clock starts.

A hundred gathered `ainvoke` on a few cores would each miss a deadline that every one of them keeps when a few run at a
time. A run within a run (a graph as a node or tool of another, part of the same task) does not wait for itself."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any, Concatenate, Protocol, TypeVar
from weakref import WeakKeyDictionary

from langgraph.graph.state import CompiledStateGraph
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
        before: Any = update.get("stages", [])
        return {**update, "stages": [*before, trace] if isinstance(before, list) else Overwrite([trace])}

    run.__name__ = run.__qualname__ = stage
    run.__doc__ = node.__doc__
    return run


AnyGraph = TypeVar("AnyGraph", bound=CompiledStateGraph[Any, Any, Any, Any])
Part = TypeVar("Part")
_END = object()
LONGEST_WAIT_S = 60.0
"""Then a run begins without a turn: streams that nobody reads to their end, or closes, must not hold up the others."""
_within: ContextVar[bool] = ContextVar("within_a_run", default=False)


class RunLimit:
    """At most `limit` runs at once among threads, and as many in each event loop, first come first served."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit must be >= 1, got {limit}")
        self._limit = limit
        self._threads = threading.Semaphore(limit)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def stream(self, parts: Iterator[Part]) -> Iterator[Part]:
        """Yield the parts of a run, which begins when a turn in this thread is free."""
        with self._turn():
            run = copy_context()
            run.run(_within.set, True)
            while (part := run.run(next, parts, _END)) is not _END:
                yield part  # type: ignore[misc]  # not the end

    async def astream(self, parts: AsyncGenerator[Part]) -> AsyncIterator[Part]:
        """Yield the parts of a run, which begins when a turn in this event loop, which goes on meanwhile, is free."""
        async with self._turn_of_loop(), aclosing(parts):
            while True:
                token = _within.set(True)  # only while the run itself works, not while its reader does
                try:
                    part = await anext(parts, _END)
                finally:
                    _within.reset(token)
                if part is _END:
                    return
                yield part  # type: ignore[misc]  # not the end

    @contextmanager
    def _turn(self) -> Iterator[None]:
        taken = not _within.get() and self._threads.acquire(timeout=LONGEST_WAIT_S)
        try:
            yield
        finally:
            if taken:
                self._threads.release()

    @asynccontextmanager
    async def _turn_of_loop(self) -> AsyncIterator[None]:
        turns = self._loops.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._limit))
        taken = False
        with suppress(TimeoutError):
            taken = not _within.get() and await asyncio.wait_for(turns.acquire(), LONGEST_WAIT_S)
        try:
            yield
        finally:
            if taken:
                turns.release()


def admit(graph: AnyGraph, limit: RunLimit) -> AnyGraph:
    """Return the graph, whose runs from now on wait for a turn; copies of it share the limit."""

    class Admitted(CompiledStateGraph[Any, Any, Any, Any]):
        def stream(self, *args: Any, **options: Any) -> Iterator[Any]:
            return limit.stream(super().stream(*args, **options))

        def astream(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
            return limit.astream(super().astream(*args, **options))  # type: ignore[arg-type]  # a generator

    Admitted.__name__ = Admitted.__qualname__ = type(graph).__name__
    Admitted.stream.__doc__, Admitted.astream.__doc__ = type(graph).stream.__doc__, type(graph).astream.__doc__
    graph.__class__ = Admitted  # type: ignore[assignment]  # StateGraph.compile knows no other class
    return graph
