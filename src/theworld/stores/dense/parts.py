"""Parts: immutable matrices, each with the rows that some batches brought to one tenant and space.

    ids.* terms.*              note ids by row, and distinct filter terms: tables of theworld.stores.string_table
    term.starts term.rows      int64 (terms + 1,) and int32: the rows of each term, ascending
    vectors                    float32 (n, dimension), unit vectors
    token.starts               int64 (n + 1,), where the tokens of a row begin
    token.ids token.codes      uint16 or uint32 (tokens,), uint8 (tokens, CODE_BYTES): see theworld.stores.token_codes
    frequency                  int32 (2, m), vocabulary ids and the number of rows having them

A row whose note was changed or removed since is *dead*. Parts are merged so that there are few to read from and each
row is rewritten only a few times: FAN_IN of one size class become one of the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import IntArray
from theworld.stores.array_folder import Pieces
from theworld.stores.filters import filter_terms
from theworld.stores.protocols import NoteChange
from theworld.stores.string_table import Rows, StringTable, places_of, starts_of, string_arrays
from theworld.stores.token_codes import CODE_BYTES, Ids, TokenCodes

BLOCK = 4096
"""Rows looked at, or copied, at once."""
FAN_IN = 8
"""This many parts of one size class become one of the next."""
_DEAD = 1024
"""Dead rows, when they are also more than the living ones, at which all parts become one."""


class Part:
    """A part and which of its rows still count; the arrays are mapped, not read."""

    def __init__(self, arrays: Mapping[str, Any], dead: Rows | None = None) -> None:
        self.arrays = arrays
        self.dead = np.empty(0, np.int64) if dead is None else dead
        """Rows that no longer count, ascending."""
        self.ids = StringTable.of(self.arrays, "ids")
        self.terms = StringTable.of(self.arrays, "terms")
        self.starts: Rows = self.arrays["token.starts"]
        self.rows: int = arrays["vectors"].shape[0]
        self.dimension: int = arrays["vectors"].shape[1]

    def without(self, note_ids: Sequence[str], hashes: NDArray[np.uint64]) -> Part:
        """Return the part with the rows of these notes dead."""
        found = self.ids.find(note_ids, hashes)
        dead = np.union1d(self.dead, found[found >= 0])
        return self if len(dead) == len(self.dead) else Part(self.arrays, dead)

    @property
    def alive(self) -> int:
        """Number of rows that count."""
        return self.rows - len(self.dead)

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

    def rows_with(self, term: str) -> IntArray:
        """Return the rows that have a filter term, ascending."""
        number, starts, rows = int(self.terms.find([term])[0]), self.arrays["term.starts"], self.arrays["term.rows"]
        found: IntArray = rows[starts[number] : starts[number + 1]] if number >= 0 else rows[:0]
        return found


def part_of(changes: Sequence[NoteChange], space: str) -> Part:
    """Return a part with the notes of these changes, which all have vectors in a space."""
    notes = [change.note for change in changes if change.note is not None]
    vectors = np.stack([note.vectors[space].vector for note in notes]).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    tokens = [note.codes.get(space) for note in notes]
    some = [one for one in tokens if one is not None]
    rows_of: dict[str, list[int]] = {}
    for row, change in enumerate(changes):
        for term in filter_terms(change.metadata, change.document_id):
            rows_of.setdefault(term, []).append(row)
    distinct: list[Ids] = [np.unique(one.ids) for one in some]
    values, counts = np.unique(np.concatenate([np.empty(0, np.uint16), *distinct]), return_counts=True)
    return Part(
        {
            **string_arrays([note.id for note in notes], "ids"),
            **_inverted({term: np.array(rows, np.int32) for term, rows in rows_of.items()}),
            "vectors": vectors / np.where(lengths > 0, lengths, 1),
            "token.starts": starts_of([0 if one is None else len(one.ids) for one in tokens]),
            "token.ids": np.concatenate([np.empty(0, np.uint16), *(one.ids for one in some)]),
            "token.codes": np.concatenate([np.empty((0, CODE_BYTES), np.uint8), *(one.codes for one in some)]),
            "frequency": np.stack([values, counts]).astype(np.int32),
        }
    )


def _inverted(rows: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of filter terms from the rows of each, ascending."""
    ordered = sorted(rows)
    return {
        **string_arrays(ordered, "terms"),
        "term.starts": starts_of([len(rows[term]) for term in ordered]),
        "term.rows": np.concatenate([np.empty(0, np.int32), *(rows[term] for term in ordered)]).astype(np.int32),
    }


def merge_from(parts: Sequence[Part]) -> int:
    """Return from which of a space's parts on all become one; their number when they stay as they are."""
    if sum(len(part.dead) for part in parts) > max(sum(part.alive for part in parts), _DEAD):
        return 0
    classes = [size_class(part.rows) for part in parts]
    best = len(parts)
    for wanted in sorted(set(classes)):
        start = len(classes)
        while start > 0 and classes[start - 1] <= wanted:
            start -= 1
        if classes[start:].count(wanted) >= FAN_IN:
            best = start
    return best


def size_class(size: int) -> int:
    """Return the number of times FAN_IN divides a size."""
    found = 0
    while size >= FAN_IN:
        size, found = size // FAN_IN, found + 1
    return found


def merged(parts: Sequence[Part]) -> Part:
    """Return one part with the living rows of these; what is large is copied block by block when it is written."""
    lengths = np.concatenate([np.diff(part.starts)[part.living] for part in parts])
    counts = token_counts(parts)
    known, ids = np.flatnonzero(counts), [note for part in parts for note in _living_ids(part)]
    rows, tokens = len(ids), int(lengths.sum())
    kind = np.result_type(*(part.arrays["token.ids"].dtype for part in parts))
    return Part(
        {
            **string_arrays(ids, "ids"),
            **_merged_terms(parts),
            "vectors": Pieces(np.dtype(np.float32), (rows, parts[0].dimension), partial(_copied, parts, "vectors")),
            "token.starts": starts_of(lengths),
            "token.ids": Pieces(kind, (tokens,), partial(_copied, parts, "token.ids")),
            "token.codes": Pieces(np.dtype(np.uint8), (tokens, CODE_BYTES), partial(_copied, parts, "token.codes")),
            "frequency": np.stack([known, counts[known]]).astype(np.int32),
        }
    )


def _copied(parts: Sequence[Part], name: str) -> Iterator[NDArray[Any]]:
    """Yield what the living rows of parts have in an array, some rows at a time."""
    for part in parts:
        for start in range(0, part.alive, BLOCK):
            rows = part.living[start : start + BLOCK]
            yield part.arrays[name][rows if name == "vectors" else places_of(part.starts, rows)]


def _living_ids(part: Part) -> Iterable[str]:
    ids = list(part.ids)
    return [ids[row] for row in part.living.tolist()] if len(part.dead) else ids


def _merged_terms(parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
    rows: dict[str, list[Rows]] = {}
    begin = 0
    for part in parts:
        place = np.full(part.rows, -1, np.int64)
        place[part.living] = np.arange(begin, begin + part.alive)
        for term, (start, end) in zip(part.terms, pairwise(part.arrays["term.starts"].tolist()), strict=True):
            moved = place[part.arrays["term.rows"][start:end]]
            if len(moved := moved[moved >= 0]):
                rows.setdefault(term, []).append(moved)
        begin += part.alive
    return _inverted({term: np.concatenate(some) for term, some in rows.items()})


def token_counts(parts: Sequence[Part]) -> Rows:
    """Return by vocabulary id in how many living rows it occurs: those of all rows less those of the dead ones."""
    added = [part.arrays["frequency"] for part in parts]
    counts = np.zeros(max((int(some[0].max()) + 1 for some in added if some.size), default=0), np.int64)
    for ids, some in added:
        counts[ids] += some
    for part in parts:
        for start in range(0, len(part.dead), BLOCK):
            rows = part.dead[start : start + BLOCK]
            ids = part.arrays["token.ids"][places_of(part.starts, rows)].astype(np.int64)
            # A row's ids are counted once each: a pair of row and id is one number.
            lengths = part.starts[rows + 1] - part.starts[rows]
            pairs = np.unique(np.repeat(np.arange(len(rows)), lengths) << 32 | ids)
            np.subtract.at(counts, pairs & 0xFFFFFFFF, 1)
    return counts
