"""One tenant's notes in one space: a large matrix and a small one, its tail, with what has come since.

Matrices are arrays that never change, with the rows of one tenant and space, mapped from a file.

    ids.*                      note ids by row: a table of theworld.stores.array_folder
    vectors                    float32 (n, dimension), unit vectors
    term.hashes term.rows      uint64 and int32 (terms,): hashes of filter terms, ascending, and a row that has each
    token.starts               int64 (n + 1,), where the tokens of a row begin
    token.ids token.codes      uint16 or uint32 (tokens,), uint8 (tokens, CODE_BYTES): see theworld.stores.token_codes
    frequency                  int32 (2, m), vocabulary ids and the number of rows having them
    signs center               uint64 (dimension / 64, n) and float32 (dimension,), in large matrices only: one bit a
                               dimension, whether a vector is above the center there

A row whose note was changed or removed since is *dead*.

Every vector is compared while that is quick. In a large matrix the bits that differ are counted first, and the vectors
of the rows with the fewest are compared: 99.1 % of the 100 nearest of a million are found, in a third of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray, unit
from theworld.single_flight import SingleFlightCache
from theworld.stores.array_folder import (
    Arrays,
    Hashes,
    Pieces,
    Rows,
    StringTable,
    Written,
    hashes_of,
    inner_products,
    places_of,
    starts_of,
    string_arrays,
)
from theworld.stores.protocols import DenseResult, Hit, NoteChange
from theworld.stores.records import Filters, filter_terms, wanted_terms
from theworld.stores.token_codes import CODE_BYTES, Ids, TokenCodes

_BLOCK = 4096
"""Rows copied, or looked at, at once."""
SIGNED = 200_000
"""Rows from which a matrix has signs; to compare as many vectors takes 16 ms."""
COMPARED = 4096
"""Vectors compared: those with the nearest signs."""
SAMPLE = 2048
"""Vectors, evenly spread, for mean and deviation over all."""


class Matrix:
    """A matrix and which of its rows still count; the arrays are mapped, not read."""

    def __init__(self, arrays: Mapping[str, Any], dead: Rows | None = None) -> None:
        self.arrays = arrays
        self.dead = np.empty(0, np.int64) if dead is None else dead
        """Rows that no longer count, ascending."""
        self.ids = StringTable(arrays, "ids")
        self.starts: Rows = arrays["token.starts"]
        self.rows: int = arrays["vectors"].shape[0]
        self.dimension: int = arrays["vectors"].shape[1]
        self.alive = self.rows - len(self.dead)
        """Number of rows that count."""

    @classmethod
    def of(cls, changes: Sequence[NoteChange], space: str) -> Matrix:
        """Return one with the notes of these changes, which all have vectors in a space."""
        notes = [change.note for change in changes if change.note is not None]
        vectors = np.stack([note.vectors[space].vector for note in notes]).astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        tokens = [note.codes.get(space) for note in notes]
        some = [one for one in tokens if one is not None]
        rows_of: dict[str, list[int]] = {}
        for row, change in enumerate(changes):
            for term in filter_terms(change.metadata, change.document_id):
                rows_of.setdefault(term, []).append(row)
        hashes = np.repeat(hashes_of(rows_of), [len(rows) for rows in rows_of.values()])
        distinct: list[Ids] = [np.unique(one.ids) for one in some]
        counted = np.unique(np.concatenate([np.empty(0, np.uint16), *distinct]), return_counts=True)
        return cls(
            {
                **string_arrays([note.id for note in notes], "ids"),
                **_terms(hashes, np.array([row for rows in rows_of.values() for row in rows], np.int64)),
                "vectors": vectors / np.where(lengths > 0, lengths, 1),
                "token.starts": starts_of([0 if one is None else len(one.ids) for one in tokens]),
                "token.ids": np.concatenate([np.empty(0, np.uint16), *(one.ids for one in some)]),
                "token.codes": np.concatenate([np.empty((0, CODE_BYTES), np.uint8), *(one.codes for one in some)]),
                "frequency": np.stack(counted).astype(np.int32),
            }
        )

    def without(self, note_ids: Sequence[str], hashes: Hashes) -> Matrix:
        """Return it with the rows of these notes dead; itself where it has none of them."""
        found = self.ids.find(note_ids, hashes)
        dead = np.union1d(self.dead, found[found >= 0])
        return self if len(dead) == len(self.dead) else Matrix(self.arrays, dead)

    @cached_property
    def living(self) -> Rows:
        """The rows that count, ascending."""
        return np.delete(np.arange(self.rows), self.dead)


def merged(matrices: Sequence[Matrix]) -> dict[str, Any]:
    """Return the arrays of one with the living rows of these; what is large is copied in blocks when it is written."""
    ids: list[str] = []
    for one in matrices:
        known_ids = list(one.ids)
        ids += [known_ids[row] for row in one.living.tolist()]
    lengths = np.concatenate([np.diff(one.starts)[one.living] for one in matrices])
    hashes, rows, begin = [], [], 0
    for one in matrices:
        place = np.full(one.rows, -1, np.int64)
        place[one.living] = np.arange(begin, begin + one.alive)
        moved = place[one.arrays["term.rows"]]
        hashes.append(one.arrays["term.hashes"][moved >= 0])
        rows.append(moved[moved >= 0])
        begin += one.alive
    counts = token_counts(matrices)
    known = np.flatnonzero(counts)
    kind = np.result_type(*(one.arrays["token.ids"].dtype for one in matrices))

    def copied(name: str, dtype: Any, *shape: int) -> Pieces:
        return Pieces(np.dtype(dtype), shape, partial(_blocks, matrices, name))

    arrays: dict[str, Any] = {
        **string_arrays(ids, "ids"),
        **_terms(np.concatenate(hashes), np.concatenate(rows)),
        "vectors": copied("vectors", np.float32, len(ids), matrices[0].dimension),
        "token.starts": starts_of(lengths),
        "token.ids": copied("token.ids", kind, int(lengths.sum())),
        "token.codes": copied("token.codes", np.uint8, int(lengths.sum()), CODE_BYTES),
        "frequency": np.stack([known, counts[known]]).astype(np.int32),
    }
    if len(ids) >= SIGNED and matrices[0].dimension % 64 == 0:  # signs are around the mean of some of the rows
        center = np.concatenate([block[::64] for block in _blocks(matrices, "vectors")]).mean(0)
        signs = np.hstack([_signs(block, center) for block in _blocks(matrices, "vectors")])
        arrays |= {"signs": signs, "center": center}
    return arrays


def _signs(vectors: FloatArray, center: FloatArray) -> NDArray[np.uint64]:
    """Return (dimension / 64, n)."""
    return np.ascontiguousarray(np.packbits(vectors > center, axis=1).view(np.uint64).T)


def _terms(hashes: Hashes, rows: Rows) -> dict[str, NDArray[Any]]:
    """Return the arrays of filter terms; of equal hashes the rows ascend."""
    order = np.argsort(hashes, kind="stable")
    return {"term.hashes": hashes[order], "term.rows": rows[order].astype(np.int32)}


def _blocks(matrices: Sequence[Matrix], name: str) -> Iterator[NDArray[Any]]:
    """Yield what the living rows have in an array, some rows at a time."""
    for one in matrices:
        for start in range(0, one.alive, _BLOCK):
            rows = one.living[start : start + _BLOCK]
            yield one.arrays[name][rows if name == "vectors" else places_of(one.starts, rows)]


def token_counts(matrices: Sequence[Matrix]) -> Rows:
    """Return by vocabulary id in how many living rows it occurs: those of all rows less those of the dead ones."""
    added = [one.arrays["frequency"] for one in matrices]
    counts = np.zeros(max((int(some[0].max()) + 1 for some in added if some.size), default=0), np.int64)
    for ids, some in added:
        counts[ids] += some
    for one in matrices:
        for start in range(0, len(one.dead), _BLOCK):
            rows = one.dead[start : start + _BLOCK]
            ids = one.arrays["token.ids"][places_of(one.starts, rows)].astype(np.int64)
            # A row's ids are counted once each: a pair of row and id is one number.
            lengths = one.starts[rows + 1] - one.starts[rows]
            pairs = np.unique(np.repeat(np.arange(len(rows)), lengths) << 32 | ids)
            np.subtract.at(counts, pairs & 0xFFFFFFFF, 1)
    return counts


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


class _Compared(NamedTuple):
    """What was compared with one question."""

    rows: Rows
    """Ascending."""
    cosines: Scores
    mean: float
    """Over all rows that pass the filters, as is the deviation."""
    deviation: float


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
        self._kept: SingleFlightCache[tuple[bytes, Terms], _Compared] = SingleFlightCache(_KEPT)

    def search(self, vector: FloatArray, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes that pass the filters, and mean and deviation over all that pass.

        The dense and the graph channel search for the same question at the same time: one thread compares for both.
        """
        wanted, terms = unit(vector), tuple(map(tuple, wanted_terms(filters)))
        near = self._kept.get((wanted.tobytes(), terms), lambda: self._compare(wanted, terms))
        if limit < 1:
            return DenseResult([], near.mean, near.deviation)
        found: Rows = np.arange(len(near.rows))
        if limit < len(found):  # and all that tie with the last
            found = np.flatnonzero(near.cosines >= np.partition(near.cosines, -limit)[-limit])
        base, hits = self.matrices[0], list[Hit]()
        for row, score in zip(near.rows[found].tolist(), near.cosines[found].tolist(), strict=True):
            note = base.ids[row] if row < base.rows else self.matrices[1].ids[row - base.rows]
            hits.append(Hit(note, score))
        hits.sort(key=lambda hit: (-hit.score, hit.note_id))
        return DenseResult(hits[:limit], near.mean, near.deviation)

    def _compare(self, vector: FloatArray, terms: Terms) -> _Compared:
        """Compare the living rows that pass the filters, in a large matrix those with the nearest signs."""
        wanted = [hashes_of(some) for some in terms]
        passing = []
        for matrix in self.matrices:
            mask, hashes = np.ones(matrix.rows, bool), matrix.arrays["term.hashes"]
            for some in wanted:
                having = np.zeros(matrix.rows, bool)
                for start, end in zip(
                    np.searchsorted(hashes, some), np.searchsorted(hashes, some, "right"), strict=True
                ):
                    having[matrix.arrays["term.rows"][start:end]] = True
                mask &= having
            mask[matrix.dead] = False
            passing.append(mask)
        base, count = self.matrices[0], sum(map(np.count_nonzero, passing))
        if not count:
            return _Compared(np.empty(0, np.int64), np.empty(0), 0.0, 0.0)
        if "signs" in base.arrays and count > COMPARED:
            sample = self._cosines_of(np.flatnonzero(np.concatenate(passing))[:: -(-count // SAMPLE)], vector)
            # In how many signs each row differs; what is counted at once stays in the processor's cache.
            signs, distances = _signs(vector[None], base.arrays["center"]), np.zeros(base.rows, np.uint16)
            for start in range(0, base.rows, 8 * _BLOCK):
                part = slice(start, start + 8 * _BLOCK)
                for own, other in zip(signs, base.arrays["signs"], strict=True):
                    distances[part] += np.bitwise_count(other[part] ^ own)
            counts = np.bincount(distances[passing[0]], minlength=1)
            passing[0] &= distances <= np.searchsorted(counts.cumsum(), COMPARED)
            rows = np.flatnonzero(np.concatenate(passing))
            cosines = self._cosines_of(rows, vector)
        else:
            rows = np.flatnonzero(np.concatenate(passing))
            every = np.concatenate([inner_products(matrix.arrays["vectors"], vector) for matrix in self.matrices])
            sample = cosines = every[rows].astype(np.float64).round(_DIGITS)
        return _Compared(rows, cosines, float(sample.mean()), float(sample.std()))

    def _cosines_of(self, rows: Rows, vector: FloatArray) -> Scores:
        """Return the cosines of some rows, ascending."""
        base, parts = self.matrices[0].rows, np.split(rows, [np.searchsorted(rows, self.matrices[0].rows)])
        found = [
            inner_products(matrix.arrays["vectors"][part - begin], vector)
            for matrix, part, begin in zip(self.matrices, parts, (0, base), strict=False)
        ]
        return np.concatenate(found).astype(np.float64).round(_DIGITS)

    def _found(self, note_ids: Sequence[str]) -> Iterator[tuple[Matrix, Rows, Rows]]:
        """Yield each matrix, the living rows that it has of some notes, and where in the ids these stand."""
        hashes = hashes_of(note_ids)
        for matrix in self.matrices:
            rows = matrix.ids.find(note_ids, hashes)
            inside = np.flatnonzero((rows >= 0) & ~np.isin(rows, matrix.dead))
            yield matrix, rows[inside], inside

    def cosines(self, vector: FloatArray, note_ids: Sequence[str]) -> FloatArray:
        """Return the cosine of a vector with each note's, float32 (len(note_ids),); 0 for an unknown note."""
        cosines, wanted = np.zeros(len(note_ids), np.float32), unit(vector)
        for matrix, rows, inside in self._found(note_ids):
            cosines[inside] = inner_products(matrix.arrays["vectors"][rows], wanted).round(_DIGITS)
        return cosines

    def tokens(self, note_ids: Sequence[str]) -> list[TokenCodes | None]:
        """Return the token codes of each note, None when it is unknown or has none."""
        tokens: list[TokenCodes | None] = [None] * len(note_ids)
        for matrix, rows, inside in self._found(note_ids):
            for place, row in zip(inside.tolist(), rows.tolist(), strict=True):
                start, end = matrix.starts[row : row + 2].tolist()
                if end > start:
                    codes = matrix.arrays["token.codes"][start:end]
                    tokens[place] = TokenCodes(matrix.arrays["token.ids"][start:end], codes)
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
