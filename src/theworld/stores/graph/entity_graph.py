"""What links and paths read of a graph, be it whole and in memory or a part of one on a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from theworld.stores.graph.parameters import RankingParameters

T_co = TypeVar("T_co", covariant=True)


class ByNumber(Protocol[T_co]):
    """Something for each number."""

    def __getitem__(self, number: int, /) -> T_co:
        """Return what belongs to a number."""


class NoteFace(Protocol):
    """A note as links and paths see it."""

    @property
    def document_id(self) -> str:
        """Id of its document."""

    @property
    def title(self) -> str:
        """Title of its document."""


class EntityGraph(Protocol):
    """Notes and entities, each numbered in the order of ids or keys."""

    parameters: RankingParameters

    @property
    def note_ids(self) -> ByNumber[str]:
        """Ids of the notes."""

    @property
    def facts(self) -> ByNumber[NoteFace]:
        """The notes."""

    @property
    def labels(self) -> ByNumber[str]:
        """Names of the entities."""

    @property
    def titled(self) -> ByNumber[list[int]]:
        """For each note the entities that are its document's title or alias."""

    @property
    def mentioned(self) -> ByNumber[list[int]]:
        """For each note the further entities it mentions."""

    @property
    def titles(self) -> ByNumber[list[int]]:
        """For each entity the notes it is the title of."""

    @property
    def mentions(self) -> ByNumber[list[int]]:
        """For each entity the other notes that mention it."""

    @property
    def rarity(self) -> ByNumber[float]:
        """For each entity the weight of a link between notes that mention it; 0 for a hub or what joins nothing."""

    def named_by(self, entity: int) -> int:
        """Return the number of notes that name an entity, as their title or in their text."""

    def leads_to(self, note: int) -> Iterator[tuple[int, int, float]]:
        """Yield (other note, entity, weight) for all that a note leads to."""

    def reached_from(self, note: int, among: NDArray[np.int64]) -> Iterator[tuple[int, int, float]]:
        """Yield (other note, entity, weight) for all that lead to a note: also over hubs, to what they title.

        Only those in `among`, ascending, are of interest; others may be left out.
        """
