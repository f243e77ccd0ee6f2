"""Tool calls first, then text: the entry points of the package."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from theworld.structure import schema
from theworld.structure.calls import find_tool_calls, member, read_arguments
from theworld.structure.coercion import fit
from theworld.structure.errors import Attempt, StructureParseError
from theworld.structure.json_extractor import extract_structured_data, search_text
from theworld.structure.remedies import fold
from theworld.structure.report import ParseReport
from theworld.structure.targets import count_filled, target_of

T = TypeVar("T")
MAX_CHARACTERS = 20_000_000
BLOCKS = ("text", "tool_use", "thinking")


class StructureEngine:
    """Parses what a model said into validated objects."""

    @classmethod
    async def parse(cls, content: Any, model_class: type[T], raw_tool_calls: Any = None) -> T:
        """Return the object that tool calls or content hold; tool calls are tried first.

        Raises StructureParseError with every attempt.
        """
        return parse_content(content, model_class, raw_tool_calls)

    to_openai_tool = staticmethod(schema.to_openai_tool)
    get_schema_diff = staticmethod(schema.get_schema_diff)


def parse_content(content: Any, model_class: type[T], raw_tool_calls: Any = None) -> T:
    """Return the validated object, without the report where only a text is to be read."""
    if isinstance(content, str) and not raw_tool_calls and len(content) < MAX_CHARACTERS:
        return extract_structured_data(content.removeprefix("\ufeff"), model_class)
    return parse_with_report(content, model_class, raw_tool_calls).value


def parse_with_report(content: Any, model_class: type[T], raw_tool_calls: Any = None) -> ParseReport[T]:
    """Parse like `StructureEngine.parse` and report strategy, repairs, truncation, alternatives and attempts.

    Raises StructureParseError.
    """
    target = target_of(model_class)
    attempts: list[Attempt] = []
    called: list[tuple[str, ParseReport[Any]]] = []
    for index, (name, payload) in enumerate(find_tool_calls(raw_tool_calls) if raw_tool_calls else ()):
        label = f"tool_call_{index}"
        try:
            arguments, read = read_arguments(payload)
            value, fitted = fit(arguments, target, str(payload))
        except (ValueError, RecursionError) as error:
            attempts.append((label, error))
            continue
        truncated = any(repair.kind == "truncated" for repair in read)
        called.append((name, ParseReport(value, label, read + fitted, truncated)))
    if called:
        # The call that fills the model best, of those of its name, whatever their namespaces and separators.
        wanted = fold(target.name.rsplit(".", 1)[-1])
        named = [pair for pair in called if fold(pair[0].rsplit(".", 1)[-1]) == wanted]
        return max((report for _, report in named or called), key=lambda report: count_filled(report.value))
    if raw_tool_calls and not attempts:
        attempts.append(("tool_call", "no tool call of a known dialect"))
    text = as_text(content)
    if len(text) > MAX_CHARACTERS:
        attempts.append(("direct_json", f"longer than {MAX_CHARACTERS} characters"))
        text = ""
    try:
        search, found = search_text(text, target)
    except StructureParseError as error:
        raise StructureParseError(error.what, [*attempts, *error.tried], content, error.remedy) from None
    return search.report(found)


def as_text(content: Any) -> str:
    """Return strings as they are, bytes decoded, messages and their blocks by their text, other data as JSON."""
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content).decode("utf-8-sig", "replace")
    if isinstance(content, list):
        is_plain_data = not content or any(member(block, "type") not in BLOCKS for block in content)
    else:
        is_plain_data = isinstance(content, dict) and not {"role", "content"} <= content.keys()
    if is_plain_data:
        try:
            return json.dumps(content, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            return ""
    blocks = content if isinstance(content, list) else member(content, "content")
    texts = [
        block if isinstance(block, str) else member(block, "text")
        for block in (blocks if isinstance(blocks, list) else [blocks])
    ]
    return "\n".join(text for text in texts if text and isinstance(text, str))
