"""Where the walk over the graph starts: what the other channels put first, and the entities the query names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

SEED_NOTES = 3
"""Notes taken from the top of each of the sparse and dense lists."""
ENTITY_WEIGHT = 2.0
"""Weight of an entity named by one note, against 1 for the first note of a list."""


def seed_notes(lists: Sequence[Sequence[str]], depth: int = SEED_NOTES) -> dict[str, float]:
    """Return note id -> weight, 1/rank summed over the lists."""
    weights: dict[str, float] = {}
    for ranking in lists:
        for rank, note_id in enumerate(ranking[:depth], start=1):
            weights[note_id] = weights.get(note_id, 0.0) + 1.0 / rank
    return weights


def seed_entities(frequency: Mapping[str, int]) -> dict[str, float]:
    """Return entity key -> weight: the rarer the entity, the more it says."""
    return {key: ENTITY_WEIGHT / (1.0 + math.log(max(df, 1))) for key, df in frequency.items()}
