"""The dense projection: cosine search in numpy over segments on disk."""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from theworld.errors import ModelMismatchError, StoreError
from theworld.models.protocols import FloatArray
from theworld.stores.dense.segments import Part, Segment, open_segment, parts_of, token_counts
from theworld.stores.dense.space import Space
from theworld.stores.dense.writing import merge_from, write_changes, write_merged
from theworld.stores.files import is_damage, read_json, write_atomically
from theworld.stores.protocols import DenseResult, NoteChange
from theworld.stores.records import Filters
from theworld.stores.token_codes import TokenCodes, TokenCounts

FORMAT = 4
"""2 held ids and terms as JSON, which took a second to read for each 10,000 notes."""
_TRIES = 5
_DEAD = 1024
"""Overridden rows, when they are also more than the living ones, at which all is written anew."""


class _Opened:
    """The segments of one moment, and what was computed from them on demand. Never changed, only replaced."""

    def __init__(self, segments: list[Segment], applied: int) -> None:
        self.segments, self.applied = segments, applied
        self.parts = parts_of(segments)
        self._spaces: dict[tuple[str, str], Space] = {}
        self._frequencies: dict[str, TokenCounts] = {}
        self._lock = threading.RLock()

    def pairs(self) -> list[tuple[str, str]]:
        """Return the (tenant, space) pairs that ever had rows."""
        return sorted({(part.group.tenant, part.group.space) for part in self.parts})

    def _parts(self, tenant: str, space: str) -> list[Part]:
        """Return what is left of a space: one whose notes have all gone may come again in another dimension."""
        return [p for p in self.parts if p.alive and (p.group.tenant, p.group.space) == (tenant, space)]

    def space(self, tenant: str, space: str) -> Space:
        """Return a tenant's space, built on first use."""
        with self._lock:
            found = self._spaces.get((tenant, space))
            if found is None:
                found = Space(self._parts(tenant, space))
                if found.count:  # tenants that nobody knows are not kept: anyone may ask for any number of them
                    self._spaces[tenant, space] = found
            return found

    def frequency(self, space: str) -> TokenCounts:
        """Return the document frequencies of a space, built on first use."""
        with self._lock:
            if space not in self._frequencies:
                self._frequencies[space] = _frequency([p for p in self.parts if p.group.space == space])
            return self._frequencies[space]


class NumpyDense:
    """Nearest neighbours, every note compared exactly; all is mapped from files.

    `manifest.json` names the segments in order and the last change applied; it is replaced atomically once a new
    segment is on disk. Thread-safe; readers in other processes see new segments after `refresh`.
    """

    def __init__(self, folder: Path, *, writable: bool = False) -> None:
        """Open the projection in a folder; a reader of a folder without manifest sees an empty store."""
        self._folder, self._writable = folder, writable
        self._manifest = folder / "manifest.json"
        self._lock = threading.RLock()
        self._opened = _Opened([], 0)
        self.outdated = ""
        """What is wrong when the folder holds another format, which a reader cannot build anew."""
        if writable:
            folder.mkdir(parents=True, exist_ok=True)
        self.refresh()
        if writable:
            self._remove_unused()

    @property
    def applied(self) -> int:
        """Sequence number of the last change applied durably."""
        return self._opened.applied

    def refresh(self) -> None:
        """See what has been written since, by this process or another."""
        with self._lock:
            for attempt in range(_TRIES):
                try:
                    self._read()
                    return
                except Exception as error:
                    if not is_damage(error):
                        raise
                    # A writer may have merged segments away between our reading of the manifest and of them.
                    if attempt == _TRIES - 1:
                        self._give_up(error)

    def _read(self) -> None:
        manifest = read_json(self._manifest)
        found = manifest.get("format") if isinstance(manifest, dict) else FORMAT
        self.outdated = "" if found == FORMAT else f"the dense index has format {found}, this program knows {FORMAT}."
        if not isinstance(manifest, dict) or self.outdated:
            self._opened = _Opened([], 0)
            return
        known = {segment.name: segment for segment in self._opened.segments}
        segments = [known.get(name) or open_segment(self._folder, name) for name in manifest["segments"]]
        self._opened = _Opened(segments, int(manifest["applied"]))

    def _give_up(self, error: Exception) -> None:
        if not self._writable:
            raise StoreError(
                f"the dense index is damaged: {error}.",
                where=str(self._folder),
                remedy="Delete this folder: it is built again from the ledger when the store is next opened.",
            ) from error
        self._publish([], 0)

    def _remove_unused(self) -> None:
        """Remove what a crash or a merge left behind; a reader that still maps a file keeps it."""
        used = {segment.name for segment in self._opened.segments}
        for folder in self._folder.iterdir():
            if folder.is_dir() and folder.name not in used:
                shutil.rmtree(folder, ignore_errors=True)

    def _publish(self, names: list[str], applied: int) -> None:
        write_atomically(self._manifest, {"format": FORMAT, "applied": applied, "segments": names})
        self._read()

    def _next_name(self) -> str:
        # Never the name of an earlier segment, even of a folder deleted since: readers know segments by their names.
        return f"{len(self._opened.segments):04d}-{secrets.token_hex(6)}"

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Write the changes as a segment and remember `upto`; merges segments when there are many."""
        with self._lock:
            self._check_writable()
            names = [segment.name for segment in self._opened.segments]
            name = self._next_name()
            if write_changes(self._folder / name, changes, self._opened.parts):
                names.append(name)
            self._publish(names, upto)
            self._merge()

    def _merge(self) -> None:
        segments, parts = self._opened.segments, self._opened.parts
        start = merge_from([segment.size for segment in segments])
        if sum(len(part.dead) for part in parts) > max(sum(part.alive for part in parts), _DEAD):
            start = 0
        if start is None:
            return
        name = self._next_name()
        write_merged(self._folder / name, segments[start:])
        self._publish([*(segment.name for segment in segments[:start]), name], self.applied)
        self._remove_unused()

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreError("the dense index was opened for reading.", where=str(self._folder))

    def check(self) -> None:
        """Read every file; raises ValueError naming one whose content has changed."""
        for segment in self._opened.segments:
            open_segment(self._folder, segment.name, whole=True)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._check_writable()
            self._publish([], 0)
            self._remove_unused()

    def close(self) -> None:
        """Let go of the mapped files."""
        self._opened = _Opened([], self._opened.applied)

    def spaces(self, tenant: str) -> dict[str, int]:
        """Return the number of notes by space name."""
        opened = self._opened
        counts = {space: opened.space(owner, space).count for owner, space in opened.pairs() if owner == tenant}
        return {space: count for space, count in counts.items() if count}

    def dimension(self, space: str, tenant: str) -> int:
        """Return the length of a space's vectors, 0 for an unknown space."""
        return self._opened.space(tenant, space).dimension

    def search(
        self,
        space: str,
        vector: FloatArray,
        *,
        tenant: str,
        filters: Filters,
        limit: int,
        spread: bool = True,  # noqa: ARG002
    ) -> DenseResult:
        """Return the nearest notes of one space; an unknown space has none. The spread costs nothing here.

        Raises ModelMismatchError when the vector has another dimension than the space.
        """
        found = self._fitting(space, vector, tenant)
        return found.search(vector, filters, limit) if found is not None else DenseResult([], 0.0, 0.0)

    def _fitting(self, space: str, vector: FloatArray, tenant: str) -> Space | None:
        """Return a space, None when it has no notes; raises ModelMismatchError for a vector of another dimension."""
        found = self._opened.space(tenant, space)
        if not found.count:
            return None
        if vector.shape != (found.dimension,):
            raise ModelMismatchError(
                f"the space {space!r} has {found.dimension} dimensions, the question's vector {vector.shape}.",
                remedy="Use the embedder that made the store, or ingest again with --reembed.",
            )
        return found

    def cosines(self, space: str, vector: FloatArray, note_ids: Sequence[str], tenant: str) -> FloatArray:
        """Return the cosine of a vector with each note's, shape (len(note_ids),); 0 for a note not in the space.

        Raises ModelMismatchError when the vector has another dimension than the space.
        """
        found = self._fitting(space, vector, tenant)
        return found.cosines(vector, note_ids) if found is not None else np.zeros(len(note_ids), np.float32)

    def token_codes(self, space: str, note_ids: Sequence[str], tenant: str) -> list[TokenCodes | None]:
        """Return the stored token codes (views of the mapped file), None for a note without any."""
        return self._opened.space(tenant, space).tokens(note_ids)

    def token_idf(self, space: str, ids: Sequence[int]) -> FloatArray:
        """Return ln(1 + (N - df + .5) / (df + .5)) for vocabulary ids, shape (len(ids),), over all tenants."""
        return self._opened.frequency(space).idf(ids)


def _frequency(parts: Sequence[Part]) -> TokenCounts:
    return TokenCounts(sum(part.alive for part in parts), token_counts(parts))
