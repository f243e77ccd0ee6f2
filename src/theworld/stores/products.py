"""Products of float32 matrices on the calling thread alone.

OpenBLAS spreads larger ones over threads that go on spinning when they are done, and wait for each other where the
encoder or another request has the cores: measured with two threads on a busy machine, 7 ms of CPU for what takes 0.4.
"""

from __future__ import annotations

import numpy as np

from theworld.models.protocols import FloatArray

_MOST = 1 << 18
"""Multiplications up to which OpenBLAS stays on one thread."""


def matrix_product(rows: FloatArray, right: FloatArray) -> FloatArray:
    """Return `rows @ right`, shapes (n, k) and (k, m), computed in pieces of some rows."""
    right, step = np.ascontiguousarray(right), max(1, _MOST // max(right.size, 1))
    product = np.empty((len(rows), right.shape[1]), np.float32)
    whole = len(rows) // step * step
    pieces, found = rows[:whole].reshape(-1, step, right.shape[0]), product[:whole].reshape(-1, step, right.shape[1])
    np.matmul(pieces, right, out=found)
    np.matmul(rows[whole:], right, out=product[whole:])
    return product


def inner_products(rows: FloatArray, vector: FloatArray) -> FloatArray:
    """Return `rows @ vector`, shapes (n, k) and (k,); the same for a row wherever it stands."""
    found: FloatArray = np.einsum("ij,j->i", rows, vector)
    return found
