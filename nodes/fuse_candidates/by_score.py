"""Fusion by the channels' scores, made comparable within each list by its range.

Unlike ranks, scores say by how much one note beats the next. What a channel does not list counts 0, so that the last
of a list adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from theworld.nodes.fuse_candidates.combining import Fused, Ranking, combine


def fuse_minmax(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None = None,
    *,
    depths: Mapping[str, int] | None = None,
) -> list[Fused]:
    """Return the notes by the weighted sum of (score - least) / (greatest - least); 1 where all scores are the same.

    See `combine` for weights and depths; least and greatest are of what counts. Raises ValueError, with the channel
    and the note, for a score that is not finite.
    """
    return combine(rankings, weights, _points, depths=depths)


def _points(channel: str, hits: Ranking) -> list[float]:
    wrong = next((note for note, score in hits if not math.isfinite(score)), None)
    if wrong is not None:
        raise ValueError(f"the {channel} channel scored the note {wrong!r} with no finite number")
    # Divided by the greatest, no difference of what is finite can overflow.
    scale = max(abs(score) for _, score in hits) or 1.0
    return min_max([score / scale for _, score in hits])


def min_max(scores: Sequence[float]) -> list[float]:
    """Return scores scaled to [0, 1], the least to 0 and the greatest to 1."""
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) for score in scores] if high > low else [1.0] * len(scores)
