"""How the OpenAPI document describes the replies of clients' own forms."""

from __future__ import annotations

from typing import Any

from theworld.service.api.streaming import EVENTS

_ERROR = {
    "type": "object",
    "required": ["message", "type", "param", "code"],
    "properties": {
        "message": {"type": "string"},
        "type": {"type": "string"},
        "param": {"type": ["string", "null"]},
        "code": {"type": ["string", "null"]},
    },
}
_STATUSES = (400, 401, 403, 404, 413, 415, 429, 500, 503, 504)


def described(name: str, *required: str, stream: str = "", array: bool = False) -> dict[str, Any]:
    """Return a reply's description: an object (or an `array` of them) with its fields, and how it streams."""
    schema: dict[str, Any] = {"type": "object", "title": name, "required": list(required)}
    content: dict[str, Any] = {"application/json": {"schema": {"type": "array", "items": schema} if array else schema}}
    if stream:
        content[EVENTS] = {"itemSchema": {"type": "object", "description": f"data: {stream} ... data: [DONE]"}}
    return {"description": name, "content": content}


def failing(schema: dict[str, Any], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of error replies that share a form."""
    content = {"application/json": {"schema": schema}}
    return {status: {"description": "Error", "content": content} for status in statuses}


ERRORS = failing({"type": "object", "required": ["error"], "properties": {"error": _ERROR}}, *_STATUSES)
