"""From whatever goes wrong to an envelope that says so without internals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from theworld.deadline import DeadlineExceededError
from theworld.errors import (
    InvalidQuestionError,
    ModelError,
    RetrievalUnavailableError,
    SettingsError,
    StoreError,
    StoreLockedError,
)
from theworld.retrieval.channel import LATE
from theworld.service.api.envelope import JSON, STATUS, Code, ErrorEnvelope, envelope, language_of, message_of
from theworld.service.api.forms import form_of
from theworld.service.requests.limiter import TooManyError
from theworld.service.requests.running import Run
from theworld.state import Degradation

T = TypeVar("T")
_INTERNAL = re.compile(r"\w+://\S+|(?<![\w.])(?:/[^\s/:;,'\")]+){2,}|[A-Za-z]:\\\S+")
_FREE_TEXT = frozenset({"reason", "reasons", "note", "notes", "error"})
"""Names under which records tell, in words, what happened."""
_RETRY_S = "1"


class ApiError(HTTPException):
    """An error with its code; what it says is safe to be shown."""

    def __init__(self, code: Code, what: str = "", *, details: dict[str, Any] | None = None) -> None:
        super().__init__(STATUS[code])
        self.code, self.what, self.details = code, what, details
        self.headers: dict[str, str] = {}
        if code in {Code.TOO_MANY, Code.STORE_BUSY}:
            self.headers["Retry-After"] = _RETRY_S
        if code is Code.NO_KEY:
            self.headers["WWW-Authenticate"] = "Bearer"


def must_exist(value: T | None, what: str) -> T:
    """Return a value that was looked for; ApiError that says what there would have been when there is none.

    What is another tenant's is told like what nobody has, so `what` must not depend on the id.
    """
    if value is None:
        raise ApiError(Code.NOT_FOUND, what)
    return value


class _Details(BaseModel):
    model_config = {"extra": "allow"}


def error_body(error: ApiError, trace_id: str, language: str, path: str = "") -> tuple[int, bytes]:
    """Return HTTP status and body of an error, in the form of the address that was called."""
    message = message_of(error.code, language, error.what)
    form = form_of(path)
    if form is not None:
        status, told = form(error.code, error.status_code, message, error.details or {})
        return status, orjson.dumps(told)
    details = _Details(**error.details) if error.details else None
    return error.status_code, envelope(trace_id, details, code=error.code, message=message)


def error_reply(request: Request, error: ApiError) -> Response:
    """Return the reply of an error."""
    language = language_of(request.headers.get("accept-language", ""))
    status, body = error_body(error, request.state.trace_id, language, request.url.path)
    return Response(body, status, error.headers, JSON)


def as_api_error(error: BaseException) -> ApiError:
    """Return what the caller is told of an error; what is not expected is internal."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, InvalidQuestionError | SettingsError):
        return ApiError(Code.INVALID, redacted(str(error)))
    if isinstance(error, RetrievalUnavailableError):
        late = isinstance(error.__cause__, DeadlineExceededError) and error.where == "retrieve_dense"
        return ApiError(Code.VECTOR_TIMEOUT if late else Code.RETRIEVAL_UNAVAILABLE)
    kinds: list[tuple[type[BaseException], Code]] = [
        (TooManyError, Code.TOO_MANY),
        (StoreLockedError, Code.STORE_BUSY),
        (StoreError, Code.STORE_UNAVAILABLE),
        (ModelError, Code.MODEL_UNAVAILABLE),
    ]
    return ApiError(next((code for kind, code in kinds if isinstance(error, kind)), Code.INTERNAL))


def check_run(run: Run) -> None:
    """Raise what the caller has to be told of a run: its error, or that no channel that was asked answered."""
    if run.error is not None:
        raise run.error
    state = run.state
    failed = [d for d in state.get("degradations") or [] if d.stage.startswith("retrieve_")]
    route = state.get("route")
    if route is None or not route.channels or not failed or state.get("channel_results"):
        return
    late = any(d.stage == "retrieve_dense" and LATE in d.reason for d in failed)
    raise ApiError(
        Code.VECTOR_TIMEOUT if late else Code.RETRIEVAL_UNAVAILABLE,
        details={"degradations": [d.model_dump(mode="json") for d in shown(failed)]},
    )


def asked_too_soon(error: BaseException, asked_ms: int | None, usual_ms: int) -> ApiError | None:
    """Return what a caller is told whose own deadline, shorter than the service's, was missed: 422, the same code.

    It is no failure of the service, and trying again will not help. None for any other error.
    """
    if asked_ms is None or asked_ms >= usual_ms:
        return None
    known = as_api_error(error)
    missed = known.details.get("degradations", []) if known.details else []
    late = bool(missed) and all(LATE in item["reason"] for item in missed)
    if not late and not isinstance(error.__cause__, DeadlineExceededError):
        return None
    error_found = ApiError(known.code, details={**(known.details or {}), "deadline_ms": asked_ms})
    error_found.status_code = STATUS[Code.INVALID]
    return error_found


def redacted(text: str) -> str:
    """Return a text without paths and addresses of the server."""
    return _INTERNAL.sub("…", text)


def without_internals(value: Any) -> Any:
    """Return plain values in which whatever tells a reason, at any depth, has lost paths and addresses."""
    if isinstance(value, dict):
        return {key: _redacted(item) if key in _FREE_TEXT else without_internals(item) for key, item in value.items()}
    return [without_internals(item) for item in value] if isinstance(value, list | tuple) else value


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    return [_redacted(item) for item in value] if isinstance(value, list | tuple) else without_internals(value)


def shown(degradations: Sequence[Degradation]) -> list[Degradation]:
    """Return degradations as callers see them."""
    return [item.model_copy(update={"reason": redacted(item.reason)}) for item in degradations]


def install(app: FastAPI) -> None:
    """Keep every error inside the envelope."""

    @app.exception_handler(ApiError)
    async def _known(request: Request, error: ApiError) -> Response:
        return error_reply(request, error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        unread = any(item["type"] == "model_attributes_type" and item["loc"] == ("body",) for item in error.errors())
        if unread and "json" not in request.headers.get("content-type", "").lower():
            return error_reply(request, ApiError(Code.NOT_JSON))
        return error_reply(request, validation_error(error))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        codes = {404: Code.NOT_FOUND, 405: Code.METHOD, 413: Code.TOO_LARGE, 415: Code.NOT_JSON, 400: Code.INVALID}
        what = "there is no such address" if error.status_code == 404 else "the body cannot be read"
        known = ApiError(codes.get(error.status_code, Code.INTERNAL), what)
        known.headers |= dict(error.headers or {}) | _allowed(app, request, error.status_code)
        return error_reply(request, known)

    for kind in (TooManyError, InvalidQuestionError, SettingsError, StoreError, ModelError, RetrievalUnavailableError):
        app.exception_handler(kind)(_expected)


def _allowed(app: FastAPI, request: Request, status: int) -> dict[str, str]:
    """Return the header that names every method of the address: routes share addresses, and the framework asks one."""
    if status != 405:
        return {}
    asked = [{**request.scope, "method": method} for method in ("DELETE", "GET", "POST", "PUT")]
    allowed = [scope["method"] for scope in asked if any(r.matches(scope)[0] == Match.FULL for r in app.routes)]
    return {"Allow": ", ".join(allowed)}


async def _expected(request: Request, error: Exception) -> Response:
    return error_reply(request, as_api_error(error))


def validation_error(error: RequestValidationError) -> ApiError:
    """Return what is wrong with a request, field by field, without repeating what was sent."""
    found = [
        {"where": ".".join(str(part) for part in item["loc"]), "what": str(item["msg"]), "type": str(item["type"])}
        for item in error.errors()
    ][:20]
    first = f"{found[0]['where']}: {found[0]['what']}" if found else ""
    too_long = bool(found) and all(
        item["type"] in {"string_too_long", "too_long"} and item["where"].startswith("body.") for item in found
    )
    return ApiError(Code.TOO_LARGE if too_long else Code.INVALID, first, details={"errors": found})


GUARDED = (Code.INVALID, Code.NO_KEY, Code.FORBIDDEN, Code.INTERNAL)
"""What every endpoint that asks for a key may answer."""
WITH_BODY = (*GUARDED, Code.TOO_LARGE, Code.NOT_JSON)
"""The same of those that read a body."""


def documented(*codes: Code) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of error replies."""
    by_status: dict[int | str, list[Code]] = {}
    for code in codes:
        by_status.setdefault(STATUS[code], []).append(code)
    return {
        status: {
            "model": ErrorEnvelope,
            "description": " / ".join(f"{int(c)} {message_of(c, 'en', '…')}" for c in some),
        }
        for status, some in by_status.items()
    }
