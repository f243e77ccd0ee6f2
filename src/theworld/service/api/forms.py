"""Errors in the form a client expects, by the address it called: OpenAI's, TEI's, Dify's, else the envelope.

| address | form | status |
|---|---|---|
| `/v1/...` | `{"error": {"message", "type", "param", "code"}}` | OpenAI's |
| `/rerank` | `{"error", "error_type"}` | that of the envelope |
| `/dify/...` | `{"error_code", "error_msg"}` | 403 for a key that is wrong |
| `/mcp` | a JSON-RPC error without id | that of the envelope |

An error may name the parameter that is wrong, and a code of the client's own, in its details: `param`, `code`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from theworld.service.api.envelope import STATUS, Code

Form = Callable[[Code, int, str, Mapping[str, Any]], tuple[int, dict[str, Any]]]
"""(code, HTTP status, message, details) to HTTP status and body."""

_BAD_REQUEST = 400
_FORBIDDEN = 403
_SERVER_ERROR = 500
_TYPES = {
    Code.NO_KEY: "authentication_error",
    Code.FORBIDDEN: "permission_error",
    Code.TOO_MANY: "rate_limit_error",
}
_CODES = {
    Code.NO_KEY: "invalid_api_key",
    Code.TOO_MANY: "rate_limit_exceeded",
    Code.TOO_LARGE: "request_too_large",
    Code.NOT_FOUND: "not_found",
    Code.METHOD: "method_not_allowed",
}


def openai_error(code: Code, status: int, message: str, details: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return an error as OpenAI's API tells it; what is not valid is 400 there."""
    kind = "server_error" if status >= _SERVER_ERROR else _TYPES.get(code, "invalid_request_error")
    error = {
        "message": message,
        "type": kind,
        "param": details.get("param") or _parameter(details),
        "code": details.get("code") or _CODES.get(code),
    }
    return _BAD_REQUEST if status == STATUS[Code.INVALID] else status, {"error": error}


def _parameter(details: Mapping[str, Any]) -> str | None:
    where = next((error["where"] for error in details.get("errors", [])), "")
    return where.removeprefix("body.") if where.startswith("body.") else None


def tei_error(code: Code, status: int, message: str, _details: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return an error as Text Embeddings Inference tells it."""
    kinds = {Code.INVALID: "Validation", Code.TOO_LARGE: "Validation", Code.TOO_MANY: "Overloaded"}
    return status, {"error": message, "error_type": kinds.get(code, "Backend")}


DIFY_NO_HEADER, DIFY_WRONG_KEY, DIFY_UNKNOWN = 1001, 1002, 2001
"""Dify's numbers: no readable Authorization header, a key that is refused, no such knowledge."""


def dify_error(code: Code, status: int, message: str, details: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return an error as Dify's external knowledge API tells it; what it has no number for gets the HTTP status."""
    refused = code in {Code.NO_KEY, Code.FORBIDDEN}
    status = _FORBIDDEN if refused else status  # the status by which Dify tells a wrong key when it is entered
    number = details.get("code") or (DIFY_WRONG_KEY if refused else status)
    return status, {"error_code": number, "error_msg": message}


def json_rpc_error(_code: Code, status: int, message: str, _details: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return an error that came before any JSON-RPC message was read."""
    error = {"code": -32_603 if status >= _SERVER_ERROR else -32_600, "message": message}
    return status, {"jsonrpc": "2.0", "id": None, "error": error}


_FORMS: dict[str, Form] = {"v1": openai_error, "rerank": tei_error, "dify": dify_error, "mcp": json_rpc_error}


def form_of(path: str) -> Form | None:
    """Return the form of errors below an address, None for the envelope."""
    return _FORMS.get(path.lstrip("/").partition("/")[0])
