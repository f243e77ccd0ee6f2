"""The outermost layer: trace ids, the limit on bodies, counting, and the last word on errors nobody expected."""

from __future__ import annotations

import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theworld.service.api.envelope import JSON, Code, language_of
from theworld.service.api.errors import ApiError, error_body

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

        async def refuse(error: ApiError) -> None:
            language = language_of(headers.get("accept-language", ""))
            refused, body = error_body(error, trace_id, language, scope["path"])
            told = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
            await pass_on({"type": "http.response.start", "status": refused, "headers": told})
            await send({"type": "http.response.body", "body": body})

        try:
            length = headers.get("content-length", "")
            if length.isdigit() and int(length) > limit:
                await refuse(too_large)
            else:
                await self._app(scope, count_body, pass_on)
        except Exception as error:
            log.exception("request %s failed", trace_id, exc_info=error)
            if not status:
                await refuse(ApiError(Code.INTERNAL))
        finally:
            if service is not None:
                endpoint = getattr(scope.get("route"), "path", "other")
                service.metrics.count(endpoint, status, (time.perf_counter() - begun) * 1000)
