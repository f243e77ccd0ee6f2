"""From a request to a run on record: what search, route and ask share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar, cast

from fastapi import Request

from theworld.service.api.access import Caller
from theworld.service.api.envelope import language_of
from theworld.service.api.errors import as_api_error, asked_too_soon, check_run
from theworld.service.requests.record import FinishedRequest, outcome_of_run
from theworld.service.requests.running import CancelledRunError, Run, Until, Watch, run_graph
from theworld.state import Context, QueryInput

if TYPE_CHECKING:
    from theworld.service.runtime import Service
    from theworld.settings import Settings

log = logging.getLogger(__name__)
T = TypeVar("T")


class ClientGoneError(Exception):
    """Nobody waits for the reply any more."""


def service_of(request: Request) -> Service:
    """Return the service behind a request."""
    return cast("Service", request.app.state.service)


def moment() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def total_deadline_ms(settings: Settings) -> int:
    """Return the budget of a whole answer that asks for none: that of retrieval, and of one call of a model.

    A model that is silent, called again and again, holds its slot no longer.
    """
    return settings.retrieval.deadline_ms + round(settings.model.timeout_s * 1000)


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
        self.begun = time.perf_counter()
        self.gone = threading.Event()

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since it came in."""
        return (time.perf_counter() - self.begun) * 1000

    @property
    def language(self) -> str:
        """The language that the caller reads messages in, `en` or `zh`."""
        return language_of(self.request.headers.get("accept-language", "") if self.request is not None else "")

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one of the slots; notice a client that goes while it waits or while its request is worked on."""
        watcher = asyncio.ensure_future(self._watch())
        limiter = self.service.limiter
        holder = limiter.slot(self.caller.tenant)
        try:
            if limiter.free:
                await holder.__aenter__()
            else:
                await self.unless_gone(holder.__aenter__(), watcher)
            try:
                yield
            finally:
                await holder.__aexit__(None, None, None)
        finally:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher

    def log_unexpected(self, error: BaseException) -> None:
        """Put what nobody expected into the server's log, under the trace id the caller was given."""
        log.error("request %s failed", self.trace_id, exc_info=error)

    async def _watch(self) -> None:
        if self.request is None:
            await asyncio.Event().wait()
            return
        while (await self.request.receive())["type"] != "http.disconnect":
            pass
        self.gone.set()

    @staticmethod
    async def unless_gone(waiting: Awaitable[None], watcher: asyncio.Future[None]) -> None:
        """Wait for something; ClientGoneError when the client goes first."""
        task = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            raise ClientGoneError
        task.result()

    async def run(
        self, question: QueryInput, context: Context, *, choice: str | None = None, watch: Watch | None = None
    ) -> Run:
        """Run the graph and put the run on record; raises what the caller has to be told, after it is on record."""
        service = self.service
        if context.total_deadline_ms is None:
            context = context.model_copy(update={"total_deadline_ms": total_deadline_ms(service.settings)})

        def work() -> tuple[Run, int]:
            sequence = service.resources.store.ledger.sequence()
            run = run_graph(
                service.graph,
                question,
                context,
                until=self.until,
                choice=choice,
                watch=watch,
                cancelled=self.gone.is_set,
            )
            return run, sequence

        run, sequence = await service.limiter.work(work, self.gone.set)
        return self.conclude(run, sequence, choice)

    def conclude(
        self, run: Run, sequence: int, choice: str | None = None, given: list[dict[str, str]] | None = None
    ) -> Run:
        """Put a run on record and start strategy B; raises what the caller has to be told."""
        problem: BaseException | None = None
        try:
            check_run(run)
        except Exception as error:
            usual = self.service.settings.retrieval.deadline_ms
            problem = asked_too_soon(error, run.context.deadline_ms, usual) or error
        service, gone = self.service, isinstance(problem, CancelledRunError)
        asked = FinishedRequest(
            tenant=self.caller.tenant,
            request_id=self.request_id,
            trace_id=self.trace_id,
            endpoint=self.endpoint,
            until=self.until,
            run=run,
            settings=service.settings,
            settings_hash=service.settings_hash,
            store_sequence=sequence,
            model_version=service.resources.reranker.name,
            elapsed_ms=self.elapsed_ms,
            code=0 if problem is None or gone else int(as_api_error(problem).code),
            choice=choice,
            given=given,
            created=service.clock(),
        )
        if self.on_record:
            service.finished(asked, outcome_of_run(run, self.endpoint, asked.elapsed_ms))
        if gone:
            raise ClientGoneError from problem
        if problem is not None:
            raise problem
        if given is None and self.on_record:
            service.maybe_run_b(asked)
        return run


async def in_thread(function: Callable[[], T]) -> T:
    """Run work that is no graph run (explain, jobs) in a thread, outside the limiter."""
    return await asyncio.get_running_loop().run_in_executor(None, function)
