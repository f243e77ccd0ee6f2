"""How many runs of a graph are under way at once in a process: the others wait their turn before their clock starts.

A hundred gathered `ainvoke` on a few cores would each miss a deadline that every one of them keeps when a few run at a
time. A run within a run (a graph as a node or tool of another, part of the same task) does not wait for itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from langgraph.graph.state import CompiledStateGraph

from theworld.errors import InvalidQuestionError, did_you_mean
from theworld.state import QueryInput

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
        taken = not _within.get() and self._threads.acquire(timeout=LONGEST_WAIT_S)
        try:
            run = copy_context()
            run.run(_within.set, True)
            while (part := run.run(next, parts, _END)) is not _END:
                yield part  # type: ignore[misc]  # not the end
        finally:
            if taken:
                self._threads.release()

    async def astream(self, parts: AsyncGenerator[Part]) -> AsyncIterator[Part]:
        """Yield the parts of a run, which begins when a turn in this event loop, which goes on meanwhile, is free."""
        turns = self._loops.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._limit))
        taken = False
        with suppress(TimeoutError):
            taken = not _within.get() and await asyncio.wait_for(turns.acquire(), LONGEST_WAIT_S)
        try:
            async with aclosing(parts):
                while True:
                    token = _within.set(True)  # only while the run itself works, not while its reader does
                    try:
                        part = await anext(parts, _END)
                    finally:
                        _within.reset(token)
                    if part is _END:
                        return
                    yield part  # type: ignore[misc]  # not the end
        finally:
            if taken:
                turns.release()


def admit(graph: AnyGraph, limit: RunLimit) -> AnyGraph:
    """Return the graph, whose runs from now on wait for a turn; copies of it share the limit."""

    class Admitted(CompiledStateGraph[Any, Any, Any, Any]):
        def stream(self, input: Any, *args: Any, **options: Any) -> Iterator[Any]:
            _check_asked(input)
            return limit.stream(super().stream(input, *args, **options))

        def astream(self, input: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
            _check_asked(input)
            return limit.astream(super().astream(input, *args, **options))  # type: ignore[arg-type]  # a generator

    Admitted.__name__ = Admitted.__qualname__ = type(graph).__name__
    Admitted.stream.__doc__, Admitted.astream.__doc__ = type(graph).stream.__doc__, type(graph).astream.__doc__
    graph.__class__ = Admitted  # type: ignore[assignment]  # StateGraph.compile knows no other class
    return graph


def _check_asked(asked: object) -> None:
    """Raise InvalidQuestionError for a bare text, and for a dict that holds a question under no known name."""
    form = 'Ask with {"question": "..."} or {"messages": [...]}.'
    if isinstance(asked, str):
        raise InvalidQuestionError(f"it is the text {asked!r:.80}", where="input", remedy=form)
    if isinstance(asked, dict) and not {"question", "messages"} & asked.keys():
        unknown = sorted(map(str, asked.keys() - QueryInput.model_fields.keys()))
        if unknown:
            remedy = did_you_mean(unknown[0], QueryInput.model_fields, form)
            raise InvalidQuestionError(f"it has {unknown[0]!r} and no question", where="input", remedy=remedy)
