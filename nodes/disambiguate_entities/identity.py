"""Who is who: one name for all names of an entry, the entry of a name, and what the one entry of a name is said to be.

An entry is a name's when a judge linked it, or when the snapshot on this machine has no other entry of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from theworld.nodes.disambiguate_entities.judging.words import type_said
from theworld.state import Candidate, EntityCandidate, EntityJudgement
from theworld.text import entity_key, fold
from theworld.wikidata import EntriesByName, NamedEntry

_UNNAMED = frozenset({"date", "number", "quantity"})
_UNTYPED = frozenset({"concept", "other"})
_Linked = tuple[str, str, tuple[str, ...]]
"""A name as mentioned, the id of its entry, and everything else the entry is called."""


@dataclass(frozen=True, slots=True)
class Identities:
    """What is known of the entities that some notes mention."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other name -> the first mentioned name of the same entry."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Identity key -> the mention type that the one entry of this name is said to be."""


def identities(
    judgements: Sequence[EntityJudgement],
    notes: Sequence[Candidate] = (),
    question: str = "",
    entries: EntriesByName | None = None,
) -> Identities:
    """Return what the judges decided and, for other names in the notes, what the one entry of a name says.

    A name that several entries have in the snapshot is nobody's, unless a judge decided whose it is.
    Raises StoreError when the snapshot cannot be read.
    """
    mentioned = _mentioned(notes) if entries is not None else {}
    found: dict[str, Sequence[NamedEntry]] = {}
    if entries is not None and mentioned:
        found |= entries.entries_named(list(mentioned))
        asked = fold(question)
        others = {entity_key(name) for some in found.values() for entry in some for name in entry.names}
        if in_question := sorted(key for key in others - mentioned.keys() if key and key in asked):
            found |= entries.entries_named(in_question)
    only = {key: entry for key, (entry, *others) in found.items() if not others and key in mentioned}
    judged = {entity_key(item.label) for item in judgements}
    shared = {key for key, (_, *others) in found.items() if others and key not in judged}
    known: list[_Linked] = [
        (name, only[key].id, only[key].names)
        for key, (name, types) in mentioned.items()
        if key in only and key not in judged and _fits(only[key], types)
    ]
    types = {key: said for key, entry in only.items() if key not in judged and (said := type_said(entry.said))}
    linked = [(mention, entry.id, tuple(_names(entry))) for mention, entry in _linked(judgements)]
    types |= {entity_key(mention): said for mention, entry in _linked(judgements) if (said := _said(entry))}
    aliases = _same_names([*linked, *known])
    return Identities({name: same for name, same in aliases.items() if entity_key(name) not in shared}, types)


def same_names(judgements: Sequence[EntityJudgement]) -> dict[str, str]:
    """Return other name -> the first mention of the same entry; names of several entries are left out."""
    return dict(identities(judgements).aliases)


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


def _same_names(linked: Sequence[_Linked]) -> dict[str, str]:
    mention_of = {qid: mention for mention, qid, _ in reversed(linked)}
    owners: dict[str, set[str]] = {}
    for mention, qid, names in linked:
        for name in (mention, *names):
            owners.setdefault(entity_key(name), set()).add(qid)
    return {
        name: mention_of[qid]
        for mention, qid, names in linked
        for name in (mention, *names)
        if len(owners[entity_key(name)]) == 1 and entity_key(name) != entity_key(mention_of[qid])
    }


def _mentioned(notes: Sequence[Candidate]) -> dict[str, tuple[str, set[str]]]:
    """Return identity key -> (name as first mentioned, types of all its mentions) of what the notes name."""
    found: dict[str, tuple[str, set[str]]] = {}
    for mention in (mention for note in notes for mention in note.mentions):
        if mention.type not in _UNNAMED and len(mention.key) > 1:
            found.setdefault(mention.key, (mention.surface, set()))[1].add(mention.type)
    return found


def _fits(entry: NamedEntry, types: set[str]) -> bool:
    """Tell whether an entry may be what mentions of these types name: taggers do tell people from other things."""
    said, tagged = type_said(entry.said), types - _UNTYPED
    if said is None or not tagged:
        return True
    return "person" in tagged if said == "person" else tagged != {"person"}


def _linked(judgements: Sequence[EntityJudgement]) -> Iterator[tuple[str, EntityCandidate]]:
    return ((item.label, item.selection) for item in judgements if item.matched and item.selection is not None)


def _said(entry: EntityCandidate) -> str | None:
    return type_said(f"{entry.key_props_excerpt or ''}; {entry.description or ''}")


def _names(entry: EntityCandidate) -> Iterator[str]:
    yield from (name for name in (entry.label, *(entry.aliases or ())) if name)
