"""One tenant's notes in one space, over all its parts: what a search looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray
from theworld.single_flight import SingleFlightCache
from theworld.stores.dense.parts import Part
from theworld.stores.filters import wanted_terms
from theworld.stores.products import inner_products
from theworld.stores.protocols import DenseResult, Hit
from theworld.stores.records import Filters
from theworld.stores.string_table import Rows, hashes_of
from theworld.stores.token_codes import TokenCodes

_DIGITS = 6
"""Cosines are rounded to this many decimals: beyond, float32 sums depend on the row's place in the matrix."""
_KEPT = 8
"""Questions whose cosines are kept: 0.3 MB each at most, more only for far larger stores."""

Scores = NDArray[np.float64]
Terms = tuple[tuple[str, ...], ...]
"""Filters as terms, of each of which a note must have one."""


class Space:
    """Immutable. A row is counted through all parts, dead ones included; ties are broken by note id."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.count = sum(part.alive for part in parts)
        self.dimension = parts[0].dimension if parts else 0
        self._starts = np.cumsum([0, *(part.rows for part in parts)])
        self._kept: SingleFlightCache[tuple[bytes, Terms], tuple[Rows, Scores]] = SingleFlightCache(_KEPT)

    def search(self, vector: FloatArray, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes that pass the filters, and mean and deviation over all that pass.

        The dense and the graph channel search for the same question at the same time: one thread compares for both.
        """
        unit, terms = _unit(vector), tuple(map(tuple, wanted_terms(filters)))
        rows, cosines = self._kept.get((unit.tobytes(), terms), lambda: self._compare(unit, terms))
        if not len(rows):
            return DenseResult([], 0.0, 0.0)
        return DenseResult(self._best(rows, cosines, limit), float(cosines.mean()), float(cosines.std()))

    def _compare(self, unit: FloatArray, terms: Terms) -> tuple[Rows, Scores]:
        """Return the rows that pass the filters and their cosines; all are compared, however few pass."""
        rows = self._passing(terms)
        found = [inner_products(part.arrays["vectors"], unit) for part in self.parts] if len(rows) else [np.empty(0)]
        return rows, np.concatenate(found)[rows].astype(np.float64).round(_DIGITS)

    def _passing(self, terms: Terms) -> Rows:
        """Return the living rows that pass the filters, ascending."""
        mask = np.ones(int(self._starts[-1]), bool)
        for some in terms:
            wanted = np.zeros_like(mask)
            for part, start in zip(self.parts, self._starts, strict=False):
                for term in some:
                    wanted[start + part.rows_with(term)] = True
            mask &= wanted
        for part, start in zip(self.parts, self._starts, strict=False):
            mask[start + part.dead] = False
        return np.flatnonzero(mask)

    def _best(self, rows: Rows, cosines: Scores, limit: int) -> list[Hit]:
        """Return the best rows, best first, ties by note id."""
        found = _largest(cosines, limit)
        pairs = zip(rows[found].tolist(), cosines[found].tolist(), strict=True)
        hits = [Hit(self._note_id(row), score) for row, score in pairs]
        return sorted(hits, key=lambda hit: (-hit.score, hit.note_id))[:limit]

    def _note_id(self, row: int) -> str:
        number = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self.parts[number].ids[int(row - self._starts[number])]

    def _by_part(self, rows: Rows) -> Iterator[tuple[Part, Rows, Rows]]:
        """Yield parts, the rows they have of these, and where in these they stand; -1 is in none."""
        numbers = np.searchsorted(self._starts, rows, side="right") - 1
        for number in np.unique(numbers[rows >= 0]).tolist():
            inside = np.flatnonzero(numbers == number)
            yield self.parts[number], rows[inside] - self._starts[number], inside

    def _rows(self, note_ids: Sequence[str]) -> Rows:
        """Return the living row of each note, -1 for an unknown one."""
        rows, hashes = np.full(len(note_ids), -1, np.int64), hashes_of(note_ids)
        for part, start in zip(self.parts, self._starts, strict=False):
            found = part.ids.find(note_ids, hashes)
            known = (found >= 0) & ~np.isin(found, part.dead)
            rows[known] = start + found[known]
        return rows

    def cosines(self, vector: FloatArray, note_ids: Sequence[str]) -> FloatArray:
        """Return the cosine of a vector with each note's, float32 (len(note_ids),); 0 for an unknown note."""
        found, unit = np.zeros(len(note_ids), np.float32), _unit(vector)
        for part, places, inside in self._by_part(self._rows(note_ids)):
            found[inside] = inner_products(part.arrays["vectors"][places], unit).round(_DIGITS)
        return found

    def tokens(self, note_ids: Sequence[str]) -> list[TokenCodes | None]:
        """Return the token codes of each note, None when it is unknown or has none."""
        rows = self._rows(note_ids)
        found: list[TokenCodes | None] = [None] * len(rows)
        for part, places, inside in self._by_part(rows):
            for where, place in zip(inside.tolist(), places.tolist(), strict=True):
                found[where] = part.tokens(place)
        return found


def _unit(vector: FloatArray) -> FloatArray:
    norm = float(np.linalg.norm(vector))
    return (vector / norm if norm > 0 else vector).astype(np.float32)


def _largest(scores: Scores, limit: int) -> Rows:
    """Return the positions of the largest scores and of all that tie with the last of them, ascending."""
    if limit < 1:
        return np.empty(0, np.int64)
    if limit >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return np.flatnonzero(scores >= least)
