"""Tool calls first, then text: the entry points of the folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from theworld.structure import schema
from theworld.structure.calls import find_tool_calls, normalised, read_tool_call
from theworld.structure.errors import StructureParseError
from theworld.structure.fitting.coercion import fit
from theworld.structure.fitting.targets import Target, count_filled, is_plain, target_of
from theworld.structure.json_extractor import extract_structured_data, extract_with_report
from theworld.structure.model_repair import ModelRepair, repair_with_model
from theworld.structure.report import ParseReport, Policy
from theworld.structure.search import Attempt

T = TypeVar("T")
MAX_CHARACTERS = 20_000_000


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
    def to_openai_tool(model: Any, *, strict: bool = False) -> dict[str, Any]:
        """Return the model as an entry of OpenAI's `tools`."""
        return schema.to_openai_tool(model, strict=strict)

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
        plain: T = extract_structured_data(content.removeprefix("\ufeff"), model_class)
        return plain
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
    _check_policy(policy, repair)
    target = target_of(model_class)
    attempts: list[Attempt] = []
    if raw_tool_calls:
        report = _from_tool_calls(raw_tool_calls, target, tool_name, policy, attempts)
        if report is not None:
            return report
    text = as_text(content, attempts)
    try:
        found = extract_with_report(text, model_class, policy=policy)
    except StructureParseError as error:
        failure = StructureParseError(error.what, [*attempts, *error.attempts], content)
        if policy == "repair-model" and repair is not None:
            return repair_with_model(text, model_class, target, repair, failure)
        raise failure from None
    return found


def _check_policy(policy: str, repair: ModelRepair | None) -> None:
    if policy not in ("strict", "repair-syntax", "repair-model"):
        raise ValueError(f"unknown policy {policy!r}: use 'strict', 'repair-syntax' or 'repair-model'")
    if policy == "repair-model" and repair is None:
        raise ValueError("policy 'repair-model' needs repair=ModelRepair(ask=...), a way to ask the model")


def as_text(content: Any, attempts: list[Attempt]) -> str:
    """Return content as text: strings as they are, bytes decoded, messages by their text; None is empty."""
    if isinstance(content, str):
        text = content
    elif content is None:
        text = ""
    elif isinstance(content, (bytes, bytearray, memoryview)):
        text = bytes(content).decode("utf-8-sig", "replace")
    else:
        text = message_text(content)
    if len(text) > MAX_CHARACTERS:
        attempts.append(("direct_json", f"longer than {MAX_CHARACTERS} characters"))
        return ""
    return text[1:] if text.startswith("\ufeff") else text


def message_text(content: Any) -> str:
    """Return the text of a message object, of content blocks, or of plain data."""
    if isinstance(content, (dict, list)) and not _is_message(content):
        import json

        try:
            return json.dumps(content, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            return ""
    parts = content if isinstance(content, list) else _blocks(content)
    return "\n".join(part for part in map(_block_text, parts) if part)


def _is_message(content: Any) -> bool:
    if isinstance(content, list):
        return bool(content) and all(
            isinstance(b, dict) and b.get("type") in ("text", "tool_use", "thinking") for b in content
        )
    return "content" in content and "role" in content


def _blocks(content: Any) -> list[Any]:
    inner = content.get("content") if isinstance(content, dict) else getattr(content, "content", None)
    return inner if isinstance(inner, list) else [inner]


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, dict) else getattr(block, "text", None)
    return text if isinstance(text, str) else ""


def _from_tool_calls(
    raw: Any, target: Target, tool_name: str | None, policy: Policy, attempts: list[Attempt]
) -> ParseReport[Any] | None:
    """Return the report on the call that fills the model best, or None with every failure in `attempts`."""
    reports: list[ParseReport[Any]] = []
    for index, (name, payload) in enumerate(find_tool_calls(raw)):
        label = f"tool_call_{index}"
        if tool_name is not None and normalised(name) != normalised(tool_name):
            attempts.append((label, f"the call is for {name!r}, wanted is {tool_name!r}"))
            continue
        try:
            reports.append(_one_call(label, name, payload, target, policy))
        except (ValueError, RecursionError) as error:
            attempts.append((label, error))
    if not reports and not attempts:
        attempts.append(("tool_call", "no tool call of a known dialect"))
    if not reports:
        return None
    named = [report for report in reports if normalised(report.notes[0]) == normalised(target.name)]
    return max(named or reports, key=lambda report: count_filled(report.value))


def _one_call(label: str, name: str, payload: Any, target: Target, policy: Policy) -> ParseReport[Any]:
    call = read_tool_call(name, payload)
    if policy == "strict" and call.repairs:
        raise ValueError("the arguments are not valid JSON as they stand")
    source = payload if isinstance(payload, str) else str(payload)
    value, fitted, _ = fit(call.arguments, target, source, allowed=policy != "strict")
    truncated = any(repair.kind == "truncated" for repair in call.repairs)
    return ParseReport(value, label, policy, (*call.repairs, *fitted), truncated, notes=(name,))
