"""Which annotations belong to a place in the data: models, dataclasses, containers and unions walked by path."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import RootModel

from theworld.structure.fitting.targets import has_strict, is_strict, named_fields


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
    places = [Place(option, strict=is_strict(option) or has_strict(wanted)) for option in options_of(wanted)]
    for step in path:
        found = []
        for outer in places:
            # The items of a list, tuple or dict in a strict place are strict too.
            inherited = outer.strict and get_origin(outer.annotation) is not None
            for place in _members(outer.annotation, step):
                for option in options_of(place.annotation):
                    strict = place.strict or inherited or is_strict(option)
                    found.append(dataclasses.replace(place, annotation=option, strict=strict))
        places = found
    return places


def _members(annotation: Any, step: str | int) -> Iterable[Place]:
    """Return the fields or items of one annotation under a key or index."""
    for field in named_fields(annotation):
        if step in field.names:
            words = _words(field.names[0], field.title, field.description)
            yield Place(field.annotation, not field.required, words, field.strict)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not isinstance(origin, type) or not arguments:
        return
    if issubclass(origin, Mapping):
        yield Place(arguments[-1], words=_words(str(step)), strict=has_strict(arguments[-1]))
    elif isinstance(step, int):
        fixed = issubclass(origin, tuple) and Ellipsis not in arguments
        inner = arguments[min(step, len(arguments) - 1)] if fixed else arguments[0]
        yield Place(inner, strict=has_strict(inner))


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word.casefold() for text in texts for word in text.replace("_", " ").split())


def only_list_field(annotation: Any) -> str:
    """Return the key of a model's only required field when that is a list, else an empty text."""
    fields = named_fields(annotation)
    required = [field for field in fields if field.required] or fields
    if len(required) != 1:
        return ""
    is_list = any((get_origin(option) or option) is list for option in options_of(required[0].annotation))
    return required[0].key if is_list else ""


def tags_of(model: Any, tag: str) -> list[Any]:
    """Return the values a model's tag field may have."""
    options = [one for field in named_fields(model) if field.names[0] == tag for one in options_of(field.annotation)]
    return [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]
