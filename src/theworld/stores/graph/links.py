"""Links: which of some notes name the same entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
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
