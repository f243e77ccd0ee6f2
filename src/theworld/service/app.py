"""The FastAPI application over one service, and as servers start it: from the settings of the process.

`theworld serve` runs `application` as a factory; langgraph.json mounts `app` into its own server, which decides the
address, so there the address a request came in on decides whether a key is needed.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theworld import __version__
from theworld.native_memory import share_heaps
from theworld.service import dify, mcp, page
from theworld.service.api import ask, documents, evaluation, graph, health, nodes, records, traffic
from theworld.service.api.replies import ApiError, Code, error_reply, install, load_messages
from theworld.service.api.serving import ClientGoneError
from theworld.service.openai import answers, vectors
from theworld.service.runtime import Service, open_service
from theworld.settings import Settings

log = logging.getLogger(__name__)
_DESCRIPTION = """Answers questions over your documents, in English and Chinese; every step is on record.

Every reply is `{code, message, data, trace_id}`; code 0 is success. Send `Authorization: Bearer KEY` (keys are made by
`theworld keys create`; none is needed on the machine itself while the server is bound to loopback), `X-Tenant-Id` to
choose a tenant, and `X-Trace-Id` to find the request again in your own logs."""


def create_app(
    service: Service | None = None, *, settings: Settings | None = None, bound_to: str | None = None
) -> FastAPI:
    """Return the application over an open service, or one that opens its own when the server starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        stack = ExitStack()
        if service is None:  # in a thread: a server's event loop must not stand still while models load
            opening = open_service(settings, bound_to=bound_to)
            app.state.service = await asyncio.to_thread(stack.enter_context, opening)
        await asyncio.to_thread(load_messages)
        try:
            async with mcp.mcp_running(app, app.state.service):
                yield
        finally:
            await asyncio.to_thread(stack.close)

    app = FastAPI(
        title="TheWorld",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        license_info={"name": "Apache-2.0"},
        docs_url=None,  # theworld.service.page: FastAPI's page loads scripts from another host
        redoc_url=None,
    )
    if service is not None:
        app.state.service = service
    for router in (
        *(ask.retrieval_router, ask.router, records.router, traffic.router, evaluation.router),
        *(documents.router, documents.reading_router, traffic.feedback_router, health.router),
        *(answers.router, vectors.router, dify.router, mcp.router, nodes.router),
        *(graph.graph_router, graph.router, records.replay_router, page.documentation_router, page.router),
    ):
        app.include_router(router)
    install(app)

    @app.exception_handler(ClientGoneError)
    async def _gone(_request: Request, _error: ClientGoneError) -> Response:
        return Response(status_code=499)

    app.add_middleware(Edge)
    return app


TRACE_HEADER = "X-Trace-Id"
_TRACE = re.compile(r"[A-Za-z0-9._:-]{1,128}")


@dataclass(frozen=True, slots=True)
class Edge:
    """ASGI middleware around everything: trace ids, limit on bodies, counting, the last word on unexpected errors."""

    _app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; other scopes pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(TRACE_HEADER, "")
        trace_id = given if _TRACE.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["trace_id"] = trace_id
        service = getattr(scope["app"].state, "service", None) if "app" in scope else None
        limit = service.settings.service.max_body_bytes if service is not None else 1_000_000
        too_large = ApiError(Code.TOO_LARGE, f"a body has at most {limit:,} bytes")
        begun, read, status = time.perf_counter(), 0, 0

        async def count_body() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > limit:
                    raise too_large
            return message

        async def pass_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                told = MutableHeaders(scope=message)
                told[TRACE_HEADER] = trace_id
                told["X-Content-Type-Options"] = "nosniff"
                told.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            length = headers.get("content-length", "")
            if length.isdigit() and int(length) > limit:
                reply = await error_reply(Request(scope), too_large)
                await reply(scope, receive, pass_on)
            else:
                await self._app(scope, count_body, pass_on)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, Exception):
                log.exception("request %s failed", trace_id, exc_info=error)
            if not status:
                reply = await error_reply(Request(scope), error)
                await reply(scope, receive, pass_on)
        finally:
            if service is not None:
                endpoint = getattr(scope.get("route"), "path", "other")
                service.metrics.count(endpoint, status, (time.perf_counter() - begun) * 1000)


HEAPS = 1
"""Of the C library in a process of the service: one interpreter works in one thread at a time."""


def application() -> FastAPI:
    """Return the application bound as the settings say; the process is its alone."""
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    own = logging.getLogger("theworld")
    if not own.hasHandlers():  # what it says, of watched folders for instance, stands among uvicorn's lines
        own.handlers = logging.getLogger("uvicorn").handlers
        own.setLevel(logging.INFO)
    share_heaps(HEAPS)
    settings = Settings.load()
    return create_app(settings=settings, bound_to=settings.service.host)


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a line of the log is more than the trace of what a second Ctrl-C cut off."""
    last = logging.Formatter().format(record).rstrip().rpartition("\n")[2]
    return not last.startswith("asyncio.exceptions.CancelledError")


def __getattr__(name: str) -> Any:
    """Make `app` when it is asked for, so that importing this module costs nothing."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = found = create_app()
    return found
