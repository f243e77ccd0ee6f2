"""What is wanted: a pydantic model, dataclass, TypedDict, enum or any annotation, and what counts as filling it.

Which annotations belong to a place in the data: models, dataclasses, containers and unions walked by path.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, is_typeddict

from pydantic import BaseModel, PydanticUserError, RootModel, Strict, TypeAdapter
from pydantic_core import PydanticSerializationError, SchemaValidator, to_json
from typing_extensions import TypedDict, get_type_hints

ENVELOPE_PAYLOADS = ("arguments", "parameters", "args", "input", "kwargs")
ENVELOPE_NAMES = frozenset(
    {"name", "function", "tool", "tool_name", "id", "type", "index", "call_id", *ENVELOPE_PAYLOADS}
)
Kind = Literal["object", "list", "any", "other"]


class Target:
    """A wanted type: validation, and the names of its fields."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.wanted = wanted = _modern(given)
        self.adapter = _adapter_of(wanted)
        self.validator: SchemaValidator = self.adapter.validator  # type: ignore[assignment]
        self.name: str = getattr(wanted, "__name__", str(wanted))
        fields = named_fields(wanted)
        self.fields = frozenset(name for field in fields for name in field.names)
        self.required = frozenset(field.names[0] for field in fields if field.required)
        self.kind = _kind_of(wanted)

    def validate(self, value: Any) -> Any:
        """Validate plain data as if it had been JSON.

        Raises pydantic.ValidationError, ValueError for data that JSON cannot hold or that has nothing to do with the
        target: an object without a single one of its fields, though defaults alone would make it valid.
        """
        if self.fields and isinstance(value, dict) and self.fields.isdisjoint(value) and (value or self.required):
            raise ValueError(f"none of the fields of {self.name} is in this object")
        try:
            text = to_json(value, inf_nan_mode="constants")
        except (PydanticSerializationError, UnicodeError) as error:
            raise ValueError(f"cannot be written as JSON: {error}") from error
        return self.validator.validate_json(text)


def target_of(wanted: Any) -> Target:
    """Return the target for a type; built once for each hashable type. Raises TypeError for what is no type."""
    try:
        hash(wanted)
    except TypeError:
        return Target(wanted)
    return _cached_target(wanted)


_cached_target = lru_cache(maxsize=512)(Target)


def _adapter_of(wanted: Any) -> TypeAdapter[Any]:
    """Return what validates a type. Raises TypeError for what is none, or one that pydantic 2 cannot validate."""
    said = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", type(wanted).__name__)
    must = f"model_class must be a pydantic model, a dataclass, a TypedDict or another annotation; {said!r} is"
    if isinstance(wanted, (str, Mapping)):
        raise TypeError(f"{must} a {type(wanted).__name__}")
    if isinstance(wanted, BaseModel):
        raise TypeError(f"{must} an instance: give its class")
    if hasattr(wanted, "__get_validators__") and hasattr(wanted, "__fields__") and not hasattr(wanted, "model_fields"):
        raise TypeError(f"{must} a model of pydantic 1: derive it from pydantic.BaseModel of pydantic 2")
    try:
        return TypeAdapter(wanted)
    except PydanticUserError as error:
        raise TypeError(f"{must} none that pydantic knows ({error.code or type(error).__name__})") from error


def _modern(wanted: Any) -> Any:
    """Return a `typing.TypedDict` as one of typing_extensions, which is what pydantic takes before Python 3.12."""
    if sys.version_info >= (3, 12) or not is_typeddict(wanted) or type(wanted).__module__ != "typing":
        return wanted
    hints = get_type_hints(wanted, include_extras=True)
    optional = wanted.__optional_keys__
    fields = {name: NotRequired[hint] if name in optional else hint for name, hint in hints.items()}
    return TypedDict(wanted.__name__, fields)  # type: ignore[operator]


def _kind_of(wanted: Any) -> Kind:
    if isinstance(wanted, type) and issubclass(wanted, RootModel):
        return _kind_of(wanted.model_fields["root"].annotation)
    origin = get_origin(wanted) or wanted
    if wanted is Any or wanted is object:
        return "any"
    if isinstance(origin, type):
        if issubclass(origin, (list, tuple, set, frozenset)):
            return "list"
        if issubclass(origin, (BaseModel, Mapping)) or dataclasses.is_dataclass(origin):
            return "object"
    return "object" if hasattr(wanted, "__required_keys__") else "other"


@dataclass(frozen=True, slots=True)
class Place:
    """One field of a model, dataclass or TypedDict, or an item of a container."""

    annotation: Any
    """Its annotation; where a path leads to it, with unions and Annotated taken apart."""
    names: tuple[str, ...] = ("",)
    """Its own name first, then what else data may call it."""
    key: str = ""
    """Under which it is read from data."""
    required: bool = True
    strict: bool = False
    """True when pydantic's strict mode holds for it: no other type may become its type."""
    title: str = ""
    description: str = ""


def named_fields(wanted: Any) -> list[Place]:
    """Return the fields of a model, dataclass or TypedDict; none for any other type."""
    strict = is_strict(wanted)
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        if issubclass(wanted, RootModel):
            return []
        by_name = wanted.model_config.get("populate_by_name") or wanted.model_config.get("validate_by_name")
        found = []
        for name, info in wanted.model_fields.items():
            aliases = _aliases(info)
            marked = [mark.strict for mark in info.metadata if isinstance(mark, Strict)]
            own = marked[-1] if marked else strict or has_strict(info.annotation)
            key = name if by_name or not aliases else aliases[0]
            told = info.title or "", info.description or ""
            found.append(Place(info.annotation, (name, *aliases), key, info.is_required(), bool(own), *told))
        return found
    if dataclasses.is_dataclass(wanted):
        none = dataclasses.MISSING
        required = {f.name: f.default is f.default_factory is none for f in dataclasses.fields(wanted)}
    elif hasattr(wanted, "__required_keys__"):
        required = {name: name not in wanted.__optional_keys__ for name in wanted.__annotations__}
    else:
        return []
    try:
        hints = get_type_hints(wanted, include_extras=True)
    except NameError:  # of a type made in a function, whose names pydantic alone can see
        hints = dict.fromkeys(required, Any)
    return [
        Place(hints[name], (name,), name, needed, strict or has_strict(hints[name]))
        for name, needed in required.items()
    ]


def _aliases(info: Any) -> list[str]:
    """Return the top-level names a pydantic field may go by besides its own."""
    choices = getattr(info.validation_alias, "choices", [info.validation_alias])
    named = (info.alias, *(getattr(choice, "path", [choice])[0] for choice in choices))
    return [one for one in named if isinstance(one, str)]


def is_strict(annotation: Any) -> bool:
    """Return True for a model, dataclass or TypedDict that is configured as strict."""
    config = getattr(annotation, "model_config", None) or getattr(annotation, "__pydantic_config__", None) or {}
    return isinstance(config, dict) and bool(config.get("strict"))


def has_strict(annotation: Any) -> bool:
    """Return True for an annotation marked as strict, such as `StrictInt`."""
    marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return any(isinstance(mark, Strict) and mark.strict for mark in marks)


def count_filled(value: Any) -> int:
    """Count the non-null leaves of a validated value, fields left at their default not counted."""
    count = 0
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, BaseModel):
            pending.extend(getattr(item, name) for name in item.model_fields_set)
        elif isinstance(item, Mapping):
            pending.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            pending.extend(item)
        elif dataclasses.is_dataclass(item) and not isinstance(item, type):
            pending.extend(getattr(item, f.name) for f in dataclasses.fields(item))
        else:
            count += item is not None
    return count


def arguments_of_call(value: Any, fields: frozenset[str]) -> Any:
    """Return the arguments when an object is a tool call rather than the wanted object itself, else None."""
    if not isinstance(value, dict) or not 2 <= len(value) <= 6:
        return None
    inner = value.get("function")
    if isinstance(inner, dict) and "function" not in fields:
        return arguments_of_call(inner, fields)
    name = value.get("name", value.get("tool", value.get("tool_name", value.get("function"))))
    if not isinstance(name, str) or not ENVELOPE_NAMES.issuperset(value):
        return None
    payloads = (value[key] for key in ENVELOPE_PAYLOADS if key in value and key not in fields)
    return next((payload for payload in payloads if isinstance(payload, (dict, str))), None)


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
    yield from (field for field in named_fields(annotation) if step in field.names)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not isinstance(origin, type) or not arguments:
        return
    if issubclass(origin, Mapping):
        yield Place(arguments[-1], (str(step),), strict=has_strict(arguments[-1]))
    elif isinstance(step, int):
        fixed = issubclass(origin, tuple) and Ellipsis not in arguments
        inner = arguments[min(step, len(arguments) - 1)] if fixed else arguments[0]
        yield Place(inner, strict=has_strict(inner))


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
