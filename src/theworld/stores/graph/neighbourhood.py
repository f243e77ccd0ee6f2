"""The part of a graph that was fetched from a server: rows that links and paths look at, and the walk over it.

Notes are followed where the walk is with more than a little probability; from where it has not been followed further it
goes back to the seeds, as it does from a node without edges. What is missed is bounded by the probability that was left
there.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from theworld.stores.graph.columns import by_row
from theworld.stores.graph.entity_graph import EntityGraph
from theworld.stores.graph.pagerank import Floats, RankingParameters, Walk


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
class EntityRow:
    """An entity and, where they were asked for, the notes that name it."""

    key: str
    label: str
    named_by: int
    """How many notes name it, known or not."""
    titling: dict[str, str] = field(default_factory=dict)
    """Titles, by id, of the notes it is the title of."""
    mentioning: dict[str, str] = field(default_factory=dict)
    """Titles, by id, of the others; none for a hub whose mentions were not asked for."""
    whole: bool = False
    """Whether the mentions were asked for even of a hub."""


class Neighbourhood(EntityGraph):
    """Rows numbered in the order of their ids, with the same faces as the embedded graph, which links and paths read.

    Counts are those of the whole graph, lists those of the rows.
    """

    note_ids: list[str]

    def __init__(self, notes: Iterable[NoteRow], entities: Iterable[EntityRow], parameters: RankingParameters) -> None:
        rows, by_key = {row.note_id: row for row in notes}, {row.key: row for row in entities}
        naming = {note: title for row in by_key.values() for note, title in (row.titling | row.mentioning).items()}
        self.parameters = parameters
        self.note_ids = sorted({*rows, *naming})
        self.note_of = {note: i for i, note in enumerate(self.note_ids)}
        self.document_of = [rows[note].document_id if note in rows else "" for note in self.note_ids].__getitem__
        self.title_of = [rows[note].title if note in rows else naming[note] for note in self.note_ids].__getitem__
        ordered = [row for _, row in sorted(by_key.items())]
        self.entity_of = {row.key: i for i, row in enumerate(ordered)}
        self.label = [row.label for row in ordered].__getitem__
        self.named_by = [row.named_by for row in ordered].__getitem__
        self.titles = [[self.note_of[note] for note in row.titling] for row in ordered]
        self.mentions = [[self.note_of[note] for note in row.mentioning] for row in ordered]
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


AT_ONCE = 2000
"""Notes fetched in one round, the most visited first."""
_PROBABILITY = 5e-5
"""A note that the walk visits with less is not followed further."""

EntitySteps = tuple[int, int, Sequence[str], Sequence[str]]
"""How many notes an entity is the title of, how many others mention it, and ids of both; of a hub only the former's."""


class BoundedWalk:
    """Nodes and edges as far as they are known; thread-safe. It only grows, so the next walk finds more there."""

    def __init__(self, parameters: RankingParameters) -> None:
        self._parameters = parameters
        self._numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        """Of notes and of entities."""
        self._note_names: dict[int, str] = {}
        self._followed: list[bool] = []
        self._gone: tuple[set[str], set[str]] = (set(), set())
        """Notes and entities that the server does not know."""
        self.counts: dict[str, tuple[int, int]] = {}
        """Of the entities that have been followed, how many notes they are the title of, and how many mention them."""
        self._edges = array("q"), array("q"), array("d")
        """Sources, targets and weights."""
        self._walk: Walk | None = None
        self._lock = threading.RLock()

    @property
    def size(self) -> int:
        """Number of nodes met."""
        return len(self._followed)

    def unfollowed(self, kind: int, names: Iterable[str]) -> list[str]:
        """Return which notes (kind 0) or entities (1) have not been followed."""
        numbers, gone = self._numbers[kind], self._gone[kind]
        return [name for name in names if name not in gone and not (name in numbers and self._followed[numbers[name]])]

    def _number(self, kind: int, name: str) -> int:
        number = self._numbers[kind].get(name)
        if number is None:
            number = self._numbers[kind][name] = len(self._followed)
            self._followed.append(False)
            if not kind:
                self._note_names[number] = name
        return number

    def add(
        self, notes: Iterable[NoteRow], entities: Mapping[str, EntitySteps], gone: tuple[set[str], set[str]]
    ) -> None:
        """Take in where notes lead, and entities by their keys, those that the notes name among them.

        `gone` are notes and entities that the server does not know: they are left out.
        """
        title, shared, joining = self._parameters.title_weight, self._parameters.shared_weight, self._parameters.joining
        with self._lock:
            self.counts.update({key: (titles, mentions) for key, (titles, mentions, _, _) in entities.items()})
            # By rarity an entity leads to what mentions it, and to what it titles.
            for key, (titles, mentions, titling, mentioning) in entities.items():
                rare = shared * joining(titles + mentions)
                self._follow(1, key, [*((one, title) for one in titling), *((one, rare) for one in mentioning)])
            # By rarity (1 for a title) a note leads to what it mentions, and to its titles.
            for note in notes:
                edges = [(key, title) for key in note.titled if key in self.counts]
                for key in note.mentioned:
                    titles, mentions = self.counts.get(key, (0, 0))
                    edges.append((key, title if titles else shared * joining(mentions)))
                self._follow(0, note.note_id, edges)
            for known, names in zip(self._gone, gone, strict=True):
                known.update(names)
            self._walk = None

    def _follow(self, kind: int, name: str, edges: Sequence[tuple[str, float]]) -> None:
        source = self._number(kind, name)
        if self._followed[source]:
            return
        self._followed[source] = True
        kept = [(self._number(1 - kind, target), weight) for target, weight in edges if weight > 0]
        total = sum(weight for _, weight in kept)
        sources, targets, weights = self._edges
        sources.extend([source] * len(kept))
        targets.extend(target for target, _ in kept)
        weights.extend(weight / total for _, weight in kept)

    def rank(self, notes: Mapping[str, float], entities: Mapping[str, float]) -> Floats:
        """Return the probability of each node met so far, by number; zeros when no seed was met."""
        with self._lock:
            if self._walk is None:
                sources, targets, steps = map(np.array, self._edges)
                starts, columns, summed = by_row(sources, targets, steps, self.size)
                self._walk = Walk(starts, columns.astype(np.int32), summed)
            walk = self._walk
            seeds: dict[int, float] = {}
            for kind, weights in enumerate((notes, entities)):
                for name, weight in weights.items():
                    number = self._numbers[kind].get(name)
                    if number is not None and name not in self._gone[kind]:
                        seeds[number] = weight
        ranks: Floats = np.zeros(walk.size)
        if seeds:
            nodes = np.array(sorted(seeds), np.int64)
            reached = walk.pagerank(nodes, np.array([seeds[node] for node in nodes.tolist()]), self._parameters)
            ranks[reached.nodes] = reached.ranks
        return ranks

    def to_follow(self, ranks: Floats) -> list[str]:
        """Return the notes to be fetched next, most visited first; ties in the order they were met."""
        waiting = np.flatnonzero(~np.array(self._followed[: len(ranks)], bool) & (ranks > _PROBABILITY))
        best = waiting[np.argsort(-ranks[waiting], kind="stable")][:AT_ONCE]
        return self.unfollowed(0, (self._note_names[number] for number in best.tolist() if number in self._note_names))

    def notes(self, ranks: Floats) -> dict[str, float]:
        """Return the probability of each note that the walk visits."""
        names, visited, gone = self._note_names, np.flatnonzero(ranks > 0).tolist(), self._gone[0]
        known = ((names[number], number) for number in visited if number in names)
        return {name: float(ranks[number]) for name, number in known if name not in gone}
