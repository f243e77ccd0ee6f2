"""How many runs of a graph are under way at once in a process: the others wait their turn before their clock starts.

A hundred gathered `ainvoke` on a few cores would each miss a deadline that every one of them keeps when a few run at a
time. A run within a run (a graph as a node or tool of another, part of the same task) does not wait for itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from langgraph.graph.state import CompiledStateGraph

AnyGraph = TypeVar("AnyGraph", bound=CompiledStateGraph[Any, Any, Any, Any])
_within: ContextVar[bool] = ContextVar("within_a_run", default=False)


class RunLimit:
    """At most `limit` runs at once among threads, and as many in each event loop, first come first served."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit must be >= 1, got {limit}")
        self._limit = limit
        self._threads = threading.Semaphore(limit)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn in this thread and hold it."""
        if _within.get():
            yield
            return
        with self._threads, _marked():
            yield

    @asynccontextmanager
    async def turn_of_loop(self) -> AsyncIterator[None]:
        """Wait for a turn in this event loop, which goes on meanwhile, and hold it."""
        if _within.get():
            yield
            return
        async with self._loops.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._limit)):
            with _marked():
                yield


@contextmanager
def _marked() -> Iterator[None]:
    _within.set(True)
    try:
        yield
    finally:
        _within.set(False)  # a generator may end in another context than it began in, where no token is valid


def admit(graph: AnyGraph, limit: RunLimit) -> AnyGraph:
    """Return the graph, whose runs from now on wait for a turn; copies of it share the limit."""

    class Admitted(CompiledStateGraph[Any, Any, Any, Any]):
        def stream(self, *args: Any, **options: Any) -> Iterator[Any]:
            with limit.turn():
                yield from super().stream(*args, **options)

        async def astream(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
            async with limit.turn_of_loop():
                async for part in super().astream(*args, **options):
                    yield part

    Admitted.__name__ = Admitted.__qualname__ = type(graph).__name__
    Admitted.stream.__doc__, Admitted.astream.__doc__ = type(graph).stream.__doc__, type(graph).astream.__doc__
    graph.__class__ = Admitted  # type: ignore[assignment]  # StateGraph.compile knows no other class
    return graph
