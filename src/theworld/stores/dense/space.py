"""One tenant's notes in one space, as they are after all segments: what a search looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray
from theworld.single_flight import SingleFlightCache
from theworld.stores.dense.segments import Part
from theworld.stores.filters import wanted_terms
from theworld.stores.products import inner_products
from theworld.stores.protocols import DenseResult, Hit
from theworld.stores.records import Filters
from theworld.stores.string_table import Rows, hashes_of
from theworld.stores.token_codes import TokenCodes

EXACT_ROWS = 16_384
"""Up to so many notes, every one is compared exactly. Above, the best by their sign codes are."""
CANDIDATES, SHARE = 2048, 50
"""How many are then compared exactly: at least the first, eight times the limit, and one in SHARE.

Of the exact best 20 at 100,000 notes the first pass kept all, of the best 100 99.98 % (benchmarks/dense_search.py)."""
_SAMPLE = 1024
"""Notes from which mean and deviation are then taken: their error is 3 % of the deviation."""
_DIGITS = 6
"""Cosines are rounded to this many decimals: beyond, float32 sums depend on the row's place in the matrix."""
_KEPT = 8
"""Questions whose cosines are kept: 0.3 MB each at most, more only for far larger stores."""

Scores = NDArray[np.float64]
Terms = tuple[tuple[str, ...], ...]
"""Filters as terms, of each of which a note must have one."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """What was compared exactly for one question and filters."""

    rows: Rows
    cosines: Scores
    mean: float
    deviation: float


class Space:
    """Immutable. A row is counted through all parts, dead ones included; ties are broken by note id."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.count = sum(part.alive for part in parts)
        self.dimension = parts[0].group.dimension if parts else 0
        self._starts = np.cumsum([0, *(part.group.rows for part in parts)])
        self._exact = self.count <= EXACT_ROWS
        self._kept: SingleFlightCache[tuple[bytes, Terms, int], _Compared] = SingleFlightCache(_KEPT)

    def search(self, vector: FloatArray, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes that pass the filters, and mean and deviation over all that pass."""
        depth = self.count if self._exact else max(CANDIDATES, 8 * limit, self.count // SHARE)
        found = self._compared(_unit(vector), tuple(map(tuple, wanted_terms(filters))), depth)
        return DenseResult(self._best(found, limit), found.mean, found.deviation)

    def _compared(self, unit: FloatArray, terms: Terms, depth: int) -> _Compared:
        """Return the exact cosines of the passing rows, or of the best `depth` of them; the last questions' are kept.

        The dense and the graph channel search for the same question at the same time: one thread compares for both.
        """
        key = (unit.tobytes(), terms, depth)
        return self._kept.get(key, lambda: self._compare(unit, self._passing(terms), depth))

    def _compare(self, unit: FloatArray, rows: Rows, depth: int) -> _Compared:
        if not len(rows):
            return _Compared(rows, np.empty(0), 0.0, 0.0)
        # First all rows are scored, so that a note's score does not depend on the filters.
        scores = np.concatenate([self._first_pass(part, unit) for part in self.parts])[rows]
        if self._exact:
            return _Compared(rows, scores, float(scores.mean()), float(scores.std()))
        sample = self._cosines(unit, rows[:: -(-len(rows) // _SAMPLE)])
        near = rows[_largest(scores, depth)]
        return _Compared(near, self._cosines(unit, near), float(sample.mean()), float(sample.std()))

    def _first_pass(self, part: Part, unit: FloatArray) -> Scores:
        """Return the cosine of every row of a part, exact or estimated."""
        if self._exact or part.group.codes is None:
            return inner_products(part.group.vectors, unit).astype(np.float64).round(_DIGITS)
        return part.group.codes.estimates(unit).astype(np.float64)

    def _passing(self, terms: Terms) -> Rows:
        """Return the living rows that pass the filters, ascending."""
        mask = np.ones(int(self._starts[-1]), bool)
        for some in terms:
            wanted = np.zeros_like(mask)
            for part, start in zip(self.parts, self._starts, strict=False):
                for term in some:
                    wanted[start + part.group.rows_with(term)] = True
            mask &= wanted
        for part, start in zip(self.parts, self._starts, strict=False):
            mask[start + part.dead] = False
        return np.flatnonzero(mask)

    def _best(self, compared: _Compared, limit: int) -> list[Hit]:
        """Return the best rows, best first, ties by note id."""
        found = _largest(compared.cosines, limit)
        pairs = zip(compared.rows[found].tolist(), compared.cosines[found].tolist(), strict=True)
        hits = [Hit(self._note_id(row), score) for row, score in pairs]
        return sorted(hits, key=lambda hit: (-hit.score, hit.note_id))[:limit]

    def _note_id(self, row: int) -> str:
        number = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self.parts[number].group.ids[int(row - self._starts[number])]

    def _cosines(self, unit: FloatArray, rows: Rows) -> Scores:
        """Return the cosines of some rows, (n,)."""
        found = np.empty(len(rows))
        for (part, places), inside in self._by_part(rows):
            found[inside] = inner_products(part.group.vectors[places], unit)
        return found.round(_DIGITS)

    def _by_part(self, rows: Rows) -> list[tuple[tuple[Part, Rows], Rows]]:
        """Return parts with the rows they have of these, and where in these they stand; -1 is in none."""
        numbers = np.searchsorted(self._starts, rows, side="right") - 1
        found = []
        for number in np.unique(numbers[rows >= 0]).tolist():
            inside = np.flatnonzero(numbers == number)
            found.append(((self.parts[number], rows[inside] - self._starts[number]), inside))
        return found

    def _rows(self, note_ids: Sequence[str]) -> Rows:
        """Return the living row of each note, -1 for an unknown one."""
        rows, hashes = np.full(len(note_ids), -1, np.int64), hashes_of(note_ids)
        for part, start in zip(self.parts, self._starts, strict=False):
            found = part.group.ids.find(note_ids, hashes)
            known = (found >= 0) & ~np.isin(found, part.dead)
            rows[known] = start + found[known]
        return rows

    def cosines(self, vector: FloatArray, note_ids: Sequence[str]) -> FloatArray:
        """Return the cosine of a vector with each note's, float32 (len(note_ids),); 0 for an unknown note."""
        rows = self._rows(note_ids)
        known = np.flatnonzero(rows >= 0)
        matrix = np.empty((len(known), self.dimension), np.float32)
        for (part, places), inside in self._by_part(rows[known]):
            matrix[inside] = part.group.vectors[places]
        found = np.zeros(len(rows), np.float32)
        found[known] = inner_products(matrix, _unit(vector)).round(_DIGITS)
        return found

    def tokens(self, note_ids: Sequence[str]) -> list[TokenCodes | None]:
        """Return the token codes of each note, None when it is unknown or has none."""
        rows = self._rows(note_ids)
        found: list[TokenCodes | None] = [None] * len(rows)
        for (part, places), inside in self._by_part(rows):
            for where, place in zip(inside.tolist(), places.tolist(), strict=True):
                found[where] = part.group.tokens(place)
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
