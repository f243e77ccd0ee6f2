"""The arguments of EFSA's functions, checked: what is wrong is named, whatever it does when it is looked at."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from theworld.errors import TheWorldError


class InvalidNoteError(TheWorldError, ValueError):
    """A note or another argument given to EFSA is of the wrong type."""


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn whatever an object raises while it is read into InvalidNoteError."""
    try:
        yield
    except TheWorldError:
        raise
    except Exception as error:
        raise InvalidNoteError(f"it cannot be read: {type(error).__name__}.", where=where) from error


def text_of(value: Any, name: str) -> str:
    """Return a text argument."""
    if not isinstance(value, str):
        raise InvalidNoteError(f"`{name}` must be text, not {type(value).__name__}.", where="efsa_answer")
    return str.__str__(value)


def names_of(value: Any, name: str) -> list[str]:
    """Return the names an argument holds: none, one, or several of which None is passed over."""
    if value is None or isinstance(value, str):
        return [] if value is None else [str.__str__(value)]
    if isinstance(value, (bytes, Mapping)):
        raise InvalidNoteError(f"`{name}` must be a list of names, not {type(value).__name__}.", where="efsa_answer")
    try:
        listed = list(value)
    except TypeError as error:
        raise InvalidNoteError(
            f"`{name}` must be a list of names, not {type(value).__name__}.", where="efsa_answer"
        ) from error
    return [text_of(each, f"{name}[{place}]") for place, each in enumerate(listed) if each is not None]


def aliases_of(value: Any) -> dict[str, str]:
    """Return the table of aliases."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidNoteError(
            f"`aliases` must be a dict of name to name, not {type(value).__name__}.", where="efsa_answer"
        )
    return {text_of(alias, "aliases"): text_of(name, "aliases") for alias, name in value.items()}


def count_of(value: Any, name: str) -> int:
    """Return a whole number; 0 for negative ones."""
    try:
        return max(operator.index(value), 0)
    except TypeError as error:
        raise InvalidNoteError(
            f"`{name}` must be a whole number, not {type(value).__name__}.", where="efsa_answer"
        ) from error


def finite(value: Any, name: str, where: str) -> float:
    """Return a number that is neither NaN nor infinite."""
    if isinstance(value, (bool, str, bytes, type)) or not hasattr(value, "__float__"):
        raise InvalidNoteError(f"`{name}` must be a number, not {type(value).__name__}.", where=where)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidNoteError(f"`{name}` must be finite, not {number}.", where=where)
    return number


def gate_of(value: Any) -> Callable[[str, str], bool] | None:
    """Return the gate, or None."""
    if value is not None and not callable(value):
        raise InvalidNoteError(
            f"`allowed` must be a function of key and name, not {type(value).__name__}.", where="efsa_answer"
        )
    gate: Callable[[str, str], bool] | None = value
    return gate
