"""One tenant's notes in one space: a large matrix and a small one, its tail, with what has come since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray
from theworld.single_flight import SingleFlightCache
from theworld.stores.array_folder import Arrays, Written
from theworld.stores.dense.matrix import Matrix, merged
from theworld.stores.filters import wanted_terms
from theworld.stores.products import inner_products
from theworld.stores.protocols import DenseResult, Hit, NoteChange
from theworld.stores.records import Filters
from theworld.stores.string_table import Rows, hashes_of
from theworld.stores.token_codes import TokenCodes

BASE, TAIL = "base", "tail"
"""The files of a space. Beside a matrix of its own, if it has rows, the tail holds int64 `dead` (m,), the dead rows of
the base, and `written` (1,), how many rows all tails have had since the base was written.
"""
_DIGITS = 6
"""Cosines are rounded to this many decimals: beyond, float32 sums depend on the row's place in the matrix."""
_KEPT = 8
"""Questions whose cosines are kept: 0.3 MB each at most, more only for far larger stores."""

Scores = NDArray[np.float64]
Terms = tuple[tuple[str, ...], ...]
"""Filters as terms, of each of which a note must have one."""


class Space:
    """Immutable. Rows are counted through both matrices, dead ones included; ties are broken by note id."""

    def __init__(self, files: Mapping[str, Arrays]) -> None:
        """Use the arrays of BASE and, where there is one, TAIL."""
        tail = files.get(TAIL, {})
        self.matrices = [Matrix(files[BASE], tail.get("dead")), *([Matrix(tail)] if "vectors" in tail else [])]
        self.count = sum(one.alive for one in self.matrices)
        self.dimension = self.matrices[0].dimension
        self.written = int(tail["written"][0]) if tail else 0
        """Rows of all tails since the base was written."""
        self._kept: SingleFlightCache[tuple[bytes, Terms], tuple[Rows, Scores]] = SingleFlightCache(_KEPT)

    def search(self, vector: FloatArray, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes that pass the filters, and mean and deviation over all that pass.

        The dense and the graph channel search for the same question at the same time: one thread compares for both.
        """
        unit, terms = _unit(vector), tuple(map(tuple, wanted_terms(filters)))
        rows, cosines = self._kept.get((unit.tobytes(), terms), lambda: self._compare(unit, terms))
        if not len(rows):
            return DenseResult([], 0.0, 0.0)
        found = _largest(cosines, limit)
        pairs = zip(rows[found].tolist(), cosines[found].tolist(), strict=True)
        hits = sorted(
            (Hit(self._note_id(row), score) for row, score in pairs), key=lambda hit: (-hit.score, hit.note_id)
        )
        return DenseResult(hits[: max(limit, 0)], float(cosines.mean()), float(cosines.std()))

    def _compare(self, unit: FloatArray, terms: Terms) -> tuple[Rows, Scores]:
        """Return the living rows that pass the filters, ascending, and their cosines; all are compared, however few."""
        wanted = [hashes_of(some) for some in terms]
        passing = []
        for matrix in self.matrices:
            mask = np.ones(matrix.rows, bool)
            for some in wanted:
                having = np.zeros(matrix.rows, bool)
                having[matrix.rows_with(some)] = True
                mask &= having
            mask[matrix.dead] = False
            passing.append(mask)
        rows = np.flatnonzero(np.concatenate(passing))
        if not len(rows):
            return rows, np.empty(0)
        cosines = np.concatenate([inner_products(matrix.arrays["vectors"], unit) for matrix in self.matrices])
        return rows, cosines[rows].astype(np.float64).round(_DIGITS)

    def _note_id(self, row: int) -> str:
        base = self.matrices[0]
        return base.ids[row] if row < base.rows else self.matrices[1].ids[row - base.rows]

    def _found(self, note_ids: Sequence[str]) -> Iterator[tuple[Matrix, Rows, Rows]]:
        """Yield each matrix, the living rows that it has of some notes, and where in the ids these stand."""
        hashes = hashes_of(note_ids)
        for matrix in self.matrices:
            rows = matrix.ids.find(note_ids, hashes)
            inside = np.flatnonzero((rows >= 0) & ~np.isin(rows, matrix.dead))
            yield matrix, rows[inside], inside

    def cosines(self, vector: FloatArray, note_ids: Sequence[str]) -> FloatArray:
        """Return the cosine of a vector with each note's, float32 (len(note_ids),); 0 for an unknown note."""
        cosines, unit = np.zeros(len(note_ids), np.float32), _unit(vector)
        for matrix, rows, inside in self._found(note_ids):
            cosines[inside] = inner_products(matrix.arrays["vectors"][rows], unit).round(_DIGITS)
        return cosines

    def tokens(self, note_ids: Sequence[str]) -> list[TokenCodes | None]:
        """Return the token codes of each note, None when it is unknown or has none."""
        tokens: list[TokenCodes | None] = [None] * len(note_ids)
        for matrix, rows, inside in self._found(note_ids):
            for place, row in zip(inside.tolist(), rows.tolist(), strict=True):
                tokens[place] = matrix.tokens(row)
        return tokens


def updated(space: Space | None, name: str, changes: Mapping[str, NoteChange]) -> Mapping[str, Written | None]:
    """Return the files that are others after changes by note id, ascending; None for one that goes.

    Each time the tail is written anew. It is joined to the base once all tails together would have as many rows as the
    base: so batches of any size cost little, and beside 100,000 notes a tail that is filled one by one holds 450.
    """
    ids, hashes = list(changes), hashes_of(changes)
    new = [change for change in changes.values() if change.note is not None and name in change.note.vectors]
    before = space.matrices if space is not None else []
    kept = [matrix.without(ids, hashes) for matrix in before]
    if not new and kept == before:
        return {}
    base = [matrix for matrix in kept[:1] if matrix.alive]
    rest = [matrix for matrix in (*kept[1:], *([Matrix.of(new, name)] if new else [])) if matrix.alive]
    written = sum(matrix.alive for matrix in rest) + (space.written if space is not None else 0)
    if not base or written >= base[0].alive or len(base[0].dead) > base[0].alive:
        return {BASE: merged([*base, *rest]) if base or rest else None, TAIL: None}
    tail = {"dead": base[0].dead, "written": np.array([written], np.int64)}
    return {TAIL: {**(merged(rest) if rest else {}), **tail}}


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
