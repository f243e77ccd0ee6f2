"""Entries by their exact names, from a source that answers at once: on this machine, never over a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class NamedEntry(NamedTuple):
    """One entry and everything it is called."""

    id: str
    """The QID."""
    names: tuple[str, ...]
    """Labels and aliases in all languages, each once."""
    said: str = ""
    """Its descriptions, by which its type is known."""


@runtime_checkable
class EntriesByName(Protocol):
    """A source of entries by exact name."""

    def entries_named(self, keys: Sequence[str]) -> Mapping[str, Sequence[NamedEntry]]:
        """Return identity key -> every entry with exactly that name; keys without an entry are left out."""
