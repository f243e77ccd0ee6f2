"""Matrices: arrays that never change, with the rows of one tenant and space, mapped from a file.

    ids.*                      note ids by row: a table of theworld.stores.string_table
    vectors                    float32 (n, dimension), unit vectors
    term.hashes term.rows      uint64 and int32 (terms,): hashes of filter terms, ascending, and a row that has each
    token.starts               int64 (n + 1,), where the tokens of a row begin
    token.ids token.codes      uint16 or uint32 (tokens,), uint8 (tokens, CODE_BYTES): see theworld.stores.token_codes
    frequency                  int32 (2, m), vocabulary ids and the number of rows having them

A row whose note was changed or removed since is *dead*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import IntArray
from theworld.stores.array_folder import Pieces
from theworld.stores.filters import filter_terms
from theworld.stores.protocols import NoteChange
from theworld.stores.string_table import Hashes, Rows, StringTable, hashes_of, places_of, starts_of, string_arrays
from theworld.stores.token_codes import CODE_BYTES, Ids, TokenCodes

_BLOCK = 4096
"""Rows copied, or looked at, at once."""


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

    def tokens(self, row: int) -> TokenCodes | None:
        """Return the token codes of a row, None when it has none."""
        start, end = int(self.starts[row]), int(self.starts[row + 1])
        if end == start:
            return None
        return TokenCodes(self.arrays["token.ids"][start:end], self.arrays["token.codes"][start:end])

    def rows_with(self, terms: Hashes) -> IntArray:
        """Return the rows that have one of some filter terms, given by their hashes."""
        hashes, rows = self.arrays["term.hashes"], self.arrays["term.rows"]
        starts, ends = np.searchsorted(hashes, terms), np.searchsorted(hashes, terms, "right")
        return np.concatenate([rows[:0], *(rows[start:end] for start, end in zip(starts, ends, strict=True))])


def merged(matrices: Sequence[Matrix]) -> dict[str, Any]:
    """Return the arrays of one with the living rows of these; what is large is copied in blocks when it is written."""
    ids = [note for one in matrices for note in _living_ids(one)]
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

    return {
        **string_arrays(ids, "ids"),
        **_terms(np.concatenate(hashes), np.concatenate(rows)),
        "vectors": copied("vectors", np.float32, len(ids), matrices[0].dimension),
        "token.starts": starts_of(lengths),
        "token.ids": copied("token.ids", kind, int(lengths.sum())),
        "token.codes": copied("token.codes", np.uint8, int(lengths.sum()), CODE_BYTES),
        "frequency": np.stack([known, counts[known]]).astype(np.int32),
    }


def _living_ids(matrix: Matrix) -> list[str]:
    ids = list(matrix.ids)
    return [ids[row] for row in matrix.living.tolist()] if len(matrix.dead) else ids


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
