"""Changes as a segment on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import FloatArray, IntArray
from theworld.stores.dense.first_pass import sign_codes
from theworld.stores.dense.segments import (
    CODED_ROWS,
    DESCRIPTION,
    GroupKey,
    GroupPlace,
    Part,
    array_file,
)
from theworld.stores.files import sync_file, sync_folder, write_atomically
from theworld.stores.filters import filter_terms
from theworld.stores.protocols import NoteChange
from theworld.stores.string_table import Rows, hashes_of, string_arrays
from theworld.stores.token_codes import CODE_BYTES, Ids, TokenCodes

Arrays = Mapping[str, NDArray[Any]]


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
    terms = [sorted(filter_terms(change.metadata)) for change in changes]
    return {
        **{f"ids.{part}": array for part, array in string_arrays([note.id for note in notes]).items()},
        **term_arrays(terms),
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
        "frequency": document_frequency(one.ids for one in some),
    }


def term_arrays(terms: Sequence[Sequence[str]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the filter terms of each row."""
    rows: dict[str, list[int]] = {}
    for row, some in enumerate(terms):
        for term in some:
            rows.setdefault(term, []).append(row)
    return inverted({term: np.array(some, np.int32) for term, some in rows.items()})


def inverted(rows: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of filter terms from the rows of each, ascending."""
    ordered = sorted(rows)
    starts = np.concatenate([[0], np.cumsum([len(rows[term]) for term in ordered])]).astype(np.int64)
    return {
        **{f"terms.{part}": array for part, array in string_arrays(ordered).items()},
        "term_starts": starts,
        "term_rows": np.concatenate([np.empty(0, np.int32), *(rows[term] for term in ordered)]).astype(np.int32),
    }


def document_frequency(ids: Iterable[Ids]) -> IntArray:
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
        write_atomically(self._folder / DESCRIPTION, {"groups": self._groups, "overrides": self._overrides})
        for file in self._folder.glob("*.npy"):
            sync_file(file)
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
        coded = len(vectors) >= CODED_ROWS
        for name, array in {**arrays, **(sign_codes(vectors) if coded else {})}.items():
            np.save(array_file(self._folder, number, name), array)
        rows, dimension = vectors.shape
        described = {"tenant": tenant, "space": space, "dimension": dimension, "rows": rows, "coded": coded}
        self._groups.append(described)
