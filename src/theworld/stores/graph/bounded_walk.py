"""A random walk over a graph on a server, of which only the part that matters is fetched.

Notes are followed where the walk is with more than a little probability; from where it has not been followed further it
goes back to the seeds, as it does from a node without edges. What is missed is bounded by the probability that was left
there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from theworld.stores.graph.deriving import by_row
from theworld.stores.graph.neighbourhood import NoteRow
from theworld.stores.graph.pagerank import Floats, Walk
from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.string_table import Rows

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
        self._counts: dict[str, tuple[int, int]] = {}
        self._edges: tuple[Rows, Rows, Floats] = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
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

    def add(self, notes: Iterable[NoteRow], entities: Mapping[str, EntitySteps]) -> None:
        """Take in where notes lead, and entities by their keys, those that the notes name among them."""
        title, shared, joining = self._parameters.title_weight, self._parameters.shared_weight, self._parameters.joining
        with self._lock:
            self._counts.update({key: (titles, mentions) for key, (titles, mentions, _, _) in entities.items()})
            # By rarity an entity leads to what mentions it, and to what it titles.
            for key, (titles, mentions, titling, mentioning) in entities.items():
                rare = shared * joining(titles + mentions)
                self._follow(1, key, [*((one, title) for one in titling), *((one, rare) for one in mentioning)])
            # By rarity (1 for a title) a note leads to what it mentions, and to its titles.
            for note in notes:
                edges = [(key, title) for key in note.titled if key in self._counts]
                for key in note.mentioned:
                    titles, mentions = self._counts.get(key, (0, 0))
                    edges.append((key, title if titles else shared * joining(mentions)))
                self._follow(0, note.note_id, edges)
            self._walk = None

    def give_up(self, notes: Iterable[str], entities: Iterable[str]) -> None:
        """Leave these out: the server does not know them."""
        with self._lock:
            for kind, names in enumerate((notes, entities)):
                self._gone[kind].update(names)

    def _follow(self, kind: int, name: str, edges: Sequence[tuple[str, float]]) -> None:
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

    def rank(self, notes: Mapping[str, float], entities: Mapping[str, float]) -> Floats:
        """Return the probability of each node met so far, by number; zeros when no seed was met."""
        with self._lock:
            walk = self._walk = self._walk or self._made()
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

    def _made(self) -> Walk:
        old, new = self._edges, self._pending
        sources, targets = (np.concatenate([old[i], np.array(new[i], np.int64)]) for i in (0, 1))
        weights = np.concatenate([old[2], np.array(new[2], np.float64)])
        self._edges, self._pending = (sources, targets, weights), ([], [], [])
        starts, columns, summed = by_row(sources, targets, weights, self.size)
        return Walk(starts, columns.astype(np.int32), summed)

    def to_follow(self, ranks: Floats) -> list[str]:
        """Return the notes to be fetched next, most visited first; ties in the order they were met."""
        waiting = np.flatnonzero(~np.array(self._followed[: len(ranks)], bool) & (ranks > _PROBABILITY))
        best = waiting[np.argsort(-ranks[waiting], kind="stable")][:AT_ONCE]
        return self._unfollowed(0, (self._note_names[number] for number in best.tolist() if number in self._note_names))

    def notes(self, ranks: Floats) -> dict[str, float]:
        """Return the probability of each note that the walk visits."""
        names, visited, gone = self._note_names, np.flatnonzero(ranks > 0).tolist(), self._gone[0]
        known = ((names[number], number) for number in visited if number in names)
        return {name: float(ranks[number]) for name, number in known if name not in gone}
