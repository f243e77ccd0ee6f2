"""Many strings in a few arrays that can be mapped from files, looked up without reading them all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rows = NDArray[np.int64]
Hashes = NDArray[np.uint64]


class StringTable:
    """Strings by row, and rows by string. Immutable; the arrays may be mapped files.

    A string costs its UTF-8 bytes and 20 more. Looking one up takes a binary search among the hashes; the string
    itself decides, so that equal hashes do no harm.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], name: str) -> None:
        """Use the arrays called `name.PART`, as `string_arrays` makes them."""
        self._data: NDArray[np.uint8] = arrays[f"{name}.bytes"]
        self._offsets: Rows = arrays[f"{name}.offsets"]
        self._hashes: Hashes = arrays[f"{name}.hashes"]
        self._order: NDArray[np.int32] = arrays[f"{name}.order"]

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


def string_arrays(strings: Sequence[str], name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a table of strings, which must be distinct, called `name.PART`."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    hashes = hashes_of(strings)
    order = np.argsort(hashes, kind="stable")
    return {
        f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8),
        f"{name}.offsets": starts_of([len(one) for one in encoded]),
        f"{name}.hashes": hashes[order],
        f"{name}.order": order.astype(np.int32),
    }


def starts_of(lengths: ArrayLike) -> Rows:
    """Return where lists of such lengths start, one after the other, and where the last one ends, (n + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def places_of(starts: Rows, rows: NDArray[Any]) -> Rows:
    """Return the places of the values of some lists, list after list; `starts` (n + 1,) say where each begins."""
    lengths = starts[rows + 1] - starts[rows]
    before = np.cumsum(lengths) - lengths
    places: Rows = np.arange(int(lengths.sum())) + np.repeat(starts[rows] - before, lengths)
    return places
