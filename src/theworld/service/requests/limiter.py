"""How many requests are worked on at once: the rest wait for a slot, and too many are turned away at once.

A request's clock for retrieval starts when it is worked on, so a few at a time each keep their deadline, where all at
once would miss it together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


class TooManyError(Exception):
    """As many requests wait as may."""


class ConcurrencyLimiter:
    """Bounded work in threads, first come first served; `watch` is told how many are present whenever that changes."""

    def __init__(self, running: int, waiting: int, watch: Callable[[int], object] = lambda _: None) -> None:
        self._free = asyncio.Semaphore(running)
        self._pool = ThreadPoolExecutor(running, thread_name_prefix="request")
        self._most, self._watch = running + waiting, watch
        self.present = 0
        """Requests working or waiting."""

    @property
    def free(self) -> bool:
        """Whether a slot is free without waiting."""
        return not self._free.locked()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it; TooManyError at once when too many wait."""
        if self.present >= self._most:
            raise TooManyError
        self._count(1)
        try:
            async with self._free:
                yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        self.present += change
        self._watch(self.present)

    async def work(self, function: Callable[[], T], cancelled: Callable[[], None] = lambda: None) -> T:
        """Run a function in a thread of its own; `cancelled` is called when nobody waits for it any more.

        Cancelled, it is still waited for: its slot is not free before.
        """
        future = asyncio.get_running_loop().run_in_executor(self._pool, function)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            cancelled()
            await asyncio.wait([future])
            raise

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True)
