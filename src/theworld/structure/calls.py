"""Tool calls as name and arguments: of every provider, and those a model wrote into its text instead of calling.

Understood: OpenAI chat completions and responses, LangChain messages, Anthropic content blocks, Gemini parts and Ollama
messages, each as plain dicts or as the SDK's objects, one call or many, or the whole message or response around them;
in texts calls as tags with parameters, and Python calls with keyword arguments. These, and the whole answer as one
scalar, are the last resorts for texts without a usable fragment.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from types import NoneType
from typing import Any

from theworld.structure.reading.foreign import without_comments
from theworld.structure.reading.fragments import answer_start, find_fences, read_any
from theworld.structure.reading.repairing import literal, repair_json
from theworld.structure.report import Repair
from theworld.structure.targets import Target

PAYLOADS = ("arguments", "args", "input", "parameters")
WRAPPERS = ("function", "function_call", "functionCall", "custom")
CONTAINERS = (
    *("tool_calls", "tool_call", "invalid_tool_calls", "function_calls"),
    *("output", "choices", "candidates", "message", "content", "parts", "delta"),
)
NO_CALLS = ("text", "message", "thinking", "reasoning", "function_call_output", "tool_result")
MAX_DEPTH = 8
FUNCTION = re.compile(r"<(?:function|invoke)(?:=|\s+name=)[\"']?([\w.-]{1,64})[\"']?\s*>")
PARAMETER = re.compile(
    r"<parameter(?:=|\s+name=)[\"']?([\w.-]{1,64})[\"']?[^>\n]{0,80}>(.*?)(?=</parameter>|<parameter|</function>|</invoke>|\Z)",
    re.DOTALL,
)
PYTHONIC = re.compile(r"(?:^|[\s\[(,`])([A-Za-z_][\w.]{0,63})\(\s*+(?=[A-Za-z_]\w{0,63}\s*+=[^=])")
KEYWORD = re.compile(r"\s*+([A-Za-z_]\w{0,63})\s*+=\s*+")
QUOTED = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'")
COMMA = re.compile(r"\s*+,")
BARE = re.compile(r"[^,()\n]++")

Arguments = tuple[Any, tuple[Repair, ...]]
"""The arguments of a call as plain data, and what it took to read them."""


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
        yield from find_tool_calls(member(raw, key), depth + 1)


def _as_call(raw: Any) -> tuple[str, Any] | None:
    """Return name and arguments when `raw` is itself a call."""
    inner = next((part for key in WRAPPERS if not isinstance(part := member(raw, key), (str, bytes, NoneType))), None)
    if inner is None and member(raw, "type") in NO_CALLS:
        return None
    names = (member(one, "name") for one in (inner, raw))
    name = next((name for name in names if name and isinstance(name, str)), "")
    call = raw if inner is None else inner
    payload = next((value for key in PAYLOADS if (value := member(call, key)) is not None), None)
    payload = dict(payload) if isinstance(payload, Mapping) else payload
    known = name or member(raw, "type") or (isinstance(raw, Mapping) and "arguments" in raw)
    return (name, payload) if inner is not None or (payload is not None and known) else None


def member(item: Any, key: str) -> Any:
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


def read_arguments(payload: Any) -> Arguments:
    """Return a call's arguments as plain data: as they are, or read from JSON, JSON in a JSON string, or broken JSON.

    Raises ValueError when a text holds no object.
    """
    if isinstance(payload, (bytes, bytearray)):
        payload = bytes(payload).decode("utf-8", "replace")
    if isinstance(payload, str) and not payload.strip():
        return {}, ()
    while isinstance(payload, str):
        try:
            payload = json.loads(payload)
        except (ValueError, RecursionError):
            return read_any(payload)
    return payload, ()


def read_text_calls(text: str) -> Iterator[Arguments]:
    """Yield the arguments of calls written as tags with parameters, or as Python calls with keyword arguments.

    Calls whose arguments are JSON (`<tool_call>{...}</tool_call>`, `<function=f>{...}`) are found as fragments.
    """
    starts = list(FUNCTION.finditer(text))
    for match, following in zip_longest(starts, starts[1:]):
        pairs = PARAMETER.findall(text, match.end(), following.start() if following else len(text))
        arguments: dict[str, Any] = {}
        for name, written in pairs:
            value = written.strip()
            arguments[name] = literal(value) if value in ("true", "false", "null") else value
            if value[:1] in ("{", "["):
                with suppress(ValueError):
                    arguments[name] = read_any(value)[0]
        if arguments:
            yield arguments, ()
    position = 0
    while call := PYTHONIC.search(text, position):
        arguments, position = {}, call.end()
        while match := KEYWORD.match(text, position):
            arguments[match[1]], position = _read_argument(text, match.end())
            comma = COMMA.match(text, position)
            if comma is None:
                break
            position = comma.end()
        if arguments:
            yield arguments, (Repair("call", "a call written in Python", (), call[1]),)


def _read_argument(text: str, position: int) -> tuple[Any, int]:
    """Read one argument of a call: an object, an array, a string or a bare token."""
    if text[position : position + 1] in ("{", "["):
        try:
            reading = repair_json(text, position)
        except ValueError:
            return None, position
        return reading.value, reading.end
    quoted = QUOTED.match(text, position)
    if quoted:
        try:
            return ast.literal_eval(quoted[0]), quoted.end()
        except (ValueError, SyntaxError):
            return quoted[0][1:-1], quoted.end()
    bare = BARE.match(text, position)
    return (literal(bare[0].strip()), bare.end()) if bare else (None, position)


def last_resorts(text: str, target: Target) -> Iterator[tuple[str, Any, tuple[Repair, ...]]]:
    """Yield the name of a strategy, plain data to fit to the target, and what it took; cheapest first."""
    answer = text[answer_start(text) :]
    for index, (arguments, repairs) in enumerate(read_text_calls(answer)):
        yield f"tool_text_{index}", arguments, repairs
    if target.kind == "other":
        texts = [answer, *(answer[fence.start : fence.end] for fence in find_fences(answer))]
        for index, written in enumerate(texts):
            scalar = without_comments(written).strip().strip("\"'`*").strip()
            yield f"scalar_{index}", literal(scalar), ()
