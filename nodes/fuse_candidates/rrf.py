"""Weighted reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009), ranks from 1, ties by note id."""

from __future__ import annotations

from collections.abc import Mapping

from theworld.nodes.fuse_candidates.combining import Fused, Ranking, combine


def fuse(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None = None,
    *,
    k: int = 60,
    depths: Mapping[str, int] | None = None,
) -> list[Fused]:
    """Return the notes of all channels by the sum of weight / (k + rank); see `combine` for weights and depths.

    Raises ValueError for k < 1 or a negative weight.
    """
    if k < 1:
        raise ValueError(f"k must be >= 1, got k={k}")
    return combine(
        rankings, weights, lambda _, hits: [1 / (k + rank) for rank in range(1, len(hits) + 1)], depths=depths
    )
