"""Many strings in a few arrays that can be mapped from files, looked up without reading them all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

PARTS = ("bytes", "offsets", "hashes", "order")
"""The arrays a table consists of, by which files are named."""

Rows = NDArray[np.int64]
Hashes = NDArray[np.uint64]


class StringTable:
    """Strings by row, and rows by string. Immutable; the arrays may be mapped files.

    A string costs its UTF-8 bytes and 20 more. Looking one up takes a binary search among the hashes; the string
    itself decides, so that equal hashes do no harm.
    """

    def __init__(self, data: NDArray[np.uint8], offsets: Rows, hashes: Hashes, order: NDArray[np.int32]) -> None:
        """Use the arrays of PARTS, as `string_arrays` makes them."""
        self._data, self._offsets, self._hashes, self._order = data, offsets, hashes, order

    @classmethod
    def mapped(cls, load: Callable[[str], NDArray[Any]]) -> StringTable:
        """Return the table whose arrays `load` gives by the names in PARTS."""
        return cls(*(load(part) for part in PARTS))

    @classmethod
    def of(cls, strings: Sequence[str]) -> StringTable:
        """Return a table in memory."""
        return cls.mapped(string_arrays(strings).__getitem__)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> str:
        return self._data[self._offsets[row] : self._offsets[row + 1]].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        data, bounds = self._data.tobytes(), self._offsets.tolist()
        for start, end in pairwise(bounds):
            yield data[start:end].decode("utf-8", "surrogatepass")

    def find(self, strings: Sequence[str], hashes: Hashes | None = None) -> Rows:
        """Return the row of each string, -1 for one that is not there; `hashes` are those of `hashes_of`, if known."""
        hashes = hashes_of(strings) if hashes is None else hashes
        rows = np.full(len(strings), -1, np.int64)
        if not len(self._hashes):
            return rows
        places = np.searchsorted(self._hashes, hashes)
        same = self._hashes[np.minimum(places, len(self._hashes) - 1)] == hashes
        for i in np.flatnonzero(same).tolist():
            place = int(places[i])
            while place < len(self._hashes) and self._hashes[place] == hashes[i]:
                if self[int(self._order[place])] == strings[i]:
                    rows[i] = self._order[place]
                    break
                place += 1
        return rows


def hashes_of(strings: Iterable[str]) -> Hashes:
    """Return 64 bits of the BLAKE2b hash of each string."""
    digests = (hashlib.blake2b(s.encode("utf-8", "surrogatepass"), digest_size=8).digest() for s in strings)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def string_arrays(strings: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a table of strings, which must be distinct, by the names in PARTS."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    hashes = hashes_of(strings)
    order = np.argsort(hashes, kind="stable")
    return {
        "bytes": np.frombuffer(b"".join(encoded), np.uint8),
        "offsets": np.concatenate([[0], np.cumsum([len(one) for one in encoded])]).astype(np.int64),
        "hashes": hashes[order],
        "order": order.astype(np.int32),
    }
