"""A first pass over many vectors in one bit a dimension: which of them are worth an exact look.

A vector, less the mean of all, is turned by a fixed rotation, and the signs of what results are kept (RaBitQ, Gao and
Long, SIGMOD 2024): the estimate of an inner product from them is unbiased, and its error falls with the dimension. A
query keeps four bits a dimension, one bit plane each, so that comparing is ANDing and counting bits: 52 bytes a vector
of 384 dimensions are read instead of 1,536. benchmarks/dense_search.py compares it with other ways.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray
from theworld.stores.token_codes import orthonormal

PARTS = ("signs", "scales", "centre")
"""The arrays of SignCodes, by which files are named."""
PLANES = 4
"""Bits of a query's component."""
_WORD = 64
_BLOCK = 32_768
"""Vectors compared at once: what is counted of them stays in the processor's cache."""

Words = NDArray[np.uint64]


class SignCodes:
    """The signs of n vectors, and what is needed to estimate cosines from them. Immutable, may be mapped files."""

    def __init__(self, signs: Words, scales: FloatArray, centre: FloatArray) -> None:
        """Use what `sign_codes` returns: (words, n), (n,) and (dimension,)."""
        self._signs, self._scales, self._centre = signs, scales, centre

    def estimates(self, unit: FloatArray) -> FloatArray:
        """Return the estimated inner product of each vector with a query, float32 (n,)."""
        turned = unit @ rotation(len(unit))
        low, step, planes = _planes(turned)
        found = np.empty(self._signs.shape[1], np.float32)
        most = len(self._signs) * _WORD << PLANES
        kind: type[np.uint16 | np.uint32] = np.uint16 if most <= np.iinfo(np.uint16).max else np.uint32
        for start in range(0, len(found), _BLOCK):
            counter = _Counter(self._signs[:, start : start + _BLOCK])
            inside = np.zeros(counter.number, kind)
            for plane in reversed(planes):
                inside <<= 1
                counter.add(plane, inside)
            ones = np.zeros(counter.number, kind)
            counter.add(None, ones)
            found[start : start + _BLOCK] = low * ones + step * inside
        # A sign is 2 bit - 1.
        found *= 2
        found -= turned.sum()
        found *= self._scales
        found += self._centre @ unit
        return found


def sign_codes(vectors: FloatArray) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of SignCodes for vectors of shape (n, dimension), by the names in PARTS."""
    number, dimension = vectors.shape
    centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    words = -(-dimension // _WORD)
    signs, scales = np.empty((words, number), np.uint64), np.empty(number, np.float32)
    for start in range(0, number, _BLOCK):
        turned = (vectors[start : start + _BLOCK] - centre) @ rotation(dimension)
        signs[:, start : start + _BLOCK] = _packed(turned >= 0).T
        size = np.abs(turned).sum(axis=1)
        scales[start : start + _BLOCK] = np.square(turned).sum(axis=1) / np.where(size > 0, size, 1)
    return {"signs": signs, "scales": scales, "centre": centre}


@lru_cache(maxsize=8)
def rotation(dimension: int) -> FloatArray:
    """Return a fixed orthonormal matrix, float32 (dimension, dimension)."""
    found = orthonormal(dimension, dimension, 0).astype(np.float32)
    found.flags.writeable = False
    return found


def _planes(turned: FloatArray) -> tuple[np.float32, np.float32, list[Words]]:
    """Return a query's components in PLANES bits: the least, the step between two, and a bit plane each."""
    low, high = float(turned.min()), float(turned.max())
    step = max(high - low, 1e-12) / ((1 << PLANES) - 1)
    levels = np.rint((turned - low) / step).astype(np.uint8)
    return np.float32(low), np.float32(step), [_packed((levels >> bit) & 1 == 1) for bit in range(PLANES)]


def _packed(bits: NDArray[np.bool_]) -> Words:
    """Return bits along the last axis as words of 64, the last one filled with zeros."""
    missing = -bits.shape[-1] % _WORD
    filled = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])
    return np.packbits(filled, axis=-1, bitorder="little").view("<u8").astype(np.uint64)


class _Counter:
    """Counts bits of signs, (words, n), in arrays of its own: new ones for each word would take half of the time."""

    def __init__(self, signs: Words) -> None:
        self._signs, self.number = signs, signs.shape[1]
        self._common, self._count = np.empty(self.number, np.uint64), np.empty(self.number, np.uint8)

    def add(self, plane: Words | None, to: NDArray[np.uint16 | np.uint32]) -> None:
        """Add how many bits each vector has in common with a plane, or has at all."""
        for number, word in enumerate(self._signs):
            bits = word if plane is None else np.bitwise_and(word, plane[number], out=self._common)
            np.bitwise_count(bits, out=self._count)
            np.add(to, self._count, out=to)
