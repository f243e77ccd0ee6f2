"""Arrays on disk: files that never change, and a manifest that says which of them count, and what they reflect.

    manifest.json    {"format", "applied", "files": [[key, file name]], "sums": theworld.stores.files.Sums}
    *.arrays         named arrays in the layout of safetensors: the length of the header (8 bytes, little-endian), the
                     header (JSON: of each array its type, shape and place), then the arrays, the widest types first, so
                     that each lies at a multiple of its width

Files are mapped, not read, when they are opened. The manifest is replaced atomically once new files are on disk; what
it no longer names is then removed, and a reader that still maps it keeps it.

Products of float32 matrices are computed on the calling thread alone. OpenBLAS spreads larger ones over threads that go
on spinning when they are done, and wait for each other where the encoder or another request has the cores: measured
with two threads on a busy machine, 7 ms of CPU for what takes 0.4.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import mmap
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theworld.errors import StoreError
from theworld.models.protocols import FloatArray
from theworld.stores.files import REREAD, Sums, check_sums, is_damage, read_json, sums_of, write_atomically

Rows = NDArray[np.int64]
Hashes = NDArray[np.uint64]


class StringTable:
    """Strings by row, and rows by string. Immutable; the arrays may be mapped files.

    A string costs its UTF-8 bytes and 20 more. Looking one up takes a binary search among the hashes; the string
    itself decides, so that equal hashes do no harm.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], name: str) -> None:
        """Use the arrays called `name.PART`, as `string_arrays` makes them."""
        self._data: NDArray[np.uint8] = arrays[f"{name}.bytes"]
        self._offsets: Rows = arrays[f"{name}.offsets"]
        self._hashes: Hashes = arrays[f"{name}.hashes"]
        self._order: NDArray[np.int32] = arrays[f"{name}.order"]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> str:
        return self._data[self._offsets[row] : self._offsets[row + 1]].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        data, bounds = self._data.tobytes(), self._offsets.tolist()
        for start, end in pairwise(bounds):
            yield data[start:end].decode("utf-8", "surrogatepass")

    def find(self, strings: Sequence[str], hashes: Hashes | None = None) -> Rows:
        """Return the row of each string, -1 for one that is not there; `hashes` are those of `hashes_of`, if known."""
        hashes = hashes_of(strings) if hashes is None else hashes
        rows = np.full(len(strings), -1, np.int64)
        if not len(self._hashes):
            return rows
        places = np.searchsorted(self._hashes, hashes)
        same = self._hashes[np.minimum(places, len(self._hashes) - 1)] == hashes
        for i in np.flatnonzero(same).tolist():
            place = int(places[i])
            while place < len(self._hashes) and self._hashes[place] == hashes[i]:
                if self[int(self._order[place])] == strings[i]:
                    rows[i] = self._order[place]
                    break
                place += 1
        return rows


def hashes_of(strings: Iterable[str]) -> Hashes:
    """Return 64 bits of the BLAKE2b hash of each string."""
    digests = (hashlib.blake2b(s.encode("utf-8", "surrogatepass"), digest_size=8).digest() for s in strings)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def string_arrays(strings: Sequence[str], name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a table of strings, which must be distinct, called `name.PART`."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    hashes = hashes_of(strings)
    order = np.argsort(hashes, kind="stable")
    return {
        f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8),
        f"{name}.offsets": starts_of([len(one) for one in encoded]),
        f"{name}.hashes": hashes[order],
        f"{name}.order": order.astype(np.int32),
    }


def starts_of(lengths: ArrayLike) -> Rows:
    """Return where lists of such lengths start, one after the other, and where the last one ends, (n + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def places_of(starts: Rows, rows: NDArray[Any]) -> Rows:
    """Return the places of the values of some lists, list after list; `starts` (n + 1,) say where each begins."""
    lengths = starts[rows + 1] - starts[rows]
    before = np.cumsum(lengths) - lengths
    places: Rows = np.arange(int(lengths.sum())) + np.repeat(starts[rows] - before, lengths)
    return places


_LOG = logging.getLogger(__name__)
_KINDS = {"I64": "<i8", "U64": "<u8", "F64": "<f8", "I32": "<i4", "U32": "<u4", "F32": "<f4", "U16": "<u2", "U8": "|u1"}
_NAMES = {np.dtype(kind): name for name, kind in _KINDS.items()}


@dataclass(frozen=True)
class Pieces:
    """An array to be written that may be larger than the memory."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Callable[[], Iterable[NDArray[Any]]]
    """Yields its rows, some at a time."""

    @property
    def nbytes(self) -> int:
        """Return its size."""
        return math.prod(self.shape) * self.dtype.itemsize


Arrays = Mapping[str, NDArray[Any]]
Written = Mapping[str, NDArray[Any] | Pieces]
Key = tuple[str, ...]
"""By which a file of arrays is known."""


def write_arrays(path: Path, arrays: Written) -> None:
    """Write a file, and wait until it is on disk."""
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    described: dict[str, Any] = {}
    place = 0
    for name, array in ordered:
        end = place + array.nbytes
        described[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [place, end]}
        place = end
    header = json.dumps(described).encode()
    header += b" " * (-len(header) % 8)
    with path.open("xb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for _, array in ordered:
            for block in array.blocks() if isinstance(array, Pieces) else [array]:
                if block.size:
                    file.write(np.ascontiguousarray(block, array.dtype).reshape(-1).view(np.uint8).data)
        file.flush()
        os.fsync(file.fileno())


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; raises what `is_damage` knows when it is damaged."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(mapped[:8], "little")
    if length > len(mapped) - 8:
        raise ValueError(f"{path.name} ends within its header")
    found: dict[str, NDArray[Any]] = {}
    for name, one in json.loads(mapped[8 : 8 + length]).items():
        kind, (start, end) = np.dtype(_KINDS[one["dtype"]]), one["data_offsets"]
        array = np.frombuffer(mapped, kind, (end - start) // kind.itemsize, 8 + length + start)
        found[name] = array.reshape(one["shape"])
    return found


@dataclass(frozen=True, slots=True)
class Generation:
    """What a manifest says, and the files it names, mapped."""

    applied: int = 0
    files: Mapping[Key, str] = field(default_factory=dict)
    sums: Sums = field(default_factory=dict)
    arrays: Mapping[Key, Arrays] = field(default_factory=dict)


class ArrayFolder:
    """The folder of a projection called `name`; not locked, so one thread at a time."""

    def __init__(self, folder: Path, name: str, form: int | str, *, writable: bool) -> None:
        self.folder, self._name, self._format, self._writable = folder, name, form, writable
        self._manifest = folder / "manifest.json"
        self.outdated = ""
        """What is wrong when the folder is damaged or holds another format, which a reader cannot build anew."""
        if writable:
            folder.mkdir(parents=True, exist_ok=True)

    def load(self, known: Generation, *, whole: bool = False) -> Generation:
        """Return what is on disk, files that are mapped already not mapped again; nothing, and a warning, when damaged.

        Sizes and both ends of new files are checked, with `whole` all of their content.
        """
        self.outdated = ""
        try:
            return REREAD(self._read, known, whole=whole)
        except Exception as error:
            if not is_damage(error):
                raise
            self._tell(f"is damaged ({str(error) or type(error).__name__})")
            return Generation()

    def _tell(self, what: str) -> None:
        if not self._writable:  # a writer is about to build it
            self.outdated = f"the {self._name} index {what}."
        _LOG.warning("the %s index in %s %s and will be built from the ledger", self._name, self.folder, what)

    def _read(self, known: Generation, *, whole: bool) -> Generation:
        manifest = read_json(self._manifest)
        if manifest is None:
            if self._manifest.exists():
                raise ValueError("its manifest is no JSON")
            return Generation()
        if manifest["format"] != self._format:
            self._tell(f"has format {manifest['format']}, this program knows {self._format},")
            return Generation()
        files, sums = {tuple(key): file for key, file in manifest["files"]}, manifest["sums"]
        arrays = {key: known.arrays[key] for key, file in files.items() if known.files.get(key) == file}
        new = {key: file for key, file in files.items() if key not in arrays}
        check_sums(self.folder, {file: sums[file] for file in new.values()}, whole=whole)
        arrays |= {key: map_arrays(self.folder / file) for key, file in new.items()}
        return Generation(int(manifest["applied"]), files, sums, arrays)

    def save(self, before: Generation, changed: Mapping[Key, Written | None], applied: int) -> Generation:
        """Write changed arrays (None takes them away), publish, and return all; StoreError where opened for reading."""
        if not self._writable:
            raise StoreError(f"the {self._name} index was opened for reading.", where=str(self.folder))
        files = {key: file for key, file in before.files.items() if key not in changed}
        for key, arrays in sorted(changed.items()):
            if arrays is not None:
                files[key] = f"{secrets.token_hex(6)}.arrays"
                write_arrays(self.folder / files[key], arrays)
        sums = sums_of((self.folder / file for file in files.values()), before.sums)
        manifest = {"format": self._format, "applied": applied, "files": list(files.items())}
        write_atomically(self._manifest, {**manifest, "sums": sums})
        saved = self._read(before, whole=False)
        self.remove_unused(saved)
        return saved

    def remove_unused(self, used: Generation) -> None:
        """Remove what a crash, a later file or an earlier format left behind."""
        known = {*used.files.values(), self._manifest.name}
        for path in self.folder.iterdir():
            if path.name not in known:
                with contextlib.suppress(OSError):  # where a mapped file cannot be removed, a later writer does it
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


_MOST = 1 << 18
"""Multiplications up to which OpenBLAS stays on one thread."""


def matrix_product(rows: FloatArray, right: FloatArray) -> FloatArray:
    """Return `rows @ right`, shapes (n, k) and (k, m), computed in pieces of some rows."""
    right, step = np.ascontiguousarray(right), max(1, _MOST // max(right.size, 1))
    product = np.empty((len(rows), right.shape[1]), np.float32)
    whole = len(rows) // step * step
    pieces, found = rows[:whole].reshape(-1, step, right.shape[0]), product[:whole].reshape(-1, step, right.shape[1])
    np.matmul(pieces, right, out=found)
    np.matmul(rows[whole:], right, out=product[whole:])
    return product


def inner_products(rows: FloatArray, vector: FloatArray) -> FloatArray:
    """Return `rows @ vector`, shapes (n, k) and (k,); the same for a row wherever it stands."""
    found: FloatArray = np.einsum("ij,j->i", rows, vector)
    return found
