"""What the judgements say about who is who: one name for all names of an entry, and the entry of a name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from theworld.state import EntityCandidate, EntityJudgement
from theworld.text import entity_key


def same_names(judgements: Sequence[EntityJudgement]) -> dict[str, str]:
    """Return other name -> the first mention of the same entry; names of several entries are left out."""
    mention_of = {entry.id: mention for mention, entry in reversed(list(_linked(judgements)))}
    owners: dict[str, set[str]] = {}
    for mention, entry in _linked(judgements):
        for name in (mention, *_names(entry)):
            owners.setdefault(name, set()).add(entry.id)
    return {
        name: mention_of[entry.id]
        for mention, entry in _linked(judgements)
        for name in (mention, *_names(entry))
        if len(owners[name]) == 1 and entity_key(name) != entity_key(mention_of[entry.id])
    }


def entry_of(name: str, judgements: Sequence[EntityJudgement]) -> EntityCandidate | None:
    """Return the entry a name was linked to, by mention first, then by its label and aliases."""
    key = entity_key(name)
    for mention, entry in _linked(judgements):
        if entity_key(mention) == key:
            return entry
    entries = {
        entry.id: entry for _, entry in _linked(judgements) if any(entity_key(other) == key for other in _names(entry))
    }
    return next(iter(entries.values())) if len(entries) == 1 else None


def _linked(judgements: Sequence[EntityJudgement]) -> Iterator[tuple[str, EntityCandidate]]:
    return ((item.label, item.selection) for item in judgements if item.matched and item.selection is not None)


def _names(entry: EntityCandidate) -> Iterator[str]:
    yield from (name for name in (entry.label, *(entry.aliases or ())) if name)
