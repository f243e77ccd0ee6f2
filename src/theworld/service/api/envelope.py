"""The envelope of every reply, `{code, message, data, trace_id}`, and what its codes say."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

import orjson
import yaml
from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

T = TypeVar("T")
JSON = "application/json"


class Code(IntEnum):
    """What an envelope says in a number."""

    OK = 0
    INVALID = 1001
    NOT_FOUND = 1002
    NO_KEY = 1003
    FORBIDDEN = 1004
    TOO_LARGE = 1005
    TOO_MANY = 1006
    METHOD = 1007
    NOT_JSON = 1008
    RETRIEVAL_UNAVAILABLE = 2001
    VECTOR_TIMEOUT = 2002
    STORE_BUSY = 2003
    MODEL_UNAVAILABLE = 2004
    STORE_UNAVAILABLE = 2005
    INTERNAL = 9000


STATUS = {
    **{Code.OK: 200, Code.INVALID: 422, Code.NOT_FOUND: 404, Code.NO_KEY: 401, Code.FORBIDDEN: 403},
    **{Code.TOO_LARGE: 413, Code.TOO_MANY: 429, Code.METHOD: 405, Code.NOT_JSON: 415},
    **{Code.RETRIEVAL_UNAVAILABLE: 503, Code.VECTOR_TIMEOUT: 504, Code.STORE_BUSY: 503},
    **{Code.MODEL_UNAVAILABLE: 503, Code.STORE_UNAVAILABLE: 503, Code.INTERNAL: 500},
}
"""HTTP status by code."""


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


@cache
def load_messages() -> dict[int, dict[str, str]]:
    """Read what codes say, once."""
    text = (files("theworld.service.api") / "data" / "messages.yaml").read_text("utf-8")
    found: dict[int, dict[str, str]] = yaml.safe_load(text)
    return found


def message_of(code: Code, language: str, what: str = "") -> str:
    """Return a code in words."""
    return load_messages()[int(code)][language].format(what=what)


def language_of(accept: str) -> str:
    """Return `zh` when Accept-Language asks for Chinese first, else `en`."""
    return "zh" if accept.strip().lower().startswith("zh") else "en"


def envelope(
    trace_id: str, data: BaseModel | dict[str, Any] | None, *, code: Code = Code.OK, message: str = "ok"
) -> bytes:
    """Return the bytes of an envelope; a model is written by pydantic, without another pass over it."""
    inner = orjson.Fragment(data.model_dump_json()) if isinstance(data, BaseModel) else data
    return orjson.dumps({"code": int(code), "message": message, "data": inner, "trace_id": trace_id})


def reply(request: Request, data: BaseModel, *, request_id: str | None = None, status: int = 200) -> Response:
    """Return a successful reply."""
    message = message_of(Code.OK, language_of(request.headers.get("accept-language", "")))
    headers = {"X-Request-Id": request_id} if request_id else None
    return Response(envelope(request.state.trace_id, data, message=message), status, headers, JSON)


def bare_reply(body: Any, request_id: str = "") -> Response:
    """Return a successful reply without an envelope, in a client's own form."""
    return Response(orjson.dumps(body), headers={"X-Request-Id": request_id} if request_id else None, media_type=JSON)
