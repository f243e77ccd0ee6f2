"""Models as JSON Schema, and how a part of one is read: references, alternatives, types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from theworld.structure.fitting.targets import target_of


def json_schema(model: Any) -> dict[str, Any]:
    """Return the plain JSON Schema of a model, dataclass, TypedDict or annotation, for validation of input."""
    return target_of(model).adapter.json_schema(mode="validation")


def tool_name(model: Any) -> str:
    """Return a name every provider accepts: letters, digits, `_` and `-`, at most 64."""
    name = getattr(model, "__name__", "") or json_schema(model).get("title", "") or "result"
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(name))[:64] or "result"


def description_of(model: Any) -> str:
    """Return the model's own docstring, or one sentence naming it."""
    own = getattr(model, "__dict__", {}).get("__doc__")
    return (
        inspect.cleandoc(own) if own and not own.startswith(f"{tool_name(model)}(") else f"Return a {tool_name(model)}."
    )


def as_object(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose root is an object: a root `$ref` is followed, another type is wrapped under `value`."""
    root = resolve(schema, schema)
    if root.get("type") == "object" and "anyOf" not in root:
        return root
    definitions = root.pop("$defs", None)
    wrapped: dict[str, Any] = {"type": "object", "properties": {"value": root}, "required": ["value"]}
    return {**wrapped, "$defs": definitions} if definitions else wrapped


PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


def resolve(part: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow a `$ref` of a schema, and what stands beside it; references to themselves end."""
    seen: set[str] = set()
    merged = dict(part)
    while "$ref" in merged and merged["$ref"] not in seen:
        ref = merged.pop("$ref")
        seen.add(ref)
        found: Any = root
        for step in ref.removeprefix("#/").split("/"):
            found = found.get(step.replace("~1", "/").replace("~0", "~"), {})
        merged = {**found, **merged}
    if "$defs" in root:
        merged.setdefault("$defs", root["$defs"])
    return merged


def branches(part: Mapping[str, Any], root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives of a schema part, references followed."""
    resolved = resolve(part, root)
    options = resolved.get("anyOf") or resolved.get("oneOf")
    return [resolve(option, root) for option in options] if options else [resolved]


def expected_types(part: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """Return the types a part of a schema allows, joined by `|`."""
    names: list[str] = []
    for branch in branches(part, root):
        kind = branch.get("type") or ("enum" if "enum" in branch else "const" if "const" in branch else "any")
        names += kind if isinstance(kind, list) else [kind]
    return "|".join(dict.fromkeys(names))


def accepts(value: Any, part: Mapping[str, Any], root: Mapping[str, Any], *, types_only: bool = False) -> bool:
    """Return True when a part of a schema allows the type of a value, and where it lists values also the value."""
    for branch in branches(part, root):
        if "const" in branch or "enum" in branch:
            choices = branch.get("enum", [branch.get("const")])
            if value in choices or (types_only and type(value) in map(type, choices)):
                return True
            continue
        kinds = branch.get("type")
        if kinds is None:
            return True
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            allowed = PYTHON_TYPES.get(kind, (object,))
            if isinstance(value, allowed) and not (isinstance(value, bool) and kind in ("integer", "number")):
                return True
            if kind == "integer" and isinstance(value, float) and value.is_integer():
                return True
    return False
