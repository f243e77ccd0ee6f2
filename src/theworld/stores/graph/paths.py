"""Evidence paths: how a note is reached from the seeds, over at most so many notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from theworld.state import EvidencePath, PathStep
from theworld.stores.graph.entity_graph import EntityGraph

_FRONTIER = 1000
"""Notes from which a search goes on, the best first: bounds the work at hubs."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How a note was reached: from a note (or a seed entity, when `source` is None) over an entity."""

    source: int | None
    entity: int
    weight: float


class _Layer:
    """The best way to each note of one distance; of equally heavy ways the first."""

    def __init__(self) -> None:
        self._notes: list[int] = []
        self._ways: list[_Way] = []
        self._lengths: list[int] = []

    def add(self, notes: Sequence[int], way: _Way) -> None:
        """Add one way, which leads to some notes."""
        self._notes += notes
        self._lengths.append(len(notes))
        self._ways.append(way)

    def close(self) -> _Layer:
        """Choose the best way to each note."""
        notes = np.array(self._notes, np.int64)
        ways = np.repeat(np.arange(len(self._ways)), np.array(self._lengths, np.int64))
        weights = np.array([way.weight for way in self._ways], np.float64)[ways]
        best = np.lexsort((ways, -weights, notes))
        self.notes, first = np.unique(notes[best], return_index=True)
        self.weights = weights[best][first]
        self._way_of = ways[best][first]
        return self

    def way(self, note: int) -> _Way | None:
        """Return how a note was reached; None when it was not."""
        place = int(np.searchsorted(self.notes, note))
        found = place < len(self.notes) and self.notes[place] == note
        return self._ways[self._way_of[place]] if found else None


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
            if hop == 1:
                self._layers.append(self._first())
            else:
                self._layers.append(self._next() if hop < max_hops else self._arrivals(wanted))
            for target in tuple(wanted):
                way = self._layers[-1].way(target)
                if way is not None:
                    note, steps = self._graph.note_ids[target], self._steps(target)
                    found.append((hop, EvidencePath(note_id=note, steps=steps, weight=way.weight)))
                    wanted.remove(target)
            if not wanted:
                break
        return [path for _, path in sorted(found, key=lambda item: (item[0], -item[1].weight, item[1].note_id))]

    def _first(self) -> _Layer:
        layer, graph = _Layer(), self._graph
        for entity in self._entities:
            layer.add(graph.titles[entity], _Way(None, entity, 1.0))
            rarity = graph.rarity(entity) or graph.parameters.rarity(graph.named_by(entity))
            layer.add(graph.mentions[entity], _Way(None, entity, rarity))
        for note in self._seeds:
            for target, entity, weight in graph.leads_to(note):
                layer.add([target], _Way(note, entity, weight))
        return layer.close()

    def _next(self) -> _Layer:
        """Go on from the last layer's notes; a note seen in an earlier layer (or a seed) is not reached again."""
        last, layer = self._layers[-1], _Layer()
        best = np.lexsort((last.notes, -last.weights))[:_FRONTIER]
        seen = set(self._seeds).union(*(some.notes.tolist() for some in self._layers))
        for note, so_far in zip(last.notes[best].tolist(), last.weights[best].tolist(), strict=True):
            for target, entity, weight in self._graph.leads_to(note):
                if target not in seen:
                    layer.add([target], _Way(note, entity, so_far * weight))
        return layer.close()

    def _arrivals(self, targets: Sequence[int]) -> _Layer:
        """Look back from the targets to the last layer: the last hop, where only they matter."""
        last, layer = self._layers[-1], _Layer()
        for target in targets:
            for note, entity, weight in self._graph.reached_from(target, last.notes):
                way = last.way(note)
                if way is not None:
                    layer.add([target], _Way(note, entity, way.weight * weight))
        return layer.close()

    def _steps(self, note: int) -> tuple[PathStep, ...]:
        """Return the way to a note that the last layer has reached, from a seed."""
        graph, steps = self._graph, list[PathStep]()
        for layer in reversed(self._layers):
            way = layer.way(note)
            assert way is not None
            label = graph.labels[way.entity]
            relation = "title_of" if way.entity in graph.titled[note] else "mentioned_in"
            steps.append(PathStep(source=label, relation=relation, target=self._name(note)))
            if way.source is None:
                break
            note = way.source
            relation = "has_title" if way.entity in graph.titled[note] else "mentions"
            steps.append(PathStep(source=self._name(note), relation=relation, target=label))
        return tuple(reversed(steps))

    def _name(self, note: int) -> str:
        return self._graph.facts[note].title or self._graph.note_ids[note]
