"""The FastAPI application over one service, and as servers start it: from the settings of the process.

`theworld serve` runs `application` as a factory; langgraph.json mounts `app` into its own server, which decides the
address, so there the address a request came in on decides whether a key is needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response

from theworld import __version__
from theworld.native_memory import share_heaps
from theworld.service import dify, mcp
from theworld.service.api import ask, documents, evaluation, graph, health, nodes, records, traffic
from theworld.service.api.access import VerifiedKeys
from theworld.service.api.edge import Edge
from theworld.service.api.envelope import load_messages
from theworld.service.api.errors import install
from theworld.service.api.serving import ClientGoneError
from theworld.service.openai import answers, vectors
from theworld.service.page import routes
from theworld.service.runtime import Service, open_service
from theworld.settings import Settings

_DESCRIPTION = """Answers questions over your documents, in English and Chinese; every step is on record.

Every reply is `{code, message, data, trace_id}`; code 0 is success. Send `Authorization: Bearer KEY` (keys are made by
`theworld keys create`; none is needed on the machine itself while the server is bound to loopback), `X-Tenant-Id` to
choose a tenant, and `X-Trace-Id` to find the request again in your own logs."""


def create_app(
    service: Service | None = None, *, settings: Settings | None = None, bound_to: str | None = None
) -> FastAPI:
    """Return the application over an open service, or one that opens its own when the server starts."""
    app = FastAPI(
        title="TheWorld",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan(service, settings, bound_to),
        license_info={"name": "Apache-2.0"},
        docs_url=None,  # theworld.service.page.routes: FastAPI's page loads scripts from another host
        redoc_url=None,
    )
    app.state.verified = VerifiedKeys()
    if service is not None:
        app.state.service = service
    for router in (
        *(ask.retrieval_router, ask.router, records.router, traffic.online_router, evaluation.router),
        *(documents.router, documents.reading_router, traffic.feedback_router, traffic.failures_router, health.router),
        *(answers.router, vectors.router, dify.router, mcp.router, nodes.router),
        *(graph.graph_router, graph.router, records.replay_router, routes.documentation_router, routes.router),
    ):
        app.include_router(router)
    install(app)

    @app.exception_handler(ClientGoneError)
    async def _gone(_request: Request, _error: ClientGoneError) -> Response:
        return Response(status_code=499)

    app.add_middleware(Edge)
    return app


def _lifespan(
    service: Service | None, settings: Settings | None, bound_to: str | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
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

    return lifespan


HEAPS = 2
"""Of the C library in a process of the service: one interpreter works in one thread at a time."""


def application() -> FastAPI:
    """Return the application bound as the settings say; the process is its alone."""
    share_heaps(HEAPS)
    settings = Settings.load()
    return create_app(settings=settings, bound_to=settings.service.host)


def __getattr__(name: str) -> Any:
    """Make `app` when it is asked for, so that importing this module costs nothing."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = found = create_app()
    return found
