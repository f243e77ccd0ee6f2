"""What links and paths read of a graph, be it whole and mapped from files or a part of one on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from theworld.stores.graph.parameters import RankingParameters

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ByNumber(Protocol[T_co]):
    """Something for each number."""

    def __getitem__(self, number: int, /) -> T_co:
        """Return what belongs to a number."""


class Computed(Generic[T]):
    """Computes what belongs to a number when it is asked for."""

    def __init__(self, of: Callable[[int], T]) -> None:
        self._of = of

    def __getitem__(self, number: int) -> T:
        return self._of(number)


class NoteFace(NamedTuple):
    """A note as links and paths see it."""

    document_id: str
    title: str


class EntityGraph:
    """Notes and entities, each numbered in the order of ids or keys."""

    parameters: RankingParameters
    note_ids: ByNumber[str]
    facts: ByNumber[NoteFace]
    labels: ByNumber[str]
    """Names of the entities."""
    titled: ByNumber[list[int]]
    """For each note the entities that are its document's title or alias."""
    mentioned: ByNumber[list[int]]
    """For each note the further entities it mentions."""
    titles: ByNumber[list[int]]
    """For each entity the notes it is the title of."""
    mentions: ByNumber[list[int]]
    """For each entity the other notes that mention it."""

    def named_by(self, entity: int) -> int:
        """Return the number of notes that name an entity, as their title or in their text."""
        raise NotImplementedError

    def rarity(self, entity: int) -> float:
        """Return the weight of a link between notes that mention an entity; 0 for a hub or what joins nothing."""
        return self.parameters.joining(self.named_by(entity))

    def leads_to(self, note: int) -> Iterator[tuple[int, int, float]]:
        """Yield (other note, entity, weight) for all that a note leads to."""
        for entity in self.titled[note]:
            yield from _others(note, entity, self.titles[entity], 1.0)
            yield from _others(note, entity, self.mentions[entity] if self.rarity(entity) else (), 1.0)
        for entity in self.mentioned[note]:
            yield from _others(note, entity, self.titles[entity], 1.0)
            rarity = self.rarity(entity)
            yield from _others(note, entity, self.mentions[entity] if rarity else (), rarity)

    def reached_from(self, note: int, among: NDArray[np.int64]) -> Iterator[tuple[int, int, float]]:
        """Yield (other note, entity, weight) for all that lead to a note: also over hubs, to what they title.

        Only those in `among`, ascending, are of interest; others may be left out.
        """
        for entity in self.titled[note]:
            yield from _others(note, entity, self.within(self.titles, entity, among), 1.0)
            yield from _others(note, entity, self.within(self.mentions, entity, among), 1.0)
        for entity in self.mentioned[note]:
            rarity = self.rarity(entity)
            if rarity:
                yield from _others(note, entity, self.within(self.titles, entity, among), 1.0)
                yield from _others(note, entity, self.within(self.mentions, entity, among), rarity)

    def within(self, notes: ByNumber[list[int]], entity: int, among: NDArray[np.int64]) -> list[int]:  # noqa: ARG002
        """Return the notes of an entity, those in `among` at least."""
        return notes[entity]


def _others(note: int, entity: int, notes: Sequence[int], weight: float) -> Iterator[tuple[int, int, float]]:
    for other in notes:
        if other != note:
            yield other, entity, weight
