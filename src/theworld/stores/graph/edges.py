"""Edges of a sparse matrix as three arrays: where each row starts, its columns in order, their weights.

In numpy, because of a sparse matrix only two things are wanted, and a library for them would be a seventh of all that
is installed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """The edges by row: those of row i lie from `starts[i]` to `starts[i + 1]`."""

    starts: Ints
    columns: Ints
    weights: Floats


def by_row(rows: Ints, columns: Ints, weights: Floats, size: int) -> Rows:
    """Return the edges of a square matrix in order; the weights of one that is there twice are added."""
    edges, places = np.unique(rows * size + columns, return_inverse=True)
    summed = np.bincount(places, weights=weights, minlength=len(edges)).astype(np.float64)
    return Rows(np.searchsorted(edges, np.arange(size + 1) * size), edges % size, summed)


class Product:
    """A sparse matrix of (into, from, weight) to be multiplied with vectors, from the edges in any order."""

    def __init__(self, into: NDArray[np.integer], source: NDArray[np.integer], weights: Floats, size: int) -> None:
        self._into, self._source = into.astype(np.intp), source.astype(np.intp)
        self._weights, self._size = weights, size

    def __matmul__(self, vector: Floats) -> Floats:
        """Return the sum of weight times the source's value for each of the `size` places led into."""
        sums = np.bincount(self._into, weights=self._weights * vector[self._source], minlength=self._size)
        return sums.astype(np.float64, copy=False)  # of no edges numpy makes whole numbers
