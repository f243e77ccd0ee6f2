"""Which annotations belong to a place in the data: models, dataclasses, containers and unions walked by path."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, Strict
from typing_extensions import get_type_hints

from theworld.structure.report import alias_names


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
        places = [
            Place(option, place.has_default, place.words, place.strict or _is_strict(option) or _inherits(outer))
            for outer in places
            for place in _members(outer.annotation, step)
            for option in options_of(place.annotation)
        ]
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
    if dataclasses.is_dataclass(annotation) or hasattr(annotation, "__required_keys__"):
        hints = get_type_hints(annotation, include_extras=True)
        if isinstance(step, str) and step in hints:
            strict = _is_strict(annotation) or _has_strict(hints[step])
            yield Place(hints[step], step in _with_default(annotation), _words(str(step)), strict)
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


def _is_strict(annotation: Any) -> bool:
    """Return True for a model, dataclass or TypedDict that is configured as strict."""
    config = getattr(annotation, "model_config", None) or getattr(annotation, "__pydantic_config__", None) or {}
    return isinstance(config, dict) and bool(config.get("strict"))


def _inherits(outer: Place) -> bool:
    """Return True for a list, tuple or dict in a strict place: its items are strict too."""
    return outer.strict and get_origin(outer.annotation) is not None


def _has_strict(annotation: Any) -> bool:
    """Return True for an annotation marked as strict, such as `StrictInt`."""
    if get_origin(annotation) is not Annotated:
        return False
    return any(isinstance(mark, Strict) and mark.strict for mark in get_args(annotation)[1:])


def _with_default(annotation: Any) -> set[str]:
    if dataclasses.is_dataclass(annotation):
        none = dataclasses.MISSING
        fields = dataclasses.fields(annotation)
        return {f.name for f in fields if f.default is not none or f.default_factory is not none}
    return set(annotation.__annotations__) - set(annotation.__required_keys__)


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word.casefold() for text in texts for word in text.replace("_", " ").split())


def names_of(annotation: Any) -> dict[str, tuple[str, ...]]:
    """Return the keys of a model's fields and the other names each is known by (title, aliases)."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {
            _key_of(annotation, name, info): (name, *alias_names(info), info.title or "")
            for name, info in annotation.model_fields.items()
        }
    if dataclasses.is_dataclass(annotation):
        return {f.name: (f.name,) for f in dataclasses.fields(annotation)}
    if hasattr(annotation, "__required_keys__"):
        return {name: (name,) for name in annotation.__annotations__}
    return {}


def _key_of(model: type[BaseModel], name: str, info: Any) -> str:
    """Return the key under which the field is read from data."""
    aliases = list(alias_names(info))
    by_name = model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name")
    return name if by_name or not aliases else aliases[0]
