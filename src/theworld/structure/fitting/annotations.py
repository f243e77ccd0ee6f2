"""Which annotations belong to a place in the data: models, dataclasses, containers and unions walked by path."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, Strict
from typing_extensions import get_type_hints

from theworld.structure.fitting.targets import alias_names, field_names, names_with_default


@dataclass(frozen=True, slots=True)
class Place:
    """One field a path may lead to."""

    annotation: Any
    """Its annotation, unions and Annotated taken apart."""
    has_default: bool = False
    """True when the field may be left out."""
    words: frozenset[str] = frozenset()
    """Case-folded words of its name, title and description."""
    strict: bool = False
    """True when pydantic's strict mode holds for it: no other type may become its type."""


def options_of(annotation: Any) -> list[Any]:
    """Take unions, Annotated, aliases and RootModels apart."""
    pending, found = [annotation], []
    while pending:
        item = pending.pop(0)
        origin = get_origin(item)
        if origin is Annotated:
            pending.insert(0, get_args(item)[0])
        elif origin in (Union, types.UnionType):
            pending[:0] = get_args(item)
        elif hasattr(item, "__value__"):
            pending.insert(0, item.__value__)
        elif isinstance(item, type) and issubclass(item, RootModel) and item is not RootModel:
            pending.insert(0, item.model_fields["root"].annotation)
        else:
            found.append(item)
    return found


def places_at(wanted: Any, path: Sequence[str | int]) -> list[Place]:
    """Return every field the path may lead to from the wanted type."""
    places = [Place(option, strict=_is_strict(option) or _has_strict(wanted)) for option in options_of(wanted)]
    for step in path:
        found = []
        for outer in places:
            # The items of a list, tuple or dict in a strict place are strict too.
            inherited = outer.strict and get_origin(outer.annotation) is not None
            for place in _members(outer.annotation, step):
                for option in options_of(place.annotation):
                    strict = place.strict or inherited or _is_strict(option)
                    found.append(dataclasses.replace(place, annotation=option, strict=strict))
        places = found
    return places


def _members(annotation: Any, step: str | int) -> Iterable[Place]:
    """Return the fields or items of one annotation under a key or index."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, info in annotation.model_fields.items():
            if step in {name, *alias_names(info)}:
                words = _words(name, info.title or "", info.description or "")
                marked = [item.strict for item in info.metadata if isinstance(item, Strict)]
                strict = marked[-1] if marked else _is_strict(annotation) or _has_strict(info.annotation)
                yield Place(info.annotation, not info.is_required(), words, strict)
        return
    if _has_named_fields(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        if isinstance(step, str) and step in hints:
            strict = _is_strict(annotation) or _has_strict(hints[step])
            yield Place(hints[step], step in names_with_default(annotation), _words(step), strict)
        return
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not isinstance(origin, type) or not arguments:
        return
    if issubclass(origin, Mapping):
        yield Place(arguments[-1], words=_words(str(step)), strict=_has_strict(arguments[-1]))
    elif isinstance(step, int):
        fixed = issubclass(origin, tuple) and Ellipsis not in arguments
        inner = arguments[min(step, len(arguments) - 1)] if fixed else arguments[0]
        yield Place(inner, strict=_has_strict(inner))


def _has_named_fields(annotation: Any) -> bool:
    return dataclasses.is_dataclass(annotation) or hasattr(annotation, "__required_keys__")


def _is_strict(annotation: Any) -> bool:
    """Return True for a model, dataclass or TypedDict that is configured as strict."""
    config = getattr(annotation, "model_config", None) or getattr(annotation, "__pydantic_config__", None) or {}
    return isinstance(config, dict) and bool(config.get("strict"))


def _has_strict(annotation: Any) -> bool:
    """Return True for an annotation marked as strict, such as `StrictInt`."""
    if get_origin(annotation) is not Annotated:
        return False
    return any(isinstance(mark, Strict) and mark.strict for mark in get_args(annotation)[1:])


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word.casefold() for text in texts for word in text.replace("_", " ").split())


def names_of(annotation: Any) -> dict[str, tuple[str, ...]]:
    """Return the keys under which fields are read from data, and the names each is known by (title, aliases)."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        config, found = annotation.model_config, {}
        by_name = config.get("populate_by_name") or config.get("validate_by_name")
        for name, info in annotation.model_fields.items():
            aliases = tuple(alias_names(info))
            key = name if by_name or not aliases else aliases[0]
            found[key] = (name, *aliases, info.title or "")
        return found
    return {name: (name,) for name in field_names(annotation)} if _has_named_fields(annotation) else {}


def only_list_field(annotation: Any) -> str:
    """Return the key of a model's only required field when that is a list, else an empty text."""
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return ""
    fields = annotation.model_fields
    required = [name for name, info in fields.items() if info.is_required()] or list(fields)
    if len(required) != 1:
        return ""
    info = fields[required[0]]
    is_list = any((get_origin(option) or option) is list for option in options_of(info.annotation))
    return (info.alias or required[0]) if is_list else ""


def tags_of(model: Any, tag: str) -> list[Any]:
    """Return the values a model's tag field may have."""
    info = getattr(model, "model_fields", {}).get(tag)
    options = options_of(info.annotation) if info else []
    return [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]
