"""The outermost layer: trace ids, the limit on bodies, counting, and the last word on errors nobody expected."""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theworld.service.api.envelope import JSON, Code, language_of
from theworld.service.api.errors import ApiError, error_body

if TYPE_CHECKING:
    from theworld.service.metrics import ServiceMetrics

log = logging.getLogger(__name__)

TRACE_HEADER = "X-Trace-Id"
_TRACE = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class Edge:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; other scopes pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await _Exchange(self._app, scope, receive, send).run()


class _Exchange:
    """One request and its reply."""

    def __init__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self.app, self.scope, self.receive, self.send = app, scope, receive, send
        self.headers = Headers(scope=scope)
        given = self.headers.get(TRACE_HEADER, "")
        self.trace_id = given if _TRACE.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["trace_id"] = self.trace_id
        self.service = getattr(scope["app"].state, "service", None) if "app" in scope else None
        self.limit = self.service.settings.service.max_body_bytes if self.service is not None else 1_000_000
        self.read = 0
        self.status = 0

    async def run(self) -> None:
        begun = time.perf_counter()
        try:
            length = self.headers.get("content-length", "")
            if length.isdigit() and int(length) > self.limit:
                await self.refuse(self.too_large())
            else:
                await self.app(self.scope, self.count_body, self.pass_on)
        except Exception as error:
            log.exception("request %s failed", self.trace_id, exc_info=error)
            if not self.status:
                await self.refuse(ApiError(Code.INTERNAL))
        finally:
            if self.service is not None:
                self.count(self.service.metrics, (time.perf_counter() - begun) * 1000)

    def too_large(self) -> ApiError:
        return ApiError(Code.TOO_LARGE, f"a body has at most {self.limit:,} bytes")

    async def count_body(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.request":
            self.read += len(message.get("body", b""))
            if self.read > self.limit:
                raise self.too_large()
        return message

    async def pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[TRACE_HEADER] = self.trace_id
            headers["X-Content-Type-Options"] = "nosniff"
            headers.setdefault("Cache-Control", "no-store")
        await self.send(message)

    async def refuse(self, error: ApiError) -> None:
        language = language_of(self.headers.get("accept-language", ""))
        status, body = error_body(error, self.trace_id, language, self.scope["path"])
        headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
        await self.pass_on({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def count(self, metrics: ServiceMetrics, elapsed_ms: float) -> None:
        route = self.scope.get("route")
        endpoint = getattr(route, "path", "other")
        metrics.count(endpoint, self.status, elapsed_ms)
