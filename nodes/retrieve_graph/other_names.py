"""Names in a query that the store knows by another name, as an entity linker's snapshot says: Peking for Beijing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from theworld.text import entity_key
from theworld.text.language import cjk_share

MAX_KEYS = 300
"""Names of a query that are looked up."""
SHORTEST, SHORTEST_CJK = 3, 2
"""Characters of a name; shorter ones have too many meanings."""


@runtime_checkable
class OtherNames(Protocol):
    """A source of names that answers at once: on this machine, never over a network."""

    def other_names(self, keys: Sequence[str]) -> Mapping[str, Sequence[Sequence[str]]]:
        """Return key -> for every entry with exactly that name all its names; keys without an entry are left out."""


def known_by_another_name(
    keys: Sequence[str], known: Callable[[Sequence[str]], Mapping[str, int]], names: OtherNames
) -> dict[str, dict[str, int]]:
    """Return key -> the store's keys (with their numbers of notes) of the one entry that has this name.

    A name of several entries that the store knows stays unknown: which is meant is not to be guessed here.
    """
    asked = [key for key in keys if len(key) >= (SHORTEST_CJK if cjk_share(key) else SHORTEST)][:MAX_KEYS]
    entries = {
        key: [tuple(dict.fromkeys(map(entity_key, entry))) for entry in found]
        for key, found in names.other_names(asked).items()
    }
    frequency = known(sorted({name for found in entries.values() for entry in found for name in entry if name}))
    meant: dict[str, dict[str, int]] = {}
    for key, found in entries.items():
        owned = [{name: frequency[name] for name in entry if name in frequency} for entry in found]
        if len(stored := [each for each in owned if each]) == 1:
            meant[key] = stored[0]
    return meant
