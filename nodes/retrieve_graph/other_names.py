"""What the store calls the entities a query names, as an entity linker's snapshot says: Beijing for Peking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from theworld.text import entity_key
from theworld.text.language import cjk_share
from theworld.wikidata import EntriesByName

MAX_KEYS = 300
"""Names of a query that are looked up."""
SHORTEST, SHORTEST_CJK = 3, 2
"""Characters of a name; shorter ones have too many meanings."""


def known_by_another_name(
    keys: Sequence[str], known: Callable[[Sequence[str]], Mapping[str, int]], names: EntriesByName
) -> dict[str, dict[str, int]]:
    """Return key -> the store's keys (with their numbers of notes) of the one entry that has this name.

    Of a name that several entries have, only one must be known to the store, and not by this name: which is meant is
    not to be guessed here.
    """
    asked = [key for key in keys if len(key) >= (SHORTEST_CJK if cjk_share(key) else SHORTEST)][:MAX_KEYS]
    entries = {
        key: [tuple(dict.fromkeys(map(entity_key, entry.names))) for entry in found]
        for key, found in names.entries_named(asked).items()
    }
    frequency = known(sorted({name for found in entries.values() for entry in found for name in entry if name}))
    meant: dict[str, dict[str, int]] = {}
    for key, found in entries.items():
        owned = [{name: frequency[name] for name in entry if name in frequency} for entry in found]
        stored = [each for each in owned if each]
        if len(stored) == 1 and (len(found) == 1 or key not in stored[0]):
            meant[key] = stored[0]
    return meant
