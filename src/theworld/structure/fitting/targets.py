"""What is wanted: a pydantic model, dataclass, TypedDict, enum or any annotation, and what counts as filling it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NotRequired, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, PydanticUserError, RootModel, TypeAdapter
from pydantic_core import PydanticSerializationError, SchemaValidator, to_json
from typing_extensions import TypedDict

from theworld.structure.report import alias_names

ENVELOPE_PAYLOADS = ("arguments", "parameters", "args", "input", "kwargs")
ENVELOPE_NAMES = frozenset(
    {"name", "function", "tool", "tool_name", "id", "type", "index", "call_id", *ENVELOPE_PAYLOADS}
)


class Target:
    """A wanted type: validation, field names, and how well a value fills it."""

    __slots__ = ("adapter", "fields", "kind", "name", "required", "validator", "wanted")

    def __init__(self, wanted: Any) -> None:
        wanted = _modern(wanted)
        self.wanted = wanted
        self.adapter = _adapter_of(wanted)
        self.validator: SchemaValidator = self.adapter.validator  # type: ignore[assignment]
        self.name: str = getattr(wanted, "__name__", str(wanted))
        self.fields, self.required = _fields_of(wanted)
        self.kind = _kind_of(wanted)

    def validate(self, value: Any) -> Any:
        """Validate plain data as if it had been JSON.

        Raises pydantic.ValidationError, ValueError for data that JSON cannot hold or that has nothing to do with the
        target (an object without a single one of its fields).
        """
        self.check_related(value)
        try:
            text = to_json(value, inf_nan_mode="constants")
        except (PydanticSerializationError, UnicodeError) as error:
            raise ValueError(f"cannot be written as JSON: {error}") from error
        return self.validator.validate_json(text)

    def check_related(self, value: Any) -> None:
        """Refuse an object that shares no field with a model, though defaults alone would make it valid."""
        if self.fields and isinstance(value, dict):
            if not self.fields.isdisjoint(value):
                return
            if value or self.required:
                raise ValueError(f"none of the fields of {self.name} is in this object")

    def filled(self, value: Any) -> int:
        """Count the fields that a validated value really fills."""
        return count_filled(value)

    @property
    def is_open(self) -> bool:
        """True when any JSON value would do, so that text position decides rather than fields."""
        return self.kind == "any"


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


def _kind_of(wanted: Any) -> str:
    """Return `object`, `list`, `any` or `other`."""
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


def _fields_of(wanted: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return every name a field may go by, and the names of required fields."""
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        if issubclass(wanted, RootModel):
            return frozenset(), frozenset()
        names: set[str] = set()
        required: set[str] = set()
        for name, info in wanted.model_fields.items():
            names |= {name, *alias_names(info)}
            if info.is_required():
                required.add(name)
        return frozenset(names), frozenset(required)
    if dataclasses.is_dataclass(wanted):
        fields = dataclasses.fields(wanted)
        no_default = dataclasses.MISSING
        return (
            frozenset(f.name for f in fields),
            frozenset(f.name for f in fields if f.default is no_default and f.default_factory is no_default),
        )
    if hasattr(wanted, "__required_keys__"):
        return frozenset(wanted.__annotations__), frozenset(wanted.__required_keys__)
    return frozenset(), frozenset()


@lru_cache(maxsize=512)
def _cached_target(wanted: Any) -> Target:
    return Target(wanted)


def target_of(wanted: Any) -> Target:
    """Return the target for a type; built once for each hashable type."""
    if isinstance(wanted, Target):
        return wanted
    try:
        hash(wanted)
    except TypeError:
        return Target(wanted)
    return _cached_target(wanted)


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


def unwrap_envelope(value: Any, fields: frozenset[str]) -> tuple[str, Any] | None:
    """Return name and arguments when an object is a tool call rather than the wanted object itself."""
    if not isinstance(value, dict) or not 2 <= len(value) <= 6:
        return None
    inner = value.get("function")
    if isinstance(inner, dict) and "function" not in fields:
        return unwrap_envelope(inner, fields)
    name = value.get("name", value.get("tool", value.get("tool_name", value.get("function"))))
    if not isinstance(name, str) or not ENVELOPE_NAMES.issuperset(value):
        return None
    for payload in ENVELOPE_PAYLOADS:
        if isinstance(value.get(payload), (dict, str)) and payload not in fields:
            return name, value[payload]
    return None


PLAIN: set[Any] = set()
"""Models that no unrelated object and no tool call can satisfy, so that validation alone decides."""
MOST_PLAIN = 4096


def is_plain(model_class: Any) -> bool:
    """Return True, and remember it, for a complete model with a required field that no tool call has."""
    if not (isinstance(model_class, type) and issubclass(model_class, BaseModel) and model_class.__pydantic_complete__):
        return False
    if model_class in PLAIN:
        return True
    if target_of(model_class).required <= ENVELOPE_NAMES:
        return False
    if len(PLAIN) >= MOST_PLAIN:
        PLAIN.clear()
    PLAIN.add(model_class)
    return True
