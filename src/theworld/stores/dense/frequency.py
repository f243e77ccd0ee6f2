"""In how many notes of a space each vocabulary id occurs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray
from theworld.stores.dense.merging import token_counts
from theworld.stores.dense.segments import Part


class TokenFrequency:
    """Document frequencies over the rows that count."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._counts = token_counts(parts)
        self._notes = sum(part.alive for part in parts)

    def idf(self, ids: NDArray[np.int64]) -> FloatArray:
        """Return ln(1 + (N - df + .5) / (df + .5)); an id never seen has df 0."""
        known = (ids >= 0) & (ids < len(self._counts))
        frequency = np.zeros(len(ids))
        frequency[known] = self._counts[ids[known]]
        return np.log1p((self._notes - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
