"""Links: which of some notes name the same entity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from theworld.stores.graph.entity_graph import EntityGraph
from theworld.stores.protocols import Link


def find_links(graph: EntityGraph, notes: Sequence[int]) -> list[Link]:
    """Return the links among notes, title links first, then by weight, then by ids.

    Notes of one document are not linked by its own title: that would say no more than that they are of one document.
    """
    titled: dict[int, list[int]] = {}
    mentioned: dict[int, list[int]] = {}
    for note in sorted(set(notes)):
        for entity in graph.titled[note]:
            titled.setdefault(entity, []).append(note)
        for entity in graph.mentioned[note]:
            mentioned.setdefault(entity, []).append(note)
    found = [
        link
        for entity in sorted({*titled, *mentioned})
        for link in _links_over(graph, entity, titled.get(entity, []), mentioned.get(entity, []))
    ]
    return sorted(found, key=lambda link: (not link.titled, -link.weight, link.source, link.target, link.via))


def _links_over(graph: EntityGraph, entity: int, titled: Sequence[int], mentioning: Sequence[int]) -> Iterator[Link]:
    ids, label = graph.note_ids, graph.labels[entity]
    for source in mentioning:
        for target in titled:
            if graph.facts[source].document_id != graph.facts[target].document_id:
                yield Link(ids[source], ids[target], label, 1.0, titled=True)
    for source, target in combinations(titled, 2):
        if graph.facts[source].document_id != graph.facts[target].document_id:
            yield Link(ids[source], ids[target], label, 1.0, titled=True)
    rarity = graph.rarity[entity]
    if rarity:
        for source, target in combinations(mentioning, 2):
            yield Link(ids[source], ids[target], label, rarity, titled=False)
