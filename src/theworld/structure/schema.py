"""The schema of a model as an OpenAI tool, and how data differ from a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theworld.structure.schemas.model_schema import accepts, expected_types, json_schema, resolve, tool_name
from theworld.structure.schemas.providers import to_openai_tool

__all__ = ["get_schema_diff", "to_openai_tool"]


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
    schema = resolve(schema, schema)
    properties: dict[str, Any] = schema.get("properties", {})
    mismatches = [
        {"field": name, "expected": expected_types(properties[name], schema), "actual": type(value).__name__}
        for name, value in data.items()
        if name in properties and not accepts(value, properties[name], schema, types_only=True)
    ]
    return {
        "missing_required": [name for name in schema.get("required", []) if name not in data],
        "extra_fields": [name for name in data if name not in properties],
        "type_mismatches": mismatches,
    }
