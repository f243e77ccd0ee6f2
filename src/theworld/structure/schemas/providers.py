"""JSON Schemas in the dialect of each provider: what it does not know is left out or said in another way.

OpenAI strict: every property required, no others, `$ref` alone or inlined, optional as nullable; a tuple is a list of
any of its types, as `prefixItems` is refused.
Gemini: no `$ref`, `nullable` instead of a null type, enums of text; a model inside itself ends after a few levels.
Anthropic and plain JSON Schema: as pydantic writes it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

from theworld.structure.schemas.model_schema import as_object, description_of, json_schema, resolve, tool_name

Provider = Literal["openai", "openai-strict", "openai-responses", "anthropic", "gemini", "json-schema"]
RECURSION_LEVELS = 3
UNKNOWN_TO_OPENAI = frozenset(
    "default title examples minLength maxLength uniqueItems discriminator contentMediaType contentEncoding "
    "patternProperties propertyNames minProperties maxProperties readOnly writeOnly deprecated".split()
)
OPENAI_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
"""Of strings, in strict mode (https://platform.openai.com/docs/guides/structured-outputs, supported schemas)."""
KNOWN_TO_GEMINI = frozenset(
    "type format description nullable enum properties required items minItems maxItems minimum maximum anyOf "
    "title minLength maxLength pattern propertyOrdering".split()
)
GEMINI_FORMATS = frozenset({"int32", "int64", "float", "double", "date-time", "enum"})


def schema_for(model: Any, provider: Provider) -> dict[str, Any]:
    """Return the schema or tool entry a provider takes for a model.

    Raises ValueError for an unknown provider, or for a model that the provider's dialect cannot say.
    """
    if provider == "json-schema":
        return json_schema(model)
    if provider in ("openai", "openai-strict"):
        return to_openai_tool(model, strict=provider == "openai-strict")
    if provider == "openai-responses":
        strict = openai_strict_schema(model)
        return {"type": "json_schema", "name": tool_name(model), "schema": strict, "strict": True}
    if provider == "anthropic":
        return to_anthropic_tool(model)
    if provider == "gemini":
        return to_gemini_tool(model)
    raise ValueError(f"unknown provider {provider!r}")


def to_openai_tool(model: Any, *, strict: bool = False) -> dict[str, Any]:
    """Return the model as an entry of OpenAI's `tools`; `strict` keeps to OpenAI's strict subset."""
    function: dict[str, Any] = {"name": tool_name(model), "description": description_of(model)}
    if strict:
        function |= {"parameters": openai_strict_schema(model), "strict": True}
    else:
        function["parameters"] = as_object(json_schema(model))
    return {"type": "function", "function": function}


def to_anthropic_tool(model: Any) -> dict[str, Any]:
    """Return the model as an entry of Anthropic's `tools`; the input must be an object, so others are wrapped."""
    schema = as_object(json_schema(model))
    return {"name": tool_name(model), "description": description_of(model), "input_schema": schema}


def to_gemini_tool(model: Any) -> dict[str, Any]:
    """Return the model as one of Gemini's `functionDeclarations`."""
    schema = as_object(json_schema(model))
    parameters = _gemini(schema, schema, {})
    return {"name": tool_name(model), "description": description_of(model), "parameters": parameters}


def gemini_schema(model: Any) -> dict[str, Any]:
    """Return the model as a Gemini `responseSchema`: references inlined, recursion cut off."""
    schema = json_schema(model)
    return _gemini(schema, schema, {})


def openai_strict_schema(model: Any) -> dict[str, Any]:
    """Return the schema in OpenAI's strict subset; references stay, but nothing stands beside one.

    Raises ValueError for objects with free keys and for fields of any type, which strict mode cannot say.
    """
    schema = as_object(copy.deepcopy(json_schema(model)))
    strict = _strict(schema, schema, ())
    if "$defs" in schema:
        strict["$defs"] = {name: _strict(part, schema, (name,)) for name, part in schema["$defs"].items()}
    return strict


def _strict(part: Mapping[str, Any], root: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in part:
        beside = {key for key in part if key not in UNKNOWN_TO_OPENAI} - {"$ref"}
        return {"$ref": part["$ref"]} if not beside else {"anyOf": [{"$ref": part["$ref"]}], **_only(part, beside)}
    kept = {key: value for key, value in part.items() if key not in UNKNOWN_TO_OPENAI and key != "$defs"}
    if "oneOf" in kept:
        kept["anyOf"] = kept.pop("oneOf")
    if not kept.keys() & {"type", "anyOf", "allOf", "enum", "const"}:
        raise ValueError(f"{_named(path)} is of any type; OpenAI's strict mode cannot say that: use strict=False")
    if kept.get("format", "date") not in OPENAI_FORMATS:
        del kept["format"]
    if "prefixItems" in kept:
        kept["items"] = {"anyOf": kept.pop("prefixItems")}
    for key in ("anyOf", "allOf"):
        if key in kept:
            kept[key] = [_strict(option, root, path) for option in kept[key]]
    if isinstance(kept.get("items"), dict):
        kept["items"] = _strict(kept["items"], root, path)
    if kept.get("type") == "object":
        _close_object(kept, root, path)
    return kept


def _close_object(kept: dict[str, Any], root: Mapping[str, Any], path: tuple[str, ...]) -> None:
    """Make every property required, optional ones nullable, and forbid others."""
    if "properties" not in kept and kept.get("additionalProperties") not in (None, False):
        what = f"{_named(path)} is an object with free keys"
        raise ValueError(f"{what}; OpenAI's strict mode cannot say that: use strict=False")
    required = set(kept.get("required", []))
    properties = kept.get("properties", {})
    kept["properties"] = {
        name: _nullable(_strict(part, root, (*path, name)), name in required) for name, part in properties.items()
    }
    kept["required"] = list(properties)
    kept["additionalProperties"] = False


def _named(path: tuple[str, ...]) -> str:
    return ".".join(path) or "the root"


def _nullable(part: dict[str, Any], required: bool) -> dict[str, Any]:
    """Allow null for what used to be optional; parsing turns that null into the default again."""
    options = part.get("anyOf", [part])
    if required or {"type": "null"} in options:
        return part
    description = {"description": part.pop("description")} if "description" in part else {}
    return {"anyOf": [*part.get("anyOf", [part]), {"type": "null"}], **description}


def _only(part: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: part[key] for key in part if key in keys}


def _gemini(part: Mapping[str, Any], root: Mapping[str, Any], depth: dict[str, int]) -> dict[str, Any]:
    ref = part.get("$ref")
    if ref is not None:
        level = depth.get(ref, 0)
        if level >= RECURSION_LEVELS:
            return {"type": "object", "description": f"{ref.rsplit('/', 1)[-1]}, not nested any deeper"}
        depth = {**depth, ref: level + 1}
    whole = resolve(part, root)
    if "const" in whole:
        whole["enum"] = [whole.pop("const")]
    if "oneOf" in whole:
        whole["anyOf"] = whole.pop("oneOf")
    made = {key: value for key, value in whole.items() if key in KNOWN_TO_GEMINI}
    if made.get("format") not in GEMINI_FORMATS:
        made.pop("format", None)
    if "enum" in made:
        if None in made["enum"]:
            made["nullable"] = True
        made["type"], made["enum"] = "string", [str(choice) for choice in made["enum"] if choice is not None]
    _gemini_union(made, root, depth)
    if "properties" in made:
        made["properties"] = {name: _gemini(inner, root, depth) for name, inner in made["properties"].items()}
    if made.get("type") == "array":
        prefix = whole.get("prefixItems")
        made["items"] = _gemini(whole.get("items") or {"anyOf": prefix or [{"type": "string"}]}, root, depth)
    return made


def _gemini_union(made: dict[str, Any], root: Mapping[str, Any], depth: dict[str, int]) -> None:
    """Say a union with null as `nullable`, and a union of one as that one."""
    if "anyOf" not in made:
        return
    every = made.pop("anyOf")
    options = [_gemini(option, root, depth) for option in every if option.get("type") != "null"]
    made.update({**options[0], **made} if len(options) == 1 else {"anyOf": options})
    if len(options) < len(every):
        made["nullable"] = True
