"""An asyncio event loop on a thread of its own, so that plain functions can wait for I/O that is cut off exactly."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from theworld.deadline import Deadline, DeadlineExceededError

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for any thread; at its deadline one is cancelled, so that nothing outlives its request."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None

    def run(self, work: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Return what `work()` returns; DeadlineExceededError as soon as the deadline has passed."""

        async def limited() -> T:
            try:
                async with asyncio.timeout(deadline.remaining_ms() / 1000):
                    return await work()
            except TimeoutError as error:
                raise DeadlineExceededError(f"no complete answer within {deadline.budget_ms:.0f} ms") from error

        return asyncio.run_coroutine_threadsafe(limited(), self._loop()).result()

    def close(self, last: Callable[[], Awaitable[None]]) -> None:
        """Cancel what is under way, run `last()`, end the thread; nothing happens when it never ran."""
        with self._lock:
            running, self._running = self._running, None
        if running is None:
            return
        loop, thread = running

        async def finish() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await last()

        asyncio.run_coroutine_threadsafe(finish(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._running is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name=self._name, daemon=True)
                thread.start()
                self._running = loop, thread
            return self._running[0]
