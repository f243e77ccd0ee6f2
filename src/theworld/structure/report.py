"""What was done to a text: repairs, alternatives, and the report that carries them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pydantic_core import from_json

from theworld.structure.errors import describe_attempt

T = TypeVar("T")

Policy = Literal["strict", "repair-syntax", "repair-model"]
Path = tuple[str | int, ...]

CLEANING = frozenset({"comment", "trailing-comma", "control"})
"""Kinds of repair that only clean: no value is touched by them."""

SYNTAX = CLEANING - {"control"} | frozenset(
    "call closer ellipsis escape joined key line-break literal missing-colon quote syntax table unquoted".split()
)
"""Kinds of repair that touch marks and names only: every value is what it was."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was changed, and why."""

    kind: str
    """What sort of change: `missing-comma`, `unquoted`, `closer`, `truncated`, `number`, `label`, ..."""
    why: str
    """One sentence for people."""
    path: Path = ()
    """Where in the value: keys and indexes from the root."""
    was: Any = None
    """What stood there (long texts are cut)."""
    became: Any = None
    """What it was read as."""

    @property
    def field(self) -> str:
        """The path in dotted form; empty for the whole value."""
        return ".".join(map(str, self.path))


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another candidate that would have been valid."""

    strategy: str
    """Where it was found."""
    value: Any
    """The validated object."""
    filled: int
    """How many of the model's fields it fills."""
    why_not: str
    """Why the chosen one was preferred."""


@dataclass(frozen=True, slots=True)
class ParseReport(Generic[T]):
    """A parsed value and the truth about how it came to be."""

    value: T
    """The validated object."""
    strategy: str
    """Name of the strategy that gave it."""
    policy: Policy = "repair-syntax"
    """How much repair was allowed."""
    repairs: tuple[Repair, ...] = ()
    """Everything changed on the way, in order of appearance; empty when the input was valid as it stood."""
    truncated: bool = False
    """True when the input broke off before the value was complete."""
    alternatives: tuple[Alternative, ...] = ()
    """Other valid candidates, best first."""
    tried: tuple[tuple[str, BaseException | str] | Mapping[str, str], ...] = field(default=(), repr=False)
    """Strategies that failed before, with the errors as they were raised."""
    source: Any = field(default=None, repr=False)
    """The plain data (or the JSON text) that was validated."""
    model_calls: int = 0
    """Calls of a repairing model."""
    notes: tuple[str, ...] = field(default=())
    """Anything else worth knowing."""

    @property
    def lossless(self) -> bool:
        """True when nothing of the chosen fragment was dropped and no repair changed a value."""
        return not self.truncated and all(repair.kind in SYNTAX for repair in self.repairs)

    @property
    def attempts(self) -> list[dict[str, str]]:
        """Strategies tried before this one, and why they failed: `{"strategy": name, "error": why}`."""
        return [describe_attempt(attempt) for attempt in self.tried]

    @property
    def ignored(self) -> tuple[str, ...]:
        """Dotted paths of keys of the input that the model has no field for."""
        data = from_json(self.source) if self.strategy == "direct_json" else self.source
        return tuple(ignored_keys(data, self.value))

    def repairs_by_field(self) -> dict[str, list[Repair]]:
        """Return the repairs grouped by dotted field path."""
        grouped: dict[str, list[Repair]] = {}
        for repair in self.repairs:
            grouped.setdefault(repair.field, []).append(repair)
        return grouped


def alias_names(info: Any) -> Iterable[str]:
    """Return the top-level names a pydantic field may go by besides its own."""
    found = [info.alias] if info.alias else []
    choices = getattr(info.validation_alias, "choices", None) or [info.validation_alias]
    for choice in choices:
        path = getattr(choice, "path", None)
        first = path[0] if path else choice
        if isinstance(first, str):
            found.append(first)
    return found


def ignored_keys(source: Any, value: Any, prefix: str = "") -> Iterator[str]:
    """Yield dotted paths of keys in the data that the model has no field for."""
    if isinstance(source, list) and isinstance(value, (list, tuple)) and len(source) == len(value):
        for index, (item, made) in enumerate(zip(source, value, strict=True)):
            yield from ignored_keys(item, made, f"{prefix}{index}.")
        return
    fields = getattr(type(value), "model_fields", None)
    if not isinstance(source, dict) or fields is None:
        return
    known = {name: name for name in fields}
    for name, info in fields.items():
        known |= dict.fromkeys(alias_names(info), name)
    kept = getattr(value, "model_extra", None) or {}
    for key, member in source.items():
        if key in known:
            yield from ignored_keys(member, getattr(value, known[key], None), f"{prefix}{key}.")
        elif key not in kept:
            yield f"{prefix}{key}"
