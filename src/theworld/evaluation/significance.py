"""Is a difference between two systems on the same queries more than chance? Paired bootstrap and randomisation test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED = 20240229
RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean difference of two systems with its interval and p-value."""

    mean: float
    """Mean of first minus second."""
    low: float
    """Lower end of the bootstrap percentile interval."""
    high: float
    """Upper end of the same."""
    p_value: float
    """Two-sided p of the paired randomisation (sign-flip) test."""
    n: int
    """Number of queries."""


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> PairedDifference:
    """Compare per-query values of two systems, in the same order of queries; the same input gives the same result."""
    if len(first) != len(second) or not first:
        raise ValueError(f"needs two lists of the same length, at least 1; got {len(first)} and {len(second)}")
    import numpy as np

    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    low, high = _bootstrap_interval(differences, confidence, resamples, seed)
    p_value = _randomisation_p(differences, resamples, seed)
    return PairedDifference(float(differences.mean()), low, high, p_value, len(differences))


def _bootstrap_interval(
    differences: NDArray[np.float64], confidence: float, resamples: int, seed: int
) -> tuple[float, float]:
    import numpy as np
    from scipy import stats

    if np.ptp(differences) == 0 or np.size(differences) == 1:
        value = float(np.mean(differences))
        return value, value
    interval = stats.bootstrap(
        (differences,),
        np.mean,
        confidence_level=confidence,
        n_resamples=resamples,
        batch=1000,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def _randomisation_p(differences: NDArray[np.float64], resamples: int, seed: int) -> float:
    import numpy as np
    from scipy import stats

    if not np.any(differences):
        return 1.0
    result = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=1000,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)
