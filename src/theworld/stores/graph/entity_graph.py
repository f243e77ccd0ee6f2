"""Links, notes joined by what they name, and evidence paths, how a note is reached from the seeds; what both read of a
graph, be it whole and mapped from files or a part of one on a server.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from theworld.state import EvidencePath, PathStep
from theworld.stores.array_folder import StringTable
from theworld.stores.graph.columns import Lists
from theworld.stores.graph.pagerank import RankingParameters
from theworld.stores.protocols import Link

Numbers = Lists | list[list[int]]
"""Numbers for each number, mapped from a file or fetched."""


def with_weight(seeds: Mapping[str, float]) -> dict[str, float]:
    """Return the seeds of a walk that have a weight."""
    return {name: weight for name, weight in seeds.items() if weight > 0 and math.isfinite(weight)}


class EntityGraph:
    """Notes and entities, each numbered in the order of ids or keys."""

    parameters: RankingParameters
    note_ids: StringTable | list[str]
    document_of: Callable[[int], str]
    """Tells the id of a note's document."""
    title_of: Callable[[int], str]
    label: Callable[[int], str]
    """Tells the name of an entity."""
    named_by: Callable[[int], int]
    """Tells how many notes name an entity, as their title or in their text."""
    titled: Numbers
    """For each note the entities that are its document's title or alias."""
    mentioned: Numbers
    """For each note the further entities it mentions."""
    titles: Numbers
    """For each entity the notes it is the title of."""
    mentions: Numbers
    """For each entity the other notes that mention it."""

    def rarity(self, entity: int) -> float:
        """Return the weight of a link between notes that mention an entity; 0 for a hub or what joins nothing."""
        return self.parameters.joining(self.named_by(entity))

    def leads_to(self, note: int) -> Iterator[tuple[int, Sequence[int], float]]:
        """Yield (entity, notes, weight) for all that a note leads to, itself included: over hubs to what they title."""
        for named, titled in ((self.titled[note], True), (self.mentioned[note], False)):
            for entity in named:
                yield entity, self.titles[entity], 1.0
                if rarity := self.rarity(entity):
                    yield entity, self.mentions[entity], 1.0 if titled else rarity

    def reached_from(self, note: int, among: NDArray[np.int64]) -> Iterator[tuple[int, Sequence[int], float]]:
        """Yield (entity, notes, weight) for all that lead to a note, itself included; over hubs to what they title too.

        Only those in `among`, ascending, are of interest; others may be left out.
        """
        for named, titled in ((self.titled[note], True), (self.mentioned[note], False)):
            for entity in named:
                if weight := 1.0 if titled else self.rarity(entity):
                    yield entity, self.within(self.titles, entity, among), 1.0
                    yield entity, self.within(self.mentions, entity, among), weight

    def within(self, notes: Numbers, entity: int, among: NDArray[np.int64]) -> list[int]:  # noqa: ARG002
        """Return the notes of an entity, those in `among` at least."""
        return notes[entity]


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
        return graph.note_ids[note], graph.document_of(note)

    found: list[Link] = []
    for entity in sorted({*titled, *mentioned}):
        titling, mentioning = titled.get(entity, []), mentioned.get(entity, [])
        if len(titling) + len(mentioning) < 2:  # most are named by one of the notes alone
            continue
        label, rarity = graph.label(entity), graph.rarity(entity)
        pairs = [(source, target) for source in mentioning for target in titling]
        for one, other in (*pairs, *combinations(titling, 2)):
            (source, document), (target, other_document) = ends(one), ends(other)
            if document != other_document:
                found.append(Link(source, target, label, 1.0, titled=True))
        if rarity:
            some = combinations(mentioning, 2)
            found += [Link(ends(one)[0], ends(other)[0], label, rarity, titled=False) for one, other in some]
    return sorted(found, key=lambda link: (not link.titled, -link.weight, link.source, link.target, link.via))


_FRONTIER = 1000
"""Notes from which a search goes on, the best first: bounds the work at hubs."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How a note was reached: from a note (or a seed entity, when `source` is None) over an entity."""

    source: int | None
    entity: int
    weight: float


class _Layer(dict[int, _Way]):
    """The best way to each note of one distance; of equally heavy ways the first."""

    def add(self, notes: Iterable[int], way: _Way) -> None:
        """Add one way, which leads to some notes."""
        for note in notes:
            if note not in self or way.weight > self[note].weight:
                self[note] = way


class PathSearch:
    """Breadth-first from all seeds at once; of equally short ways the heaviest counts, then the first by id."""

    def __init__(self, graph: EntityGraph, notes: Iterable[int], entities: Iterable[int]) -> None:
        self._graph = graph
        self._layers: list[_Layer] = []
        self._seeds = sorted(set(notes))
        self._entities = sorted(set(entities))

    def find(self, targets: Sequence[int], max_hops: int) -> list[EvidencePath]:
        """Return the best path to each target that can be reached, shortest first, then heaviest."""
        wanted = list(dict.fromkeys(targets))
        found: list[tuple[int, EvidencePath]] = []
        for hop in range(1, max_hops + 1):
            self._layers.append(self._reached(wanted if hop == max_hops else None))
            for target in tuple(wanted):
                way = self._layers[-1].get(target)
                if way is not None:
                    note, steps = self._graph.note_ids[target], self._steps(target)
                    found.append((hop, EvidencePath(note_id=note, steps=steps, weight=way.weight)))
                    wanted.remove(target)
            if not wanted:
                break
        return [path for _, path in sorted(found, key=lambda item: (item[0], -item[1].weight, item[1].note_id))]

    def _reached(self, wanted: Sequence[int] | None) -> _Layer:
        """Return the ways to the notes one hop on: from the seeds, or from the last layer's notes.

        Where only some notes are `wanted`, at the last hop, it looks back from them to the last layer. Else a note that
        was seen in an earlier layer (or is a seed) is not reached again.
        """
        layer, graph = _Layer(), self._graph
        if not self._layers:
            for entity in self._entities:
                layer.add(graph.titles[entity], _Way(None, entity, 1.0))
                rarity = graph.rarity(entity) or graph.parameters.rarity(graph.named_by(entity))
                layer.add(graph.mentions[entity], _Way(None, entity, rarity))
            for note in self._seeds:
                for entity, notes, weight in graph.leads_to(note):
                    layer.add((one for one in notes if one != note), _Way(note, entity, weight))
            return layer
        last = self._layers[-1]
        if wanted is not None:
            among = np.array(sorted(last), np.int64)
            for target in wanted:
                for entity, notes, weight in graph.reached_from(target, among):
                    for note in notes:
                        if note in last:
                            layer.add([target], _Way(note, entity, last[note].weight * weight))
            return layer
        seen = set(self._seeds).union(*self._layers)
        for note, so_far in sorted(last.items(), key=lambda item: (-item[1].weight, item[0]))[:_FRONTIER]:
            for entity, notes, weight in graph.leads_to(note):
                layer.add((one for one in notes if one not in seen), _Way(note, entity, so_far.weight * weight))
        return layer

    def _steps(self, note: int) -> tuple[PathStep, ...]:
        """Return the way to a note that the last layer has reached, from a seed."""
        graph, steps = self._graph, list[PathStep]()
        for layer in reversed(self._layers):
            way = layer[note]
            label = graph.label(way.entity)
            relation = "title_of" if way.entity in graph.titled[note] else "mentioned_in"
            steps.append(PathStep(source=label, relation=relation, target=self._name(note)))
            if way.source is None:
                break
            note = way.source
            relation = "has_title" if way.entity in graph.titled[note] else "mentions"
            steps.append(PathStep(source=self._name(note), relation=relation, target=label))
        return tuple(reversed(steps))

    def _name(self, note: int) -> str:
        return self._graph.title_of(note) or self._graph.note_ids[note]
