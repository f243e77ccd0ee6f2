"""A model as an OpenAI tool, and how data differ from a model: both by the model's JSON Schema."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from theworld.structure.targets import target_of

PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


def to_openai_tool(model: Any) -> dict[str, Any]:
    """Return the model as an entry of OpenAI's `tools`; what is no object is wrapped in one, under `value`."""
    name = tool_name(model)
    own = getattr(model, "__dict__", {}).get("__doc__")
    # The docstring that Python writes for a dataclass is its signature.
    description = inspect.cleandoc(own) if own and not own.startswith(f"{name}(") else f"Return a {name}."
    parameters = json_schema(model)
    if parameters.get("type") != "object" or "anyOf" in parameters:
        definitions = parameters.pop("$defs", None)
        parameters = {"type": "object", "properties": {"value": parameters}, "required": ["value"]}
        parameters |= {"$defs": definitions} if definitions else {}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def get_schema_diff(data: Mapping[str, Any], model_class: Any) -> dict[str, Any]:
    """Return how data differs from the model, first level only.

    `{"missing_required": [names], "extra_fields": [names], "type_mismatches": [{"field", "expected", "actual"}]}`;
    `expected` in words of JSON Schema, `actual` the Python type. Raises TypeError for data that is no mapping.
    """
    if not isinstance(data, Mapping):
        raise TypeError(
            f"the data to compare with {tool_name(model_class)} must be a mapping of field names to values, "
            f"not {type(data).__name__}: read text with parse_structured_output first"
        )
    schema = json_schema(model_class)
    properties: dict[str, Any] = schema.get("properties", {})
    mismatches = []
    for name, value in data.items():
        part = resolve(properties[name], schema) if name in properties else {}
        options = [resolve(option, schema) for option in part.get("anyOf") or part.get("oneOf") or [part]]
        if part and not any(_accepts(value, option) for option in options):
            expected = "|".join(dict.fromkeys(kind for option in options for kind in _types(option)))
            mismatches.append({"field": name, "expected": expected, "actual": type(value).__name__})
    return {
        "missing_required": [name for name in schema.get("required", []) if name not in data],
        "extra_fields": [name for name in data if name not in properties],
        "type_mismatches": mismatches,
    }


def json_schema(model: Any) -> dict[str, Any]:
    """Return the JSON Schema of a model, dataclass, TypedDict or annotation, for validation of input."""
    whole = target_of(model).adapter.json_schema(mode="validation")
    return resolve(whole, whole)


def tool_name(model: Any) -> str:
    """Return a name every provider accepts: letters, digits, `_` and `-`, at most 64."""
    name = getattr(model, "__name__", "") or json_schema(model).get("title", "") or "result"
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(name))[:64]


def resolve(part: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow a `$ref` of a schema, and what stands beside it."""
    merged = dict(part)
    while "$ref" in merged:
        name = merged.pop("$ref").removeprefix("#/$defs/")
        merged = {**root.get("$defs", {}).get(name, {}), **merged}
    if "$defs" in root:
        merged.setdefault("$defs", root["$defs"])
    return merged


def _types(part: Mapping[str, Any]) -> list[str]:
    kind = part.get("type") or ("enum" if "enum" in part else "const" if "const" in part else "any")
    return kind if isinstance(kind, list) else [kind]


def _accepts(value: Any, part: Mapping[str, Any]) -> bool:
    """Return True when a part of a schema without alternatives allows the type of a value."""
    if "const" in part or "enum" in part:
        return type(value) in {type(choice) for choice in part.get("enum", [part.get("const")])}
    kinds = _types(part)
    if isinstance(value, bool):  # which is an int to Python
        return "boolean" in kinds or "any" in kinds
    if isinstance(value, float) and value.is_integer() and "integer" in kinds:
        return True
    return any(isinstance(value, PYTHON_TYPES.get(kind, (object,))) for kind in kinds)
