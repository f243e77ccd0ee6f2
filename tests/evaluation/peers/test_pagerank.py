"""PageRank over notes and entities, on a graph small enough to check by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from peer_measures.pagerank import DAMPING, EntityPageRank

from theworld.evaluation.documents.retrievers import Material
from theworld.models.protocols import Embedded
from theworld.text import entity_key

RUSH, PEART, HAMILTON = (entity_key(name) for name in ("Rush", "Neil Peart", "Hamilton"))


@dataclass
class Embedder:
    """Gives the vector it was made with."""

    vector: tuple[float, ...]
    name: str = "fixed"
    dimension: int = 3

    def embed_query(self, text: str) -> Embedded:
        return Embedded(np.array(self.vector, np.float32))

    def embed_passages(self, texts):
        return [self.embed_query(text) for text in texts]

    def token_counts(self, texts):
        return [0] * len(texts)


def peer(vector: tuple[float, ...] = (0.0, 0.0, 1.0)) -> EntityPageRank:
    notes = [
        ("band#0", "Rush\nThe drummer was Neil Peart."),
        ("drummer#0", "Neil Peart\nBorn in Hamilton."),
        ("light#0", "Old Light\nA lighthouse."),
    ]
    material = Material(notes, np.eye(3, dtype=np.float32), Embedder(vector))
    return EntityPageRank(material, [[RUSH, PEART], [PEART, HAMILTON], []])


def test_the_walk_leads_from_the_entity_over_its_note_to_the_next() -> None:
    assert peer().retrieve("Where was the drummer of Rush born?") == ["band#0", "drummer#0", "light#0"]


def test_without_a_known_entity_the_dense_ranking_stands() -> None:
    assert peer((0.1, 0.5, 0.9)).retrieve("who lit the tower?") == ["light#0", "drummer#0", "band#0"]


def test_ranks_are_the_stationary_distribution() -> None:
    found = peer()
    seeds = np.zeros(6)
    seeds[found._place[RUSH]] = 1.0
    ranks = found._walk(seeds)
    matrix = found._transition.toarray()
    lost = 1.0 - (matrix @ ranks).sum()
    assert ranks == pytest.approx(DAMPING * (matrix @ ranks + lost * seeds) + (1 - DAMPING) * seeds, abs=1e-7)
    assert ranks.sum() == pytest.approx(1.0)
    assert ranks[found._place[RUSH]] > ranks[0] > ranks[found._place[PEART]] > ranks[1] > ranks[found._place[HAMILTON]]
    assert ranks[2] == 0.0
