"""What links and paths read of a graph, be it whole and mapped from files or a part of one on a server; and links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.protocols import Link

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


def find_links(graph: EntityGraph, notes: Sequence[int]) -> list[Link]:
    """Return the links among notes, title links first, then by weight, then by ids.

    Notes of one document are not linked by its own title: that would say no more than that they are of one document.
    """
    titled: defaultdict[int, list[int]] = defaultdict(list)
    mentioned: defaultdict[int, list[int]] = defaultdict(list)
    for note in sorted(set(notes)):
        for entity in graph.titled[note]:
            titled[entity].append(note)
        for entity in graph.mentioned[note]:
            mentioned[entity].append(note)

    @cache  # what is read of an entity or a note costs microseconds
    def ends(note: int) -> tuple[str, str]:
        return graph.note_ids[note], graph.facts[note].document_id

    found: list[Link] = []
    for entity in sorted({*titled, *mentioned}):
        titling, mentioning = titled.get(entity, []), mentioned.get(entity, [])
        if len(titling) + len(mentioning) < 2:  # most are named by one of the notes alone
            continue
        label, rarity = graph.labels[entity], graph.rarity(entity)
        pairs = [(source, target) for source in mentioning for target in titling]
        for one, other in (*pairs, *combinations(titling, 2)):
            (source, document), (target, other_document) = ends(one), ends(other)
            if document != other_document:
                found.append(Link(source, target, label, 1.0, titled=True))
        if rarity:
            some = combinations(mentioning, 2)
            found += [Link(ends(one)[0], ends(other)[0], label, rarity, titled=False) for one, other in some]
    return sorted(found, key=lambda link: (not link.titled, -link.weight, link.source, link.target, link.via))
