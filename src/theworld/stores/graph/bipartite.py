"""Notes x entities as links, paths and the walk read them, over the arrays of one tenant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from theworld.stores.filters import wanted_terms
from theworld.stores.graph.columns import Columns, Lists
from theworld.stores.graph.deriving import walk_arrays
from theworld.stores.graph.pagerank import Walk
from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.graph.whole_walk import WholeWalk
from theworld.stores.records import Filters

T = TypeVar("T")
_MANY = 64
"""Of more notes than these only those of interest are looked at."""


class _ByNumber(Generic[T]):
    """Computes what belongs to a number when it is asked for."""

    def __init__(self, of: Callable[[int], T]) -> None:
        self._of = of

    def __getitem__(self, number: int) -> T:
        return self._of(number)


@dataclass(frozen=True, slots=True)
class _Face:
    document_id: str
    title: str


class Bipartite:
    """The graph of one tenant at one moment; making it reads nothing."""

    def __init__(self, columns: Columns, parameters: RankingParameters, *, weighing: str | None = None) -> None:
        """`weighing` is what the weights among the columns were made with, None for these parameters."""
        self.columns, self.parameters = columns, parameters
        self._weighing = parameters.weighing() if weighing is None else weighing
        self.note_ids, self.keys = columns.notes, columns.keys
        self.titled, self.mentioned = columns.titled, columns.mentioned
        self.titles, self.mentions = columns.titles, columns.mentions
        self.labels = _ByNumber(lambda entity: columns.texts[columns.label[entity]])
        self.facts = _ByNumber(self._face)
        self.rarity = _ByNumber(self._rarity)

    def _face(self, note: int) -> _Face:
        columns = self.columns
        return _Face(columns.documents[columns.document[note]], columns.texts[columns.title[note]])

    def _rarity(self, entity: int) -> float:
        notes = self.named_by(entity)
        joins = self.parameters.fewest <= notes <= self.parameters.most
        return self.parameters.rarity(notes) if joins else 0.0

    def named_by(self, entity: int) -> int:
        """Return the number of notes that name an entity, as their title or in their text."""
        return self.titles.length(entity) + self.mentions.length(entity)

    def known(self, note_ids: Sequence[str]) -> list[int]:
        """Return the numbers of the notes that exist."""
        return [row for row in self.note_ids.find(note_ids).tolist() if row >= 0]

    def known_entities(self, keys: Sequence[str]) -> list[int]:
        """Return the numbers of the entities that exist."""
        return [row for row in self.keys.find(keys).tolist() if row >= 0]

    def leads_to(self, note: int) -> Iterator[tuple[int, int, float]]:
        """Yield (other note, entity, weight) for all that a note leads to."""
        for entity in self.titled[note]:
            yield from self._others(note, entity, self.titles, 1.0)
            yield from self._others(note, entity, self.mentions, 1.0 if self.rarity[entity] else 0.0)
        for entity in self.mentioned[note]:
            yield from self._others(note, entity, self.titles, 1.0)
            yield from self._others(note, entity, self.mentions, self.rarity[entity])

    def reached_from(self, note: int, among: NDArray[np.int64]) -> Iterator[tuple[int, int, float]]:
        """Yield (other note, entity, weight) for all that lead to a note: also over hubs, to what they title.

        Of a hub's notes only those in `among`, ascending.
        """
        for entity in self.titled[note]:
            yield from self._others(note, entity, self.titles, 1.0, among)
            yield from self._others(note, entity, self.mentions, 1.0, among)
        for entity in self.mentioned[note]:
            yield from self._others(note, entity, self.titles, 1.0 if self.rarity[entity] else 0.0, among)
            yield from self._others(note, entity, self.mentions, self.rarity[entity], among)

    @staticmethod
    def _others(
        note: int, entity: int, notes: Lists, weight: float, among: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[int, int, float]]:
        if weight:
            found: NDArray[Any] = notes.array(entity)
            if among is not None and len(found) > _MANY:
                places = np.minimum(np.searchsorted(found, among), len(found) - 1)
                found = among[found[places] == among]
            for other in found.tolist():
                if other != note:
                    yield other, entity, weight

    def filtered(self, filters: Filters) -> Callable[[int], bool]:
        """Return what tells whether a note passes the filters."""
        wanted = [set(self.columns.terms.find(some).tolist()) - {-1} for some in wanted_terms(filters)]
        terms_of = self.columns.terms_of
        return lambda note: all(not some.isdisjoint(terms_of[note]) for some in wanted)

    @cached_property
    def walk(self) -> Walk | WholeWalk:
        """Return the random walk over notes (first) and entities."""
        arrays = self.columns.arrays
        if self._weighing != self.parameters.weighing():
            arrays = walk_arrays(arrays, self.parameters)
        starts, targets, weights = (np.asarray(arrays[f"walk.{name}"]) for name in ("starts", "targets", "weights"))
        if len(targets) > self.parameters.whole:
            return Walk(starts, targets, weights)
        return WholeWalk(starts, targets, weights, len(self.note_ids))
