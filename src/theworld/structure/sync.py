"""The same without async: for scripts, and a light extraction without a model."""

from __future__ import annotations

from asyncio import _get_running_loop
from typing import Any, TypeVar

from theworld.structure.engine import parse_content
from theworld.structure.json_extractor import extract_structured_data

T = TypeVar("T")


def parse_structured_output(content: Any, model_class: type[T], raw_tool_calls: Any = None) -> T:
    """Return the object that tool calls or content hold, for code without an event loop.

    Raises RuntimeError inside a running event loop (await `StructureEngine.parse` there), StructureParseError
    when nothing fits.
    """
    if _get_running_loop() is not None:
        raise RuntimeError("parse_structured_output cannot run inside an event loop: await StructureEngine.parse(...)")
    return parse_content(content, model_class, raw_tool_calls)


def extract_json_from_text(text: str) -> dict[str, Any]:
    """Return the JSON object in a text as a dict, without a model; the fullest one, then the last.

    Raises StructureParseError when there is none.
    """
    found: dict[str, Any] = extract_structured_data(text, dict[str, Any])
    return found
