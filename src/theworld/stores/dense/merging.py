"""Which segments to merge, and how: few files to read from, and each row rewritten only a few times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.stores.dense.segments import GroupKey, GroupPlace, Part, Segment, parts_of
from theworld.stores.dense.writing import SegmentWriter, inverted
from theworld.stores.string_table import Rows, string_arrays

FAN_IN = 8
"""This many segments of one size class become one of the next."""
_BLOCK = 4096
"""Rows copied at once."""


def size_class(size: int) -> int:
    """Return the number of times FAN_IN divides a size."""
    found = 0
    while size >= FAN_IN:
        size //= FAN_IN
        found += 1
    return found


def merge_from(sizes: Sequence[int]) -> int | None:
    """Return where the run of segments to be merged begins (it reaches to the end), None when there are few.

    Only the end of the list is merged, so that a later segment still overrides all earlier ones.
    """
    classes = [size_class(size) for size in sizes]
    best = None
    for wanted in sorted(set(classes)):
        start = len(classes)
        while start > 0 and classes[start - 1] <= wanted:
            start -= 1
        if classes[start:].count(wanted) >= FAN_IN:
            best = start
    return best


def write_merged(folder: Path, segments: Sequence[Segment]) -> None:
    """Write one segment that does what the last segments did."""
    parts: dict[GroupKey, list[Part]] = {}
    for part in parts_of(segments):
        if part.alive:
            parts.setdefault((part.group.tenant, part.group.space), []).append(part)
    with SegmentWriter(folder) as writer:
        writer.add_overrides(_of_earlier(segments))
        for (tenant, space), some in sorted(parts.items()):
            _add_merged(writer, tenant, space, some)


def _of_earlier(segments: Sequence[Segment]) -> dict[GroupPlace, Rows]:
    """Return the overridden rows of segments that are not among these."""
    own = {segment.name for segment in segments}
    rows: dict[GroupPlace, list[Rows]] = {}
    for segment in segments:
        for place, some in segment.overrides.items():
            if place[0] not in own:
                rows.setdefault(place, []).append(some)
    return {place: np.unique(np.concatenate(some)) for place, some in rows.items()}


def _add_merged(writer: SegmentWriter, tenant: str, space: str, parts: Sequence[Part]) -> None:
    rows = sum(part.alive for part in parts)
    vectors = writer.new_array("vectors", (rows, parts[0].group.dimension), np.float32)
    _fill(vectors, (part.group.vectors[some] for part, some in _blocks(parts)))
    lengths = np.concatenate([np.diff(part.group.offsets)[part.living] for part in parts])
    tokens = int(lengths.sum())
    kind = np.result_type(*(part.group.token_ids.dtype for part in parts))
    ids = writer.new_array("token_ids", (tokens,), kind)
    codes = writer.new_array("token_codes", (tokens, parts[0].group.token_codes.shape[1]), np.uint8)
    _fill(ids, (part.group.token_ids[_tokens(part, some)] for part, some in _blocks(parts)))
    _fill(codes, (part.group.token_codes[_tokens(part, some)] for part, some in _blocks(parts)))
    arrays = {
        **{f"ids.{name}": array for name, array in string_arrays(_note_ids(parts)).items()},
        **_terms(parts),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "frequency": np.stack(_frequencies(parts)).astype(np.int32),
    }
    writer.add_group(tenant, space, arrays, vectors=vectors)


def _blocks(parts: Sequence[Part]) -> Iterator[tuple[Part, Rows]]:
    for part in parts:
        living = part.living
        for start in range(0, len(living), _BLOCK):
            yield part, living[start : start + _BLOCK]


def _fill(target: NDArray[Any], pieces: Iterator[NDArray[Any]]) -> None:
    position = 0
    for piece in pieces:
        target[position : position + len(piece)] = piece
        position += len(piece)
    if isinstance(target, np.memmap):
        target.flush()


def _tokens(part: Part, rows: Rows) -> Rows:
    """Return the places of the tokens of rows, row after row."""
    starts, ends = part.group.offsets[rows], part.group.offsets[rows + 1]
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    places: Rows = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return places


def _note_ids(parts: Sequence[Part]) -> list[str]:
    found: list[str] = []
    for part in parts:
        ids = list(part.group.ids)
        found += ids if not len(part.dead) else [ids[row] for row in part.living.tolist()]
    return found


def _terms(parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
    rows: dict[str, list[Rows]] = {}
    begin = 0
    for part in parts:
        place = np.full(part.group.rows, -1, np.int64)
        place[part.living] = np.arange(begin, begin + part.alive)
        bounds = part.group.term_starts.tolist()
        for term, (start, end) in zip(part.group.terms, pairwise(bounds), strict=True):
            moved = place[part.group.term_rows[start:end]]
            if len(moved := moved[moved >= 0]):
                rows.setdefault(term, []).append(moved)
        begin += part.alive
    return inverted({term: np.concatenate(some) for term, some in rows.items()})


def _frequencies(parts: Sequence[Part]) -> tuple[Rows, Rows]:
    """Return vocabulary ids that living rows have, and how many have them."""
    counts = token_counts(parts)
    ids = np.flatnonzero(counts)
    return ids, counts[ids]


def token_counts(parts: Sequence[Part]) -> Rows:
    """Return by vocabulary id in how many living rows it occurs: those of all rows less those of the dead ones."""
    added = [part.group.frequency for part in parts]
    counts = np.zeros(max((int(some[0].max()) + 1 for some in added if some.size), default=0), np.int64)
    for ids, some in added:
        counts[ids] += some
    for part in parts:
        for start in range(0, len(part.dead), _BLOCK):
            rows = part.dead[start : start + _BLOCK]
            lengths = part.group.offsets[rows + 1] - part.group.offsets[rows]
            pairs = np.repeat(np.arange(len(rows)), lengths) << 32 | part.group.token_ids[_tokens(part, rows)].astype(
                np.int64
            )
            np.subtract.at(counts, np.unique(pairs) & 0xFFFFFFFF, 1)
    return counts
