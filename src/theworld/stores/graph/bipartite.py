"""Notes x entities as links, paths and the walk read them, over the arrays of one tenant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from theworld.stores.filters import wanted_terms
from theworld.stores.graph.columns import Columns, Lists
from theworld.stores.graph.entity_graph import ByNumber, Computed, EntityGraph, NoteFace
from theworld.stores.graph.pagerank import Walk
from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.graph.whole_walk import WholeWalk
from theworld.stores.records import Filters
from theworld.stores.string_table import StringTable

_MANY = 64
"""Of more notes than these only those of interest are looked at."""


class Bipartite(EntityGraph):
    """The graph of one tenant at one moment; making it reads nothing."""

    note_ids: StringTable
    titles: Lists
    mentions: Lists

    def __init__(self, columns: Columns, parameters: RankingParameters) -> None:
        self.columns, self.parameters = columns, parameters
        self.note_ids, self.keys = columns.notes, columns.keys
        self.titled, self.mentioned = columns.titled, columns.mentioned
        self.titles, self.mentions = columns.titles, columns.mentions
        self.labels = Computed(lambda entity: columns.texts[columns.label[entity]])
        self.facts = Computed(
            lambda note: NoteFace(columns.documents[columns.document[note]], columns.texts[columns.title[note]])
        )

    def named_by(self, entity: int) -> int:
        """Return the number of notes that name an entity, as their title or in their text."""
        return self.titles.length(entity) + self.mentions.length(entity)

    def known(self, note_ids: Sequence[str]) -> list[int]:
        """Return the numbers of the notes that exist."""
        return [row for row in self.note_ids.find(note_ids).tolist() if row >= 0]

    def known_entities(self, keys: Sequence[str]) -> list[int]:
        """Return the numbers of the entities that exist."""
        return [row for row in self.keys.find(keys).tolist() if row >= 0]

    def within(self, notes: ByNumber[list[int]], entity: int, among: NDArray[np.int64]) -> list[int]:
        """Return the notes of an entity, of very many only those in `among`."""
        assert isinstance(notes, Lists)
        found = notes.array(entity)
        if len(found) > _MANY:
            places = np.minimum(np.searchsorted(found, among), len(found) - 1)
            return cast(list[int], among[found[places] == among].tolist())
        return cast(list[int], found.tolist())

    def filtered(self, filters: Filters) -> Callable[[int], bool]:
        """Return what tells whether a note passes the filters."""
        wanted = [set(self.columns.terms.find(some).tolist()) - {-1} for some in wanted_terms(filters)]
        terms_of = self.columns.terms_of
        return lambda note: all(not some.isdisjoint(terms_of[note]) for some in wanted)

    @cached_property
    def walk(self) -> Walk | WholeWalk:
        """Return the random walk over notes (first) and entities."""
        arrays = self.columns.arrays
        starts, targets, weights = (np.asarray(arrays[f"walk.{name}"]) for name in ("starts", "targets", "weights"))
        if len(targets) > self.parameters.whole:
            return Walk(starts, targets, weights)
        return WholeWalk(starts, targets, weights, len(self.note_ids))
