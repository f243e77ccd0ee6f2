"""From a request to a run on record, and from data to a reply: what the endpoints share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, cast, get_args, get_type_hints

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from theworld.questions import spoken_language
from theworld.service.api.access import Caller
from theworld.service.api.replies import JSON, Code, Envelope, as_api_error, envelope, fault_of, language_of, message_of
from theworld.service.api.schemas import AskRequest, Replied, SearchRequest
from theworld.service.requests.record import FinishedRequest
from theworld.service.requests.running import CancelledRunError, Run, Until, Watch, run_graph
from theworld.service.runtime import Service
from theworld.text import Language

log = logging.getLogger(__name__)
EVENTS = "text/event-stream"


class ClientGoneError(Exception):
    """Nobody waits for the reply any more."""


def service_of(request: Request) -> Service:
    """Return the service behind a request."""
    return cast("Service", request.app.state.service)


def enveloped(
    route: Callable[..., Any], path: str, summary: str, *, status: int = 200, **described: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Serve, in an envelope, the data that a function of a request returns; one that is no coroutine runs in a thread.

    `route` is a method of a router, such as `router.get`; the type that is returned describes the data. A Response is
    passed on as it is.
    """

    def serve(work: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(work)
        async def endpoint(**given: Any) -> Response:
            data = await (work(**given) if iscoroutinefunction(work) else asyncio.to_thread(work, **given))
            if isinstance(data, Response):
                return data
            request = next(value for value in given.values() if isinstance(value, Request))
            message = message_of(Code.OK, language_of(request))
            headers = {"X-Request-Id": data.request_id} if isinstance(data, Replied) else None
            return Response(envelope(request.state.trace_id, data, message=message), status, headers, JSON)

        returned = get_type_hints(work)["return"]
        model = next(kind for kind in (*get_args(returned), returned) if kind is not Response)
        response_model = Envelope.__class_getitem__(model)
        route(path, response_model=response_model, summary=summary, status_code=status, **described)(endpoint)
        return work

    return serve


class RequestContext:
    """One request: its ids, its clock, and whether somebody still waits for it."""

    def __init__(
        self,
        request: Request | None,
        caller: Caller,
        endpoint: str,
        until: Until,
        *,
        service: Service | None = None,
        on_record: bool = True,
    ) -> None:
        """Take what a request brings; one that nobody can leave half-way (None) names its `service`.

        What is not to be on record is not counted either, and no strategy B runs beside it.
        """
        self.service = service or service_of(cast("Request", request))
        self.request, self.caller, self.endpoint, self.until = request, caller, endpoint, until
        self.request_id = uuid.uuid4().hex
        self.trace_id = request.state.trace_id if request is not None else self.request_id
        self.on_record = on_record
        called = str(request.base_url) if request is not None else ""
        self.base = (self.service.settings.service.public_url or called).rstrip("/")
        """The address that links begin with: the setting, else as the service was called, "" where none serves."""
        self.begun = time.perf_counter()
        self.gone = threading.Event()

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since it came in."""
        return (time.perf_counter() - self.begun) * 1000

    @property
    def language(self) -> Language:
        """The language that the caller reads messages in, `en` or `zh`."""
        return language_of(self.request) if self.request is not None else "en"

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one of the slots; notice a client that goes while it waits or while its request is worked on.

        Raises ClientGoneError when it goes first.
        """
        watcher, slot = asyncio.ensure_future(self._watch()), self.service.limiter.slot(self.caller.tenant)
        try:
            async with AsyncExitStack() as held:
                entering = asyncio.ensure_future(held.enter_async_context(slot))
                try:
                    await asyncio.wait({entering, watcher}, return_when=asyncio.FIRST_COMPLETED)
                    if not entering.done():
                        raise ClientGoneError
                    entering.result()
                finally:
                    entering.cancel()
                yield
        finally:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher

    async def _watch(self) -> None:
        if self.request is None:
            await asyncio.Event().wait()
            return
        while (await self.request.receive())["type"] != "http.disconnect":
            pass
        self.gone.set()

    async def answered(self, body: AskRequest | SearchRequest) -> Run:
        """Wait for a slot, run the graph there and put the run on record; raises what the caller has to be told."""
        async with self.slot():
            return await self.run(body)

    async def run(self, body: AskRequest | SearchRequest, watch: Watch | None = None) -> Run:
        """Do so in a slot that is held already."""
        service, choice = self.service, None
        if isinstance(body, AskRequest) and body.choice is not None:
            choice = str(body.choice)
        context = body.context(self.caller.tenant)
        if isinstance(body, AskRequest) and context.language is None:
            context = context.model_copy(update={"language": spoken_language(body.question, self.language)})
        if context.total_deadline_ms is None:
            # That of retrieval, and of one call of a model: one that is silent, called again and again, holds its slot
            # no longer.
            settings = service.settings
            total_ms = settings.retrieval.deadline_ms + round(settings.model.timeout_s * 1000)
            context = context.model_copy(update={"total_deadline_ms": total_ms})

        asked = partial(run_graph, service.graph, body.asked(), context, until=self.until, choice=choice, watch=watch)
        return await self.carry_out(partial(asked, cancelled=self.gone.is_set), choice=choice)

    async def carry_out(
        self, work: Callable[[], Run], *, choice: str | None = None, given: list[dict[str, str]] | None = None
    ) -> Run:
        """Do work in a thread, put its run on record and start strategy B; raises what the caller has to be told."""
        ledger = self.service.resources.store.ledger
        sequence, run = await self.service.limiter.work(lambda: (ledger.sequence(), work()), self.gone.set)
        problem = fault_of(run, self.service.settings.retrieval.deadline_ms)
        service, gone = self.service, isinstance(problem, CancelledRunError)
        named = {name: getattr(self, name) for name in ("request_id", "trace_id", "endpoint", "until", "elapsed_ms")}
        code = 0 if problem is None or gone else int(as_api_error(problem).code)
        asked = FinishedRequest(
            tenant=self.caller.tenant, **named, run=run, settings=service.settings, store_sequence=sequence,
            model_version=service.resources.reranker.name, code=code, choice=choice, given=given,
            created=service.clock(),
        )  # fmt: skip
        if self.on_record:
            service.finished(asked)
        if gone:
            raise ClientGoneError from problem
        if problem is not None:
            raise problem
        if given is None and self.on_record:
            service.maybe_run_b(asked)
        return run


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
            queue.put_nowait(("final", await current.run(body, watch)))
        except ClientGoneError:
            pass
        except Exception as error:
            known = as_api_error(error)
            if known.code is Code.INTERNAL:  # in the log under the trace id that the caller is given
                log.exception("request %s failed", current.trace_id)
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
