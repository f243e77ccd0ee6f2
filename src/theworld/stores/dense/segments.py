"""Segments: immutable folders of vectors on disk, each holding what one batch of changes brought.

A later segment says which rows of the earlier ones it overrides, so nothing has to be compared when they are opened,
and a removal is an overridden row without a new one. Everything but a short description is mapped from files:

    segment.json          {"groups": [{tenant, space, dimension, rows, coded}], "overrides": [[segment, group]],
                          "files": theworld.stores.files.Sums}
                          (`coded` is false: there are no sign codes, which an earlier program searched first)
    <g>.ids.*.npy         note ids by row, a theworld.stores.string_table
    <g>.terms.*.npy       distinct filter terms, another such table
    <g>.term_starts.npy   int64 (terms + 1,), where the rows of a term begin
    <g>.term_rows.npy     int32, the rows of each term, ascending
    <g>.vectors.npy       float32 (n, dimension), unit vectors
    <g>.offsets.npy       int64 (n + 1,), where the tokens of a row begin
    <g>.token_ids.npy     uint16 or uint32 (tokens,)
    <g>.token_codes.npy   uint8 (tokens, CODE_BYTES), see theworld.stores.token_codes
    <g>.frequency.npy     int32 (2, m), vocabulary ids and the number of rows having them
    <k>.overridden.npy    int64, rows of the k-th of `overrides`, ascending
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray, IntArray
from theworld.stores.files import check_sums, read_json
from theworld.stores.string_table import Rows, StringTable
from theworld.stores.token_codes import Codes, Ids, TokenCodes

DESCRIPTION = "segment.json"
BLOCK = 4096
"""Rows looked at, or copied, at once."""

GroupKey = tuple[str, str]
"""(tenant, space)."""
GroupPlace = tuple[str, int]
"""(segment name, group number)."""


class Group:
    """The rows of one tenant and space in one segment; arrays are mapped, not read."""

    def __init__(self, folder: Path, number: int, described: Mapping[str, Any]) -> None:
        self.tenant: str = described["tenant"]
        self.space: str = described["space"]
        self.dimension: int = described["dimension"]
        self.rows: int = described["rows"]
        self.place: GroupPlace = (folder.name, number)
        load = partial(_mapped, folder, number)
        self.ids = StringTable.mapped(lambda part: load(f"ids.{part}"))
        self.terms = StringTable.mapped(lambda part: load(f"terms.{part}"))
        self.term_starts: Rows = load("term_starts")
        self.term_rows: IntArray = load("term_rows")
        self.vectors: FloatArray = load("vectors")
        self.offsets: Rows = load("offsets")
        self.token_ids: Ids = load("token_ids")
        self.token_codes: Codes = load("token_codes")
        self.frequency: IntArray = load("frequency")

    def tokens(self, row: int) -> TokenCodes | None:
        """Return the token codes of a row, None when it has none."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        return TokenCodes(self.token_ids[start:end], self.token_codes[start:end]) if end > start else None

    def rows_with(self, term: str) -> IntArray:
        """Return the rows that have a filter term, ascending."""
        number = int(self.terms.find([term])[0])
        if number < 0:
            return self.term_rows[:0]
        return self.term_rows[self.term_starts[number] : self.term_starts[number + 1]]


@dataclass
class Segment:
    """One opened segment."""

    name: str
    groups: list[Group]
    overrides: dict[GroupPlace, Rows]
    """Rows of earlier segments that no longer count."""

    @cached_property
    def size(self) -> int:
        """Number of rows and overridden rows, by which merging goes."""
        return max(1, sum(group.rows for group in self.groups) + sum(map(len, self.overrides.values())))


def open_segment(parent: Path, name: str, *, whole: bool = False) -> Segment:
    """Open a segment; raises OSError or ValueError when a file is missing or damaged, with `whole` anywhere in it."""
    folder = parent / name
    described = read_json(folder / DESCRIPTION)
    if described is None:
        raise ValueError(f"{DESCRIPTION} is missing or has changed")
    check_sums(folder, described.get("files", {}), whole=whole)
    groups = [Group(folder, number, group) for number, group in enumerate(described["groups"])]
    places = [(str(segment), int(group)) for segment, group in described["overrides"]]
    overrides = {place: _mapped(folder, number, "overridden") for number, place in enumerate(places)}
    return Segment(name, groups, overrides)


def array_file(folder: Path, number: int, name: str) -> Path:
    """Return the file of a group's array."""
    return folder / f"{number}.{name}.npy"


def _mapped(folder: Path, number: int, name: str) -> NDArray[Any]:
    # A plain array over the map: slices of np.memmap itself cost microseconds each.
    return np.asarray(np.load(array_file(folder, number, name), mmap_mode="r"))


@dataclass(frozen=True)
class Part:
    """A group and which of its rows still count."""

    group: Group
    dead: Rows
    """Rows that later segments override, ascending."""

    @property
    def alive(self) -> int:
        """Number of rows that count."""
        return self.group.rows - len(self.dead)

    @cached_property
    def living(self) -> Rows:
        """The rows that count, ascending."""
        return np.delete(np.arange(self.group.rows), self.dead)


def parts_of(segments: Sequence[Segment]) -> list[Part]:
    """Return all groups, oldest first, each with the rows that any later segment overrides."""
    overridden: dict[GroupPlace, list[Rows]] = {}
    for segment in segments:
        for place, rows in segment.overrides.items():
            overridden.setdefault(place, []).append(rows)
    none = np.empty(0, np.int64)
    return [
        Part(group, np.unique(np.concatenate(overridden.get(group.place, [none]))))
        for segment in segments
        for group in segment.groups
    ]


def places_of(offsets: Rows, rows: Rows) -> Rows:
    """Return the places of the items of some rows, row after row; `offsets` (n + 1,) say where those of a row begin."""
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    before = np.cumsum(lengths) - lengths
    places: Rows = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return places


def token_counts(parts: Sequence[Part]) -> Rows:
    """Return by vocabulary id in how many living rows it occurs: those of all rows less those of the dead ones."""
    added = [part.group.frequency for part in parts]
    counts = np.zeros(max((int(some[0].max()) + 1 for some in added if some.size), default=0), np.int64)
    for ids, some in added:
        counts[ids] += some
    for part in parts:
        for start in range(0, len(part.dead), BLOCK):
            rows = part.dead[start : start + BLOCK]
            lengths = part.group.offsets[rows + 1] - part.group.offsets[rows]
            ids = part.group.token_ids[places_of(part.group.offsets, rows)].astype(np.int64)
            # A row's ids are counted once each: a pair of row and id is one number.
            pairs = np.unique(np.repeat(np.arange(len(rows)), lengths) << 32 | ids)
            np.subtract.at(counts, pairs & 0xFFFFFFFF, 1)
    return counts
