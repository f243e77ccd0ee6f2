"""A random walk over a graph on a server, of which only the part that matters is fetched.

Notes are followed where the walk is with more than a little probability; from where it has not been followed further it
goes back to the seeds, as it does from a node without edges. What is missed is bounded by the probability that was left
there, and is told.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theworld.stores.graph.deriving import Rows, by_row
from theworld.stores.graph.pagerank import Floats, Walk
from theworld.stores.graph.parameters import RankingParameters

Edges = tuple[NDArray[np.int64], NDArray[np.int64], Floats]


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the graph a walk may fetch."""

    probability: float = 5e-5
    """A note that the walk visits with less is not followed further."""
    at_once: int = 2000
    """Notes fetched in one round, the most visited first."""
    rounds: int = 12
    """Rounds after which the walk makes do with what it has."""


@dataclass(frozen=True, slots=True)
class NoteSteps:
    """Where a note leads: keys of entities."""

    note_id: str
    titled: Sequence[str]
    mentioned: Sequence[str]


@dataclass(frozen=True, slots=True)
class EntitySteps:
    """Where an entity leads: ids of notes; `mentioning` is empty for a hub."""

    key: str
    titles: int
    mentions: int
    titling: Sequence[str]
    mentioning: Sequence[str]


class BoundedWalk:
    """Nodes and edges as far as they are known; thread-safe. It only grows, so the next walk finds more there."""

    def __init__(self, parameters: RankingParameters) -> None:
        self._parameters = parameters
        self._numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._note_names: dict[int, str] = {}
        self._followed: list[bool] = []
        self._gone: tuple[set[str], set[str]] = (set(), set())
        self._counts: dict[str, tuple[int, int]] = {}
        self._edges: Edges = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        self._pending: tuple[list[int], list[int], list[float]] = ([], [], [])
        self._walk: Walk | None = None
        self._lock = threading.RLock()

    @property
    def size(self) -> int:
        """Number of nodes met."""
        return len(self._followed)

    def keys(self) -> list[str]:
        """Return the entities that have been followed."""
        return list(self._counts)

    def unknown(self, notes: Iterable[str], entities: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return which notes and entities have not been followed."""
        return self._unfollowed(0, notes), self._unfollowed(1, entities)

    def _unfollowed(self, kind: int, names: Iterable[str]) -> list[str]:
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

    def add(self, notes: Iterable[NoteSteps], entities: Iterable[EntitySteps]) -> None:
        """Take in where notes lead, and entities, those that the notes name among them."""
        with self._lock:
            found = list(entities)
            self._counts.update((one.key, (one.titles, one.mentions)) for one in found)
            for entity in found:
                self._add_entity(entity)
            for note in notes:
                self._add_note(note)
            self._walk = None

    def _add_note(self, row: NoteSteps) -> None:
        """By rarity (1 for a title) a note leads to what it mentions, and to its titles."""
        title, shared = self._parameters.title_weight, self._parameters.shared_weight
        edges = [(key, title) for key in row.titled if key in self._counts]
        for key in row.mentioned:
            titles, mentions = self._counts.get(key, (0, 0))
            edges.append((key, title if titles else shared * self._parameters.joining(mentions)))
        self._add(0, row.note_id, edges)

    def _add_entity(self, row: EntitySteps) -> None:
        """By rarity an entity leads to what mentions it, and to what it titles."""
        mentioned = self._parameters.shared_weight * self._parameters.joining(row.titles + row.mentions)
        edges = [(note, self._parameters.title_weight) for note in row.titling]
        edges += [(note, mentioned) for note in row.mentioning]
        self._add(1, row.key, edges)

    def _add(self, kind: int, name: str, edges: Sequence[tuple[str, float]]) -> None:
        source = self._number(kind, name)
        if self._followed[source]:
            return
        self._followed[source] = True
        kept = [(self._number(1 - kind, target), weight) for target, weight in edges if weight > 0]
        total = sum(weight for _, weight in kept)
        sources, targets, weights = self._pending
        sources += [source] * len(kept)
        targets += [target for target, _ in kept]
        weights += [weight / total for _, weight in kept]

    def give_up(self, notes: Iterable[str], entities: Iterable[str]) -> None:
        """Leave these out: the server does not know them."""
        with self._lock:
            for kind, names in enumerate((notes, entities)):
                self._gone[kind].update(names)

    def rank(self, notes: Mapping[str, float], entities: Mapping[str, float]) -> Floats:
        """Return the probability of each node met so far, by number; zeros when no seed was met."""
        with self._lock:
            if self._walk is None:
                rows = self._rows()
                self._walk = Walk(rows.starts, rows.columns.astype(np.int32), rows.weights)
            seeds: dict[int, float] = {}
            for kind, weights in enumerate((notes, entities)):
                for name, weight in weights.items():
                    number = self._numbers[kind].get(name)
                    if number is not None and name not in self._gone[kind]:
                        seeds[number] = weight
            walk = self._walk
        ranks: Floats = np.zeros(walk.size)
        if seeds:
            nodes = np.array(sorted(seeds), np.int64)
            reached = walk.pagerank(nodes, np.array([seeds[node] for node in nodes.tolist()]), self._parameters)
            ranks[reached.nodes] = reached.ranks
        return ranks

    def _rows(self) -> Rows:
        old, new = self._edges, self._pending
        sources, targets = (np.concatenate([old[i], np.array(new[i], np.int64)]) for i in (0, 1))
        weights = np.concatenate([old[2], np.array(new[2], np.float64)])
        self._edges, self._pending = (sources, targets, weights), ([], [], [])
        return by_row(sources, targets, weights, self.size)

    def left(self, ranks: Floats) -> float:
        """Return the probability at nodes that were not followed further."""
        return float(ranks[self._open(ranks)].sum())

    def _open(self, ranks: Floats) -> NDArray[np.bool_]:
        return ~np.array(self._followed[: len(ranks)], bool)

    def to_follow(self, ranks: Floats, reach: Reach) -> list[str]:
        """Return the notes to be fetched next, most visited first; ties in the order they were met."""
        waiting = np.flatnonzero(self._open(ranks) & (ranks > reach.probability))
        best = waiting[np.argsort(-ranks[waiting], kind="stable")][: reach.at_once]
        met = (self._note_names[number] for number in best.tolist() if number in self._note_names)
        return self._unfollowed(0, met)

    def notes(self, ranks: Floats) -> dict[str, float]:
        """Return the probability of each note that the walk visits."""
        names, visited, gone = self._note_names, np.flatnonzero(ranks > 0).tolist(), self._gone[0]
        known = ((names[number], number) for number in visited if number in names)
        return {name: float(ranks[number]) for name, number in known if name not in gone}
