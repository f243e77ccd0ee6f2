"""How far stated probabilities are from what is right."""

from __future__ import annotations

import math
from collections.abc import Sequence

BINS = 10


def calibration_error(pairs: Sequence[tuple[float, bool]], weights: Sequence[float] | None = None) -> float:
    """Return the expected calibration error of (stated probability, right) over equal bins; 0.0 without pairs.

    `weights` say how much each pair counts, 1 by default; ValueError when there is not one for each.
    """
    gaps, counts = [0.0] * BINS, [1.0] * len(pairs) if weights is None else weights
    for (stated, right), count in zip(pairs, counts, strict=True):
        gaps[min(int(stated * BINS), BINS - 1)] += count * (stated - right)
    return sum(map(abs, gaps)) / (math.fsum(counts) or 1.0)
