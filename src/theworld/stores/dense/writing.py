"""Segments written: what a batch of changes brings, or several segments as one.

Segments are merged so that there are few files to read from and each row is rewritten only a few times: FAN_IN of one
size class become one of the next. Only the end of the list is merged, so that a later segment still overrides all
earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray, IntArray
from theworld.stores.dense.segments import (
    BLOCK,
    DESCRIPTION,
    GroupKey,
    GroupPlace,
    Part,
    Segment,
    array_file,
    parts_of,
    places_of,
    token_counts,
)
from theworld.stores.files import sums_of, sync_file, sync_folder, write_atomically
from theworld.stores.filters import filter_terms
from theworld.stores.protocols import NoteChange
from theworld.stores.string_table import Rows, hashes_of, string_arrays
from theworld.stores.token_codes import CODE_BYTES, Ids, TokenCodes

Arrays = Mapping[str, NDArray[Any]]
FAN_IN = 8
"""This many segments of one size class become one of the next."""


def write_changes(folder: Path, changes: Iterable[NoteChange], parts: Sequence[Part]) -> bool:
    """Write changes to what is in `parts` as a segment; False, and no folder, when they change nothing."""
    latest = {(change.tenant, change.note_id): change for change in changes}
    overrides = _overridden(latest, parts)
    groups: dict[GroupKey, list[NoteChange]] = {}
    for (tenant, _), change in sorted(latest.items()):
        for space in change.note.vectors if change.note is not None else ():
            groups.setdefault((tenant, space), []).append(change)
    if not groups and not overrides:
        return False
    with SegmentWriter(folder) as writer:
        writer.add_overrides(overrides)
        for (tenant, space), some in sorted(groups.items()):
            writer.add_group(tenant, space, _arrays(some, space))
    return True


def _overridden(latest: Mapping[tuple[str, str], NoteChange], parts: Sequence[Part]) -> dict[GroupPlace, Rows]:
    """Return the living rows of notes that were changed."""
    by_tenant: dict[str, list[str]] = {}
    for tenant, note_id in latest:
        by_tenant.setdefault(tenant, []).append(note_id)
    hashes = {tenant: hashes_of(ids) for tenant, ids in by_tenant.items()}
    found: dict[GroupPlace, Rows] = {}
    for part in parts:
        tenant = part.group.tenant
        if tenant in by_tenant:
            rows = part.group.ids.find(by_tenant[tenant], hashes[tenant])
            rows = np.setdiff1d(rows[rows >= 0], part.dead)
            if len(rows):
                found[part.group.place] = rows
    return found


def _arrays(changes: Sequence[NoteChange], space: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a group of notes that all have vectors in a space."""
    notes = [change.note for change in changes if change.note is not None]
    vectors = np.stack([note.vectors[space].vector for note in notes]).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    tokens = [note.codes.get(space) for note in notes]
    rows_of: dict[str, list[int]] = {}
    for row, change in enumerate(changes):
        for term in filter_terms(change.metadata, change.document_id):
            rows_of.setdefault(term, []).append(row)
    return {
        **{f"ids.{part}": array for part, array in string_arrays([note.id for note in notes]).items()},
        **_inverted({term: np.array(some, np.int32) for term, some in rows_of.items()}),
        "vectors": vectors / np.where(lengths > 0, lengths, 1),
        **_token_arrays(tokens),
    }


def _token_arrays(tokens: Sequence[TokenCodes | None]) -> dict[str, NDArray[Any]]:
    some = [one for one in tokens if one is not None]
    lengths = [0 if one is None else len(one.ids) for one in tokens]
    return {
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "token_ids": np.concatenate([np.empty(0, np.uint16), *(one.ids for one in some)]),
        "token_codes": np.concatenate([np.empty((0, CODE_BYTES), np.uint8), *(one.codes for one in some)]),
        "frequency": _document_frequency(one.ids for one in some),
    }


def _inverted(rows: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of filter terms from the rows of each, ascending."""
    ordered = sorted(rows)
    starts = np.concatenate([[0], np.cumsum([len(rows[term]) for term in ordered])]).astype(np.int64)
    return {
        **{f"terms.{part}": array for part, array in string_arrays(ordered).items()},
        "term_starts": starts,
        "term_rows": np.concatenate([np.empty(0, np.int32), *(rows[term] for term in ordered)]).astype(np.int32),
    }


def _document_frequency(ids: Iterable[Ids]) -> IntArray:
    """Return vocabulary ids and in how many of the texts each occurs, int32 (2, m)."""
    distinct: list[Ids] = [np.unique(some) for some in ids]
    values, counts = np.unique(np.concatenate([np.empty(0, np.uint16), *distinct]), return_counts=True)
    return np.stack([values, counts]).astype(np.int32)


class SegmentWriter:
    """Writes the files of one segment; left without an error, it waits until all are on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._groups: list[dict[str, Any]] = []
        self._overrides: list[GroupPlace] = []

    def __enter__(self) -> SegmentWriter:
        self._folder.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        files = sorted(self._folder.glob("*.npy"))
        for file in files:
            sync_file(file)
        described = {"groups": self._groups, "overrides": self._overrides, "files": sums_of(files)}
        write_atomically(self._folder / DESCRIPTION, described)
        sync_folder(self._folder)

    def add_overrides(self, overrides: Mapping[GroupPlace, Rows]) -> None:
        """Say which rows of earlier segments no longer count."""
        for place, rows in sorted(overrides.items()):
            np.save(array_file(self._folder, len(self._overrides), "overridden"), rows)
            self._overrides.append(place)

    def new_array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array of the next group, on disk from the start: it may be larger than the memory."""
        file = array_file(self._folder, len(self._groups), name)
        if 0 in shape:  # an empty file cannot be mapped
            empty = np.empty(shape, dtype)
            np.save(file, empty)
            return empty
        return np.lib.format.open_memmap(file, mode="w+", dtype=dtype, shape=shape)

    def add_group(self, tenant: str, space: str, arrays: Arrays, *, vectors: FloatArray | None = None) -> None:
        """Write a group's arrays, those made by `new_array` left out; `vectors` are those among them."""
        number = len(self._groups)
        vectors = arrays["vectors"] if vectors is None else vectors
        for name, array in arrays.items():
            np.save(array_file(self._folder, number, name), array)
        rows, dimension = vectors.shape
        described = {"tenant": tenant, "space": space, "dimension": dimension, "rows": rows, "coded": False}
        self._groups.append(described)


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
    _fill(ids, (part.group.token_ids[places_of(part.group.offsets, some)] for part, some in _blocks(parts)))
    _fill(codes, (part.group.token_codes[places_of(part.group.offsets, some)] for part, some in _blocks(parts)))
    counts = token_counts(parts)
    known = np.flatnonzero(counts)
    arrays = {
        **{f"ids.{name}": array for name, array in string_arrays(_note_ids(parts)).items()},
        **_terms(parts),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "frequency": np.stack([known, counts[known]]).astype(np.int32),
    }
    writer.add_group(tenant, space, arrays, vectors=vectors)


def _blocks(parts: Sequence[Part]) -> Iterator[tuple[Part, Rows]]:
    for part in parts:
        living = part.living
        for start in range(0, len(living), BLOCK):
            yield part, living[start : start + BLOCK]


def _fill(target: NDArray[Any], pieces: Iterator[NDArray[Any]]) -> None:
    position = 0
    for piece in pieces:
        target[position : position + len(piece)] = piece
        position += len(piece)
    if isinstance(target, np.memmap):
        target.flush()


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
    return _inverted({term: np.concatenate(some) for term, some in rows.items()})
