"""The part of a graph that was fetched from a server: what the walk, links and paths look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from theworld.stores.graph.entity_graph import EntityGraph, NoteFace
from theworld.stores.graph.parameters import RankingParameters


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note with all that it names."""

    note_id: str
    document_id: str
    title: str
    titled: Sequence[str]
    """Keys of the entities that are its title."""
    mentioned: Sequence[str]
    """Keys of the others that it names."""


@dataclass(frozen=True, slots=True)
class NamingNote:
    """A note as an entity sees it."""

    note_id: str
    title: str
    names: tuple[str, ...]
    """How it names the entity."""


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity with the notes that name it; `mentioning` is empty for a hub whose mentions were not asked for."""

    key: str
    titles: int
    mentions: int
    titling: tuple[NamingNote, ...]
    mentioning: tuple[NamingNote, ...]
    whole: bool
    """Whether the mentions were asked for even of a hub."""
    label: str = ""
    """Its name, where it was asked for without the notes."""


class Neighbourhood(EntityGraph):
    """Rows numbered in the order of their ids, with the same faces as the embedded graph, which links and paths read.

    Counts are those of the whole graph, lists those of the rows.
    """

    note_ids: list[str]

    def __init__(self, notes: Iterable[NoteRow], entities: Iterable[EntityRow], parameters: RankingParameters) -> None:
        rows, by_key = {row.note_id: row for row in notes}, {row.key: row for row in entities}
        naming = {one.note_id: one for row in by_key.values() for one in (*row.titling, *row.mentioning)}
        self.parameters = parameters
        self.note_ids = sorted({*rows, *naming})
        self.note_of = {note: i for i, note in enumerate(self.note_ids)}
        self.facts = [
            NoteFace(rows[note].document_id, rows[note].title) if note in rows else NoteFace("", naming[note].title)
            for note in self.note_ids
        ]
        self.keys = sorted(by_key)
        self.entity_of = {key: i for i, key in enumerate(self.keys)}
        self._rows = [by_key[key] for key in self.keys]
        self.labels = [_label(row) for row in self._rows]
        self.titles = [[self.note_of[one.note_id] for one in row.titling] for row in self._rows]
        self.mentions = [[self.note_of[one.note_id] for one in row.mentioning] for row in self._rows]
        self.titled = self._named(rows, self.titles, titled=True)
        self.mentioned = self._named(rows, self.mentions, titled=False)

    def _named(self, rows: Mapping[str, NoteRow], naming: Sequence[Sequence[int]], *, titled: bool) -> list[list[int]]:
        """Return for each note the known entities it names: by its own row, and by theirs."""
        found: list[set[int]] = [set() for _ in self.note_ids]
        for entity, notes in enumerate(naming):
            for note in notes:
                found[note].add(entity)
        for note_id, row in rows.items():
            some = row.titled if titled else row.mentioned
            found[self.note_of[note_id]].update(self.entity_of[key] for key in some if key in self.entity_of)
        return [sorted(some) for some in found]

    def named_by(self, entity: int) -> int:
        """Return the number of notes that name an entity, known or not."""
        return self._rows[entity].titles + self._rows[entity].mentions


def _label(row: EntityRow) -> str:
    """Return the title, else the commonest surface; ties go to the first in order of text."""
    if row.label:
        return row.label
    if row.titling:
        return min(name for one in row.titling for name in one.names)
    return commonest((name for one in row.mentioning for name in one.names), row.key)


def commonest(surfaces: Iterable[str], default: str) -> str:
    """Return the commonest of some names, of equally common ones the first in order of text."""
    counts = Counter(surfaces)
    return min(counts, key=lambda surface: (-counts[surface], surface), default=default)
