"""A run told while it goes: what happens as events, and a reply that gives its place back however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from theworld.service.api.envelope import Code
from theworld.service.api.errors import as_api_error
from theworld.service.api.schemas import AskRequest
from theworld.service.api.serving import ClientGoneError, RequestContext, moment

EVENTS = "text/event-stream"


async def followed(current: RequestContext, body: AskRequest) -> AsyncGenerator[tuple[str, Any]]:
    """Answer a question and yield what happens.

    ("stage", StageTrace), ("token", text), ("restart", "") as they come; at the end ("final", Run), or ("error",
    ApiError) when the run failed; nothing when the client went. Closed early, it stops the run and waits for it.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()

    def watch(kind: str, value: Any) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, (kind, value))

    async def answer() -> None:
        try:
            context = body.context(current.caller.tenant, moment())
            run = await current.run(body.asked(), context, choice=body.choice, watch=watch)
            queue.put_nowait(("final", run))
        except ClientGoneError:
            pass
        except Exception as error:
            known = as_api_error(error)
            if known.code is Code.INTERNAL:
                current.log_unexpected(error)
            queue.put_nowait(("error", known))
        queue.put_nowait(None)

    task = asyncio.ensure_future(answer())
    try:
        while (event := await queue.get()) is not None:
            yield event
    finally:
        current.gone.set()
        await asyncio.wait([task])


async def streamed(current: RequestContext, events: AsyncGenerator[bytes]) -> EventStream:
    """Return server-sent events as a reply that holds a place; TooManyError, before the first byte, without one."""
    held = AsyncExitStack()
    await held.enter_async_context(current.slot())
    headers = {"X-Request-Id": current.request_id, "X-Accel-Buffering": "no"}
    return EventStream(events, held, headers)


class EventStream(StreamingResponse):
    """Gives the place back however the stream ends."""

    def __init__(self, events: AsyncGenerator[bytes], held: AsyncExitStack, headers: dict[str, str]) -> None:
        super().__init__(events, headers=headers, media_type=EVENTS)
        self._held, self._events = held, events

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send the events."""
        async with self._held, aclosing(self._events):
            # The place watches for the client's going; starlette's own watch would take its message away.
            await self.stream_response(send)
