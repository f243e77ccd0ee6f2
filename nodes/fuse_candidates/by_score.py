"""Fusion by the channels' scores, made comparable within each list: by its range, or by its distribution.

Unlike ranks, scores say by how much one note beats the next; they suffer from outliers (min-max) and from lists that
are not distributed alike. What a channel does not list counts 0, so in min-max fusion the last of a list adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from theworld.nodes.fuse_candidates.combining import Fused, Ranking, combine

Normalise = Callable[[Sequence[float]], list[float]]
"""Scores of one list, in [-1, 1] -> points in [0, 1]."""
DEVIATIONS = 3.0
"""Standard deviations on each side of the mean that are mapped to [0, 1]."""
ALL_ALIKE = 0.5
"""Points of every note in a list whose scores are all the same, by distribution: the middle, where the mean is."""


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
    return combine(rankings, weights, _points_by(min_max), depths=depths)


def fuse_distribution(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None = None,
    *,
    depths: Mapping[str, int] | None = None,
) -> list[Fused]:
    """Return the notes by the weighted sum of where they lie between mean - 3 sigma (0) and mean + 3 sigma (1).

    What lies outside is clipped; 0.5 where all scores are the same. Mean and sample deviation are of what counts. See
    `combine` for weights and depths. Raises ValueError, with the channel and the note, for a score that is not finite.
    Source: distribution-based score fusion (Mazzeschi 2023), as Qdrant computes it.
    """
    return combine(rankings, weights, _points_by(three_sigma), depths=depths)


def min_max(scores: Sequence[float]) -> list[float]:
    """Return scores scaled to [0, 1], the least to 0 and the greatest to 1."""
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) for score in scores] if high > low else [1.0] * len(scores)


def three_sigma(scores: Sequence[float]) -> list[float]:
    """Return where each score lies between mean - 3 sigma and mean + 3 sigma, clipped to [0, 1]."""
    sigma = stdev(scores) if min(scores) < max(scores) else 0.0
    if not sigma:
        return [ALL_ALIKE] * len(scores)
    mean = fmean(scores)
    return [min(1.0, max(0.0, 0.5 + (score - mean) / (2 * DEVIATIONS * sigma))) for score in scores]


def _points_by(normalise: Normalise) -> Callable[[str, Ranking], list[float]]:
    def points(channel: str, hits: Ranking) -> list[float]:
        wrong = next((note for note, score in hits if not math.isfinite(score)), None)
        if wrong is not None:
            raise ValueError(f"the {channel} channel scored the note {wrong!r} with no finite number")
        # Divided by the greatest, no difference or square of what is finite can overflow.
        scale = max(abs(score) for _, score in hits) or 1.0
        return normalise([score / scale for _, score in hits])

    return points
