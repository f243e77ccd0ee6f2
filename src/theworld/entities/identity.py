"""Which names are of one entity, and which names of a question and its notes are looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from theworld.entities.words import type_said
from theworld.questions import Question
from theworld.state import Candidate, EntityCandidate, EntityJudgement, Mention
from theworld.text import entity_key, place_of, without_qualifier
from theworld.wikidata import EntriesByName, NamedEntry

MAX_MENTIONS = 6
"""Names looked up per question."""
TOP_TITLES = 3
"""Titles of this many best notes are looked up too."""

UNNAMED = frozenset({"date", "number", "quantity"})
"""Types of mentions that have no entry."""
UNTYPED = frozenset({"concept", "other"})
"""Types of mentions that say nothing of what they name."""


def mentions_to_look_up(question: Question, notes: Sequence[Candidate]) -> list[str]:
    """Return distinct names: those of the question first (known to the notes, quoted, capitalised), then top titles."""
    folded = question.folded
    known: dict[str, str] = {}
    for note in notes:
        for name in (without_qualifier(note.title), *(m.surface for m in note.mentions if m.type not in UNNAMED)):
            key = entity_key(name)
            if len(key) > 1 and place_of(key, folded) >= 0:
                known.setdefault(key, name)
    asked = [known[key] for key in sorted(known, key=lambda key: (place_of(key, folded), -len(key)))]
    titles = (without_qualifier(note.title) for note in notes[:TOP_TITLES] if note.title)
    names: dict[str, str] = {}
    for name in [*asked, *(name for _place, name in question.written_names), *titles]:
        key = entity_key(name)
        if len(key) > 1 and all(place_of(key, other) < 0 for other in names):
            names[key] = name
    return list(names.values())[:MAX_MENTIONS]


def types_of(mentions: Iterable[Mention]) -> dict[str, str]:
    """Return surface -> the first type that says something."""
    found: dict[str, str] = {}
    for mention in mentions:
        if mention.type not in UNTYPED:
            found.setdefault(mention.surface, mention.type)
    return found


_Linked = tuple[str, str, tuple[str, ...]]
"""A name as mentioned, the id of its entry, and everything else the entry is called."""


def same_names(
    judgements: Sequence[EntityJudgement],
    notes: Sequence[Candidate] = (),
    question: Question | None = None,
    entries: EntriesByName | None = None,
) -> dict[str, str]:
    """Return other name -> the first mentioned name of the same entry.

    By what the judges decided and, for other names in the notes, by the one entry of a name in the snapshot. A name
    that several entries have there is nobody's, unless a judge decided whose it is; names of several linked entries are
    left out. Raises StoreError when the snapshot cannot be read.
    """
    linked: list[_Linked] = [(mention, entry.id, names) for mention, entry, names in _linked(judgements)]
    if entries is None or not (mentioned := _mentioned(notes)):
        return _first_mentioned(linked)
    found = dict(entries.entries_named(list(mentioned)))
    asked = question.folded if question is not None else ""
    others = {entity_key(name) for some in found.values() for entry in some for name in entry.names}
    found |= entries.entries_named(sorted(key for key in others - mentioned.keys() if key and key in asked))
    judged = {entity_key(item.label) for item in judgements}
    shared = {key for key, some in found.items() if len(some) > 1 and key not in judged}
    for key, (name, types) in mentioned.items():
        some = found.get(key, ())
        if len(some) == 1 and key not in judged and _fits(some[0], types):
            linked.append((name, some[0].id, some[0].names))
    return {name: same for name, same in _first_mentioned(linked).items() if entity_key(name) not in shared}


def entry_of(name: str, judgements: Sequence[EntityJudgement]) -> EntityCandidate | None:
    """Return the entry a name was linked to, by mention first, then by its label and aliases."""
    key = entity_key(name)
    linked = list(_linked(judgements))
    for mention, entry, _ in linked:
        if entity_key(mention) == key:
            return entry
    entries = {entry.id: entry for _, entry, names in linked if key in map(entity_key, names)}
    return next(iter(entries.values())) if len(entries) == 1 else None


def _first_mentioned(linked: Sequence[_Linked]) -> dict[str, str]:
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
        if mention.type not in UNNAMED and len(mention.key) > 1:
            found.setdefault(mention.key, (mention.surface, set()))[1].add(mention.type)
    return found


def _fits(entry: NamedEntry, types: set[str]) -> bool:
    """Return whether an entry may be what mentions of these types name: taggers do tell people from other things."""
    said, tagged = type_said(entry.said), types - UNTYPED
    if said is None or not tagged:
        return True
    return "person" in tagged if said == "person" else tagged != {"person"}


def _linked(judgements: Sequence[EntityJudgement]) -> Iterator[tuple[str, EntityCandidate, tuple[str, ...]]]:
    """Yield each mention that was linked, its entry, and everything that is called."""
    for item in judgements:
        if item.matched and (entry := item.selection) is not None:
            yield item.label, entry, tuple(filter(None, (entry.label, *(entry.aliases or ()))))
