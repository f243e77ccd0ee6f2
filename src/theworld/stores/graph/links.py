"""Links: which of some notes name the same entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from theworld.stores.graph.entity_graph import EntityGraph
from theworld.stores.protocols import Link


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
    # Most entities are named by one of the notes alone, and what is read of an entity or a note costs microseconds.
    joining = [e for e in sorted({*titled, *mentioned}) if len(titled.get(e, ())) + len(mentioned.get(e, ())) > 1]
    ends = _Ends(graph)
    found = [
        link
        for entity in joining
        for link in _links_over(graph, ends, entity, titled.get(entity, []), mentioned.get(entity, []))
    ]
    return sorted(found, key=lambda link: (not link.titled, -link.weight, link.source, link.target, link.via))


class _Ends:
    """Ids of notes and of their documents, each read once."""

    def __init__(self, graph: EntityGraph) -> None:
        self._graph = graph
        self._known: dict[int, tuple[str, str]] = {}

    def __getitem__(self, note: int) -> tuple[str, str]:
        known = self._known.get(note)
        if known is None:
            known = self._known[note] = self._graph.note_ids[note], self._graph.facts[note].document_id
        return known


def _links_over(
    graph: EntityGraph, ends: _Ends, entity: int, titled: Sequence[int], mentioning: Sequence[int]
) -> Iterator[Link]:
    label = graph.labels[entity]
    pairs = [(source, target) for source in mentioning for target in titled]
    for one, other in (*pairs, *combinations(titled, 2)):
        (source, document), (target, other_document) = ends[one], ends[other]
        if document != other_document:
            yield Link(source, target, label, 1.0, titled=True)
    rarity = graph.rarity[entity]
    if rarity:
        for one, other in combinations(mentioning, 2):
            yield Link(ends[one][0], ends[other][0], label, rarity, titled=False)
