"""The envelope of every reply, `{code, message, data, trace_id}`; and from whatever goes wrong to a reply that says so
without internals, in the form the caller expects.

| address | form | status |
|---|---|---|
| `/v1/...` | OpenAI's: `{"error": {"message", "type", "param", "code"}}` | OpenAI's |
| `/rerank` | that of Text Embeddings Inference: `{"error", "error_type"}` | that of the envelope |
| `/dify/...` | Dify's: `{"error_code", "error_msg"}` | 403 for a key that is wrong |
| `/mcp` | a JSON-RPC error without id | that of the envelope |
| any other | the envelope | that of the envelope |

An error may name the parameter that is wrong, and a code of the client's own, in its details: `param`, `code`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from enum import IntEnum
from functools import partial
from typing import Any, Generic, Self, TypeVar

import orjson
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
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
    TheWorldError,
)
from theworld.packages import load_table, reason_in
from theworld.retrieval.channel import LATE
from theworld.service.requests.limiter import TooManyError
from theworld.service.requests.running import Run
from theworld.state import Degradation
from theworld.text import Language

T = TypeVar("T")
log = logging.getLogger(__name__)
JSON = "application/json"


class Code(IntEnum):
    """What an envelope says in a number, and the HTTP status it comes with."""

    OK = 0, 200
    INVALID = 1001, 422
    NOT_FOUND = 1002, 404
    NO_KEY = 1003, 401
    FORBIDDEN = 1004, 403
    TOO_LARGE = 1005, 413
    TOO_MANY = 1006, 429
    METHOD = 1007, 405
    NOT_JSON = 1008, 415
    RETRIEVAL_UNAVAILABLE = 2001, 503
    VECTOR_TIMEOUT = 2002, 504
    STORE_BUSY = 2003, 503
    MODEL_UNAVAILABLE = 2004, 503
    STORE_UNAVAILABLE = 2005, 503
    INTERNAL = 9000, 500

    status: int

    def __new__(cls, number: int, status: int) -> Self:
        """Make a code equal to its number."""
        code = int.__new__(cls, number)
        code._value_, code.status = number, status
        return code


class Envelope(BaseModel, Generic[T]):
    """The form of every reply."""

    code: int = Field(default=0, description="0 for success, else what went wrong")
    message: str = Field(default="ok", description="The same in words, in the language of Accept-Language (en, zh)")
    data: T = Field(description="What was asked for")
    trace_id: str = Field(description="The caller's X-Trace-Id, or one made for it")


class ErrorEnvelope(BaseModel):
    """The form of every reply that is an error."""

    code: int = Field(description="What went wrong")
    message: str = Field(description="The same in words")
    data: dict[str, Any] | None = Field(default=None, description="Details that help the caller, where there are any")
    trace_id: str = Field(description="Names this request in the server's log")


load_messages = partial(load_table, "theworld.service.api", "data/messages.yaml")
"""What codes say, by language; read when first called."""


def message_of(code: Code, language: str, what: str = "") -> str:
    """Return a code in words."""
    return str(load_messages()[int(code)][language]).format(what=reason_in(language, what)).strip()


def language_of(request: Request) -> Language:
    """Return `zh` when Accept-Language asks for Chinese first, else `en`."""
    return "zh" if request.headers.get("accept-language", "").strip().lower().startswith("zh") else "en"


def envelope(
    trace_id: str, data: BaseModel | dict[str, Any] | None, *, code: Code = Code.OK, message: str = "ok"
) -> bytes:
    """Return the bytes of an envelope; a model is written by pydantic, without another pass over it."""
    inner = orjson.Fragment(data.model_dump_json()) if isinstance(data, BaseModel) else data
    return orjson.dumps({"code": int(code), "message": message, "data": inner, "trace_id": trace_id})


def bare_reply(body: Any, request_id: str = "") -> Response:
    """Return a successful reply without an envelope, in a client's own form."""
    return Response(orjson.dumps(body), headers={"X-Request-Id": request_id} if request_id else None, media_type=JSON)


_INTERNAL = re.compile(r"\w+://\S+|(?<![\w.])(?:/[^\s/:;,'\")]+){2,}|[A-Za-z]:\\\S+")
_TRIED = re.compile(r"(constrained-)?(str|int|float|bool)$|[a-z]+\[")  # types, in where something is wrong
_FREE_TEXT = frozenset({"reason", "reasons", "note", "notes", "error"})
"""Names under which records tell, in words, what happened."""
_KINDS = {
    TooManyError: Code.TOO_MANY, StoreLockedError: Code.STORE_BUSY, StoreError: Code.STORE_UNAVAILABLE,
    ModelError: Code.MODEL_UNAVAILABLE,
}  # fmt: skip
"""What is told of an error, the narrower kind first."""
_EXPECTED = (*_KINDS, InvalidQuestionError, SettingsError, RetrievalUnavailableError)


class ApiError(HTTPException):
    """An error with its code; what it says is safe to be shown."""

    def __init__(self, code: Code, what: str = "", *, details: dict[str, Any] | None = None) -> None:
        super().__init__(code.status)
        self.code, self.what, self.details = code, what, details
        self.headers: dict[str, str] = {}
        if code in {Code.TOO_MANY, Code.STORE_BUSY}:
            self.headers["Retry-After"] = "1"
        if code is Code.NO_KEY:
            self.headers["WWW-Authenticate"] = "Bearer"


def must_exist(value: T | None, what: str) -> T:
    """Return a value that was looked for; ApiError that says what there would have been when there is none.

    What is another tenant's is told like what nobody has, so `what` must not depend on the id.
    """
    if value is None:
        raise ApiError(Code.NOT_FOUND, what)
    return value


_OPENAI_TYPES = {
    Code.NO_KEY: "authentication_error", Code.FORBIDDEN: "permission_error", Code.TOO_MANY: "rate_limit_error",
}  # fmt: skip
_OPENAI_CODES = {
    Code.NO_KEY: "invalid_api_key", Code.TOO_MANY: "rate_limit_exceeded", Code.TOO_LARGE: "request_too_large",
    Code.NOT_FOUND: "not_found", Code.METHOD: "method_not_allowed",
}  # fmt: skip
DIFY_NO_HEADER, DIFY_WRONG_KEY, DIFY_UNKNOWN = 1001, 1002, 2001
"""Dify's numbers: no readable Authorization header, a key that is refused, no such knowledge."""


def error_body(error: ApiError, trace_id: str, language: str, path: str = "") -> tuple[int, bytes]:
    """Return HTTP status and body of an error, in the form of the address that was called."""
    code, status, message = error.code, error.status_code, message_of(error.code, language, error.what)
    details = error.details or {}
    match path.lstrip("/").partition("/")[0]:
        case "v1":
            kind = "server_error" if status >= 500 else _OPENAI_TYPES.get(code, "invalid_request_error")
            wrong = str(next((one["where"] for one in details.get("errors", [])), ""))
            param = details.get("param") or (wrong.removeprefix("body.") if wrong.startswith("body.") else None)
            named = {"param": param, "code": details.get("code") or _OPENAI_CODES.get(code)}
            told: dict[str, Any] = {"error": {"message": message, "type": kind, **named}}
            status = 400 if status == Code.INVALID.status else status
        case "rerank":
            wrong = "Overloaded" if code is Code.TOO_MANY else "Validation"
            told = {"error": message, "error_type": "Backend" if status >= 500 else wrong}
        case "dify":
            refused = code in {Code.NO_KEY, Code.FORBIDDEN}
            status = 403 if refused else status  # by which Dify tells a wrong key when it is entered
            number = details.get("code") or (DIFY_WRONG_KEY if refused else status)
            told = {"error_code": number, "error_msg": message}
        case "mcp":
            failed = {"code": -32_603 if status >= 500 else -32_600, "message": message}
            told = {"jsonrpc": "2.0", "id": None, "error": failed}
        case _:
            return status, envelope(trace_id, error.details or None, code=code, message=message)
    return status, orjson.dumps(told)


async def error_reply(request: Request, error: BaseException) -> Response:
    """Return the reply that tells of an error; why the service could not answer stands in the log."""
    known = as_api_error(error)
    if isinstance(error, TheWorldError) and known.status_code >= 500:
        log.warning("request %s: %s", request.state.trace_id, error)
    status, body = error_body(known, request.state.trace_id, language_of(request), request.url.path)
    return Response(body, status, known.headers, JSON)


def as_api_error(error: BaseException) -> ApiError:
    """Return what the caller is told of an error; what is not expected is internal."""
    if isinstance(error, ApiError):
        return error
    if not isinstance(error, Exception):  # cancelled: the server stops, and waits no longer
        return ApiError(Code.STORE_UNAVAILABLE, "The service is stopping.")
    if any(sign in str(error) for sign in ("disk is full", "No space left")):
        return ApiError(Code.STORE_UNAVAILABLE, "The disk is full.")
    if isinstance(error, InvalidQuestionError | SettingsError):
        return ApiError(Code.INVALID, redacted(str(error)))
    if isinstance(error, RetrievalUnavailableError):
        late = isinstance(error.__cause__, DeadlineExceededError) and error.where == "retrieve_dense"
        return ApiError(Code.VECTOR_TIMEOUT if late else Code.RETRIEVAL_UNAVAILABLE)
    return ApiError(next((code for kind, code in _KINDS.items() if isinstance(error, kind)), Code.INTERNAL))


def fault_of(run: Run, usual_ms: int) -> BaseException | None:
    """Return what the caller has to be told of a run: its error, or that no channel that was asked answered.

    A deadline of the caller's own, shorter than the service's `usual_ms`, that was missed is 422 with the same code: it
    is no failure of the service, and trying again will not help.
    """
    error, asked_ms = run.error or _unanswered(run), run.context.deadline_ms
    if error is None or asked_ms is None or asked_ms >= usual_ms:
        return error
    known = as_api_error(error)
    details = known.details or {}
    missed = details.get("degradations", [])
    late = bool(missed) and all(LATE in item["reason"] for item in missed)
    if not late and not isinstance(error.__cause__, DeadlineExceededError):
        return error
    what = f"The request's own deadline_ms of {asked_ms} was too short."
    told = ApiError(known.code, what, details={**details, "deadline_ms": asked_ms})
    told.status_code = Code.INVALID.status
    return told


def _unanswered(run: Run) -> ApiError | None:
    state = run.state
    failed = [d for d in state.get("degradations") or [] if d.stage.startswith("retrieve_")]
    route = state.get("route")
    if route is None or not route.channels or not failed or state.get("channel_results"):
        return None
    late = any(d.stage == "retrieve_dense" and LATE in d.reason for d in failed)
    details = {"degradations": [d.model_dump(mode="json") for d in shown(failed)]}
    return ApiError(Code.VECTOR_TIMEOUT if late else Code.RETRIEVAL_UNAVAILABLE, details=details)


def redacted(text: str) -> str:
    """Return a text without paths and addresses of the server."""
    return _INTERNAL.sub("…", text)


def without_internals(value: Any, *, free_text: bool = False) -> Any:
    """Return plain values in which whatever tells a reason, at any depth, has lost paths and addresses."""
    if isinstance(value, dict):
        return {key: without_internals(item, free_text=key in _FREE_TEXT) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_internals(item, free_text=free_text) for item in value]
    return redacted(value) if free_text and isinstance(value, str) else value


def shown(degradations: Sequence[Degradation]) -> list[Degradation]:
    """Return degradations as callers see them."""
    return [item.model_copy(update={"reason": redacted(item.reason)}) for item in degradations]


def install(app: FastAPI) -> None:
    """Keep every error inside the form that its address has."""

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        unread = any(item["type"] == "model_attributes_type" and item["loc"] == ("body",) for item in error.errors())
        if unread and "json" not in request.headers.get("content-type", "").lower():
            return await error_reply(request, ApiError(Code.NOT_JSON))
        found = [  # field by field, without repeating what was sent
            {
                "where": ".".join(str(part) for part in item["loc"] if not _TRIED.match(str(part))),
                "what": str(item["msg"]).removeprefix("Value error, "),
                "type": str(item["type"]),
            }
            for item in error.errors()
        ][:20]
        first = f"{found[0]['where']}: {found[0]['what']}" if found else ""
        long = [one["type"] in {"string_too_long", "too_long"} and one["where"].startswith("body.") for one in found]
        code = Code.TOO_LARGE if found and all(long) else Code.INVALID
        return await error_reply(request, ApiError(code, first, details={"errors": found}))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        codes = {404: Code.NOT_FOUND, 405: Code.METHOD, 413: Code.TOO_LARGE, 415: Code.NOT_JSON, 400: Code.INVALID}
        what = "there is no such address" if error.status_code == 404 else "the body cannot be read"
        known = ApiError(codes.get(error.status_code, Code.INTERNAL), what)
        known.headers |= dict(error.headers or {})
        if error.status_code == 405:  # routes share addresses, and the framework asks one
            asked = [{**request.scope, "method": method} for method in ("DELETE", "GET", "HEAD", "POST", "PUT")]
            allowed = [s["method"] for s in asked if any(r.matches(s)[0] == Match.FULL for r in app.routes)]
            known.headers["Allow"] = ", ".join(allowed)
        return await error_reply(request, known)

    for kind in (ApiError, *_EXPECTED):
        app.exception_handler(kind)(error_reply)


GUARDED = (Code.INVALID, Code.NO_KEY, Code.FORBIDDEN, Code.INTERNAL)
"""What every endpoint that asks for a key may answer."""
WITH_BODY = (*GUARDED, Code.TOO_LARGE, Code.NOT_JSON)
"""The same of those that read a body."""


def router_of(tag: str, *codes: Code, prefix: str = "/api/v1") -> APIRouter:
    """Return a router of endpoints that stand under a tag, and may all answer with these errors."""
    return APIRouter(prefix=prefix, tags=[tag], responses=documented(*codes))


def documented(*codes: Code) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of error replies."""
    by_status: dict[int | str, list[str]] = {}
    for code in codes:
        by_status.setdefault(code.status, []).append(f"{int(code)} {message_of(code, 'en', '…')}")
    return {status: {"model": ErrorEnvelope, "description": " / ".join(some)} for status, some in by_status.items()}
