"""What was done to a text: repairs, alternatives, and the report that carries them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from theworld.structure.errors import Attempt, describe_attempts

T = TypeVar("T")

Path = tuple[str | int, ...]

CLEANING = frozenset({"comment", "trailing-comma", "control"})
"""Kinds of repair that only clean: no value is touched by them, and what is left is valid JSON."""

SYNTAX = CLEANING - {"control"} | frozenset(
    "call closer ellipsis escape joined key line-break literal missing-colon quote syntax unquoted".split()
)
"""Kinds of repair that touch marks and names only: every value is what it was."""


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was changed, and why."""

    kind: str
    """What sort of change: `missing-value`, `unquoted`, `closer`, `truncated`, `label`, ..."""
    why: str
    """One sentence for people."""
    path: Path = ()
    """Where in the value: keys and indexes from the root; empty for the whole value."""
    was: Any = None
    """What stood there (long texts are cut)."""
    became: Any = None
    """What it was read as."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another candidate that would have been valid."""

    strategy: str
    value: Any
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
    repairs: tuple[Repair, ...] = ()
    """Everything changed on the way, in order of appearance; empty when the input was valid as it stood."""
    truncated: bool = False
    """True when the input broke off before the value was complete."""
    alternatives: tuple[Alternative, ...] = ()
    """Other valid candidates, best first."""
    tried: tuple[Attempt, ...] = field(default=(), repr=False)
    """Strategies that failed before, with the errors as they were raised."""

    @property
    def lossless(self) -> bool:
        """True when nothing of the chosen fragment was dropped and no repair changed a value."""
        return not self.truncated and all(repair.kind in SYNTAX for repair in self.repairs)

    @property
    def attempts(self) -> list[dict[str, str]]:
        """Strategies tried before this one, and why they failed: `{"strategy": name, "error": why}`."""
        return describe_attempts(self.tried)
