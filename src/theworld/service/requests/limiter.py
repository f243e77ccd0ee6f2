"""How many requests are worked on at once: the rest wait for a slot, and too many are turned away at once.

A request's clock for retrieval starts when it is worked on, so a few at a time each keep their deadline, where all at
once would miss it together. Tenants take turns: one that sends a hundred requests at once waits for its own, and keeps
no other out. Where all places are taken, a tenant that has less than its equal share of them is still let in.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


class TooManyError(Exception):
    """As many requests wait as may."""


class ConcurrencyLimiter:
    """Bounded work in threads, tenants in turn; `watch` is told how many are present whenever that changes."""

    def __init__(self, running: int, waiting: int, watch: Callable[[int], object] = lambda _: None) -> None:
        self._running, self._active = running, 0
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        """Who waits, by tenant; the first tenant is the next to be served, and then goes to the end."""
        self._pool = ThreadPoolExecutor(running, thread_name_prefix="request")
        self._most, self._watch = running + waiting, watch
        self._of_tenant: Counter[str] = Counter()
        self.present = 0
        """Requests working or waiting."""

    @asynccontextmanager
    async def slot(self, tenant: str = "") -> AsyncIterator[None]:
        """Wait for a slot and hold it; TooManyError at once when too many wait."""
        tenants = len(self._of_tenant.keys() | {tenant})
        if self.present >= self._most and self._of_tenant[tenant] >= self._most / tenants:
            raise TooManyError
        self._count(tenant, 1)
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            if self._active < self._running:
                self._active += 1
                ticket.set_result(None)
            else:
                self._queues.setdefault(tenant, deque()).append(ticket)
            await ticket
            yield
        finally:
            if not ticket.cancelled():  # the slot is the next one's, also where it came as this one's caller went
                self._leave()
            self._count(tenant, -1)

    def _leave(self) -> None:
        """Hand the slot to the first that still waits, of the tenant whose turn it is."""
        while self._queues:
            tenant = next(iter(self._queues))
            queue = self._queues.pop(tenant)
            while queue:
                ticket = queue.popleft()
                if not ticket.done():
                    if queue:
                        self._queues[tenant] = queue
                    ticket.set_result(None)
                    return
        self._active -= 1

    def _count(self, tenant: str, change: int) -> None:
        self._of_tenant[tenant] += change
        if not self._of_tenant[tenant]:
            del self._of_tenant[tenant]
        self.present += change
        self._watch(self.present)

    async def work(self, function: Callable[[], T], cancelled: Callable[[], None] | None = None) -> T:
        """Run a function in a thread of its own; `cancelled` is called when nobody waits for it any more.

        Cancelled, it is still waited for: its slot is not free before. What nothing can stop half-way is then returned.
        """
        future = asyncio.get_running_loop().run_in_executor(self._pool, function)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if cancelled is None:
                return await future
            cancelled()
            await asyncio.wait([future])
            raise

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True)
