"""`POST /mcp`: the Model Context Protocol over streamable HTTP, with the service's keys and tenants.

Nothing is kept between requests and every reply is one JSON object, so that any process of the service answers any
request. A page of another origin is refused, since a browser on this machine needs no key to get here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Request, Response
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Message, Receive, Scope, Send

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code
from theworld.service.api.errors import ApiError
from theworld.service.mcp.server import Asker, make_server
from theworld.service.openai.described import described, failing
from theworld.service.runtime import Service

router = APIRouter(tags=["MCP"])
_ERRORS = failing({"type": "object"}, 400, 401, 403, 404, 406, 413, 415, 429, 500, 503)
_ASKER = "mcp_asker"


@asynccontextmanager
async def mcp_running(app: FastAPI, service: Service) -> AsyncIterator[None]:
    """Run the protocol's server beside the application."""
    server = make_server(service, _asker)
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=service.settings.service.max_body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # decided below
    )
    async with server.session_manager.run():
        app.state.mcp = server.session_manager
        yield


def _asker(ctx: ServerRequestContext[Any, Any]) -> Asker:
    asker: Asker = ctx.request.scope["state"][_ASKER]  # type: ignore[union-attr]
    return asker


@router.post(
    "/mcp",
    summary="Model Context Protocol",
    response_class=Response,
    responses={200: described("JSONRPCMessage", "jsonrpc"), 202: {"description": "Accepted"}, **_ERRORS},
)
async def mcp(request: Request, caller: Annotated[Caller, caller_with("query", placeholder=True)]) -> Response:
    """Answer one JSON-RPC message; tools `search`, `fetch` and `ask`, documents as resources."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise ApiError(Code.FORBIDDEN, "it came from a page of another origin")
    if "json" not in request.headers.get("content-type", "").lower():
        raise ApiError(Code.NOT_JSON)
    return _Reply(request.app.state.mcp, caller)


class _Reply(Response):
    """Lets the SDK answer, and notices a client that goes meanwhile."""

    def __init__(self, manager: StreamableHTTPSessionManager, caller: Caller) -> None:
        super().__init__()
        self._manager, self._caller = manager, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        messages, gone = asyncio.Queue[Message](), asyncio.Event()

        async def watch() -> None:
            while not gone.is_set():
                messages.put_nowait(message := await receive())
                if message["type"] == "http.disconnect":
                    gone.set()

        async def when_gone() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        scope["state"][_ASKER] = Asker(self._caller, Request(scope, when_gone))
        watching = asyncio.ensure_future(watch())
        try:
            await self._manager.handle_request(scope, messages.get, send)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
