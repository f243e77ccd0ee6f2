"""Tool calls first, then text: the entry points of the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from theworld.structure import schema
from theworld.structure.calls import find_tool_calls, member, normalised, read_arguments
from theworld.structure.errors import Attempt, StructureParseError
from theworld.structure.fitting.coercion import fit
from theworld.structure.fitting.targets import Target, count_filled, is_plain, target_of
from theworld.structure.json_extractor import extract_structured_data, extract_with_report
from theworld.structure.model_repair import ModelRepair, repair_with_model
from theworld.structure.report import ParseReport, Policy

T = TypeVar("T")
MAX_CHARACTERS = 20_000_000
BLOCKS = ("text", "tool_use", "thinking")


class StructureEngine:
    """Parses what a model said into validated objects."""

    @classmethod
    async def parse(
        cls,
        content: Any,
        model_class: type[T],
        raw_tool_calls: Any = None,
        *,
        tool_name: str | None = None,
        policy: Policy = "repair-syntax",
        repair: ModelRepair | None = None,
    ) -> T:
        """Return the object that tool calls or content hold; tool calls are tried first.

        `tool_name`, when given, must be the name of the call used. Raises StructureParseError with every attempt.
        """
        return parse_content(content, model_class, raw_tool_calls, tool_name=tool_name, policy=policy, repair=repair)

    @staticmethod
    def to_openai_tool(model: Any) -> dict[str, Any]:
        """Return the model as an entry of OpenAI's `tools`."""
        return schema.to_openai_tool(model)

    @staticmethod
    def get_schema_diff(data: Mapping[str, Any], model_class: Any) -> dict[str, Any]:
        """Return missing required fields, extra fields and type mismatches of data against a model."""
        return schema.get_schema_diff(data, model_class)


def parse_content(
    content: Any,
    model_class: type[T],
    raw_tool_calls: Any = None,
    *,
    tool_name: str | None = None,
    policy: Policy = "repair-syntax",
    repair: ModelRepair | None = None,
) -> T:
    """Return the validated object; valid JSON takes a path that costs little more than validation itself."""
    if not raw_tool_calls and is_plain(model_class):
        try:
            value: T = model_class.__pydantic_validator__.validate_json(content)  # type: ignore[attr-defined]
            return value
        except (ValidationError, TypeError):
            pass
    if isinstance(content, str) and not raw_tool_calls and policy == "repair-syntax" and len(content) < MAX_CHARACTERS:
        return extract_structured_data(content.removeprefix("\ufeff"), model_class)
    return parse_with_report(
        content, model_class, raw_tool_calls, tool_name=tool_name, policy=policy, repair=repair
    ).value


def parse_with_report(
    content: Any,
    model_class: type[T],
    raw_tool_calls: Any = None,
    *,
    tool_name: str | None = None,
    policy: Policy = "repair-syntax",
    repair: ModelRepair | None = None,
) -> ParseReport[T]:
    """Parse like `StructureEngine.parse` and report strategy, repairs, truncation, alternatives and attempts.

    `policy`: `strict` takes only what is valid as it stands; `repair-syntax` (default) repairs and keeps the meaning;
    `repair-model` may also ask a model, which needs `repair`. Raises StructureParseError.
    """
    if policy not in get_args(Policy):
        raise ValueError(f"unknown policy {policy!r}: use 'strict', 'repair-syntax' or 'repair-model'")
    if policy == "repair-model" and repair is None:
        raise ValueError("policy 'repair-model' needs repair=ModelRepair(ask=...), a way to ask the model")
    target = target_of(model_class)
    attempts: list[Attempt] = []
    if raw_tool_calls:
        report = _from_tool_calls(raw_tool_calls, target, tool_name, policy, attempts)
        if report is not None:
            return report
    text = as_text(content)
    if len(text) > MAX_CHARACTERS:
        attempts.append(("direct_json", f"longer than {MAX_CHARACTERS} characters"))
        text = ""
    try:
        return extract_with_report(text, model_class, policy)
    except StructureParseError as error:
        failure = StructureParseError(error.what, [*attempts, *error.tried], content, error.remedy)
    if policy == "repair-model" and repair is not None:
        return repair_with_model(text, model_class, target, repair, failure)
    raise failure


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


def _from_tool_calls(
    raw: Any, target: Target, tool_name: str | None, policy: Policy, attempts: list[Attempt]
) -> ParseReport[Any] | None:
    """Return the report on the call that fills the model best, or None with every failure in `attempts`."""
    found: list[tuple[str, ParseReport[Any]]] = []
    for index, (name, payload) in enumerate(find_tool_calls(raw)):
        label = f"tool_call_{index}"
        if tool_name is not None and normalised(name) != normalised(tool_name):
            attempts.append((label, f"the call is for {name!r}, wanted is {tool_name!r}"))
            continue
        try:
            arguments, read = read_arguments(payload)
            if policy == "strict" and read:
                raise ValueError("the arguments are not valid JSON as they stand")
            value, fitted = fit(arguments, target, str(payload), allowed=policy != "strict")
        except (ValueError, RecursionError) as error:
            attempts.append((label, error))
            continue
        truncated = any(repair.kind == "truncated" for repair in read)
        found.append((name, ParseReport(value, label, read + fitted, truncated)))
    if not found and not attempts:
        attempts.append(("tool_call", "no tool call of a known dialect"))
    named = [pair for pair in found if normalised(pair[0]) == normalised(target.name)]
    reports = [report for _, report in named or found]
    return max(reports, key=lambda report: count_filled(report.value), default=None)
