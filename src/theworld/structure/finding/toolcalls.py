"""Tool calls of every provider, as name and arguments.

Understood: OpenAI chat completions and responses, LangChain messages, Anthropic content blocks, Gemini parts and Ollama
messages, each as plain dicts or as the SDK's objects, one call or many, or the whole message or response around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from theworld.structure.finding.textcalls import ToolCall
from theworld.structure.reading.fragments import read_any
from theworld.structure.report import Repair

PAYLOADS = ("arguments", "args", "input", "parameters")
CONTAINERS = (
    "tool_calls",
    "tool_call",
    "invalid_tool_calls",
    "function_calls",
    "output",
    "choices",
    "candidates",
    "message",
    "content",
    "parts",
    "delta",
)
MAX_DEPTH = 8


def get(item: Any, key: str) -> Any:
    """Return a member of a dict or an attribute of an object, None when there is none."""
    if isinstance(item, Mapping):
        return item.get(key)
    if isinstance(item, (str, bytes, int, float, list, tuple)) or item is None:
        return None
    try:
        value = getattr(item, key, None)
    except Exception:  # a property of another library's object may raise anything
        return None
    return None if callable(value) else value


def find_tool_calls(raw: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield (name, raw arguments) of every call in a call, a list of calls, a message or a response."""
    if depth > MAX_DEPTH or raw is None or isinstance(raw, (str, bytes)):
        return
    if isinstance(raw, (list, tuple, Iterator)):
        for item in raw:
            yield from find_tool_calls(item, depth + 1)
        return
    call = _as_call(raw)
    if call is not None:
        yield call
        return
    for key in CONTAINERS:
        inner = get(raw, key)
        if inner is not None and not isinstance(inner, (str, bytes)):
            yield from find_tool_calls(inner, depth + 1)


def _as_call(raw: Any) -> tuple[str, Any] | None:
    """Return name and arguments when `raw` is itself a call."""
    for wrapper in ("function", "function_call", "functionCall", "custom"):
        inner = get(raw, wrapper)
        if inner is not None and not isinstance(inner, (str, bytes)):
            return _name(inner) or _name(raw), _payload(inner)
    if get(raw, "type") in ("text", "message", "thinking", "reasoning", "function_call_output", "tool_result"):
        return None
    payload = _payload(raw)
    known = _name(raw) or get(raw, "type") or (isinstance(raw, Mapping) and "arguments" in raw)
    return (_name(raw), payload) if payload is not None and known else None


def _name(raw: Any) -> str:
    name = get(raw, "name")
    return name if isinstance(name, str) else ""


def _payload(raw: Any) -> Any:
    for key in PAYLOADS:
        value = get(raw, key)
        if value is not None:
            return dict(value) if isinstance(value, Mapping) else value
    return None


def read_tool_call(name: str, payload: Any) -> ToolCall:
    """Return a call with its arguments as plain data; text is mended like any other text.

    Raises ValueError when the arguments hold no object.
    """
    if isinstance(payload, (bytes, bytearray)):
        payload = bytes(payload).decode("utf-8", "replace")
    if not isinstance(payload, str):
        return ToolCall(name, payload)
    if not payload.strip():
        return ToolCall(name, {})
    value, repairs = _read_text(payload)
    return ToolCall(name, value, repairs)


def _read_text(payload: str) -> tuple[Any, tuple[Repair, ...]]:
    """Read arguments given as text: JSON, JSON in a JSON string, or something to be mended."""
    import json

    for _ in range(3):
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            return read_any(payload)
        if not isinstance(value, str):
            return value, ()
        payload = value
    raise ValueError("the arguments are a text inside a text inside a text")


def normalised(name: str) -> str:
    """Return a tool name without case, separators and namespace, for comparison."""
    return "".join(char for char in name.rsplit(".", 1)[-1].casefold() if char.isalnum())
