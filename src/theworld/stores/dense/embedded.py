"""The dense projection: cosine search in numpy over few immutable matrices on disk.

A tenant's notes in one space are a large matrix and a small tail (theworld.stores.dense.space). What a batch of changes
makes of them is published in one step (theworld.stores.array_folder).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from theworld.models.protocols import FloatArray
from theworld.single_flight import SingleFlightCache
from theworld.stores.array_folder import ArrayFolder, Arrays, Generation, Key, Written
from theworld.stores.dense.space import Space, token_counts, updated
from theworld.stores.files import check_sums
from theworld.stores.protocols import DenseResult, NoteChange, check_dimension
from theworld.stores.records import Filters
from theworld.stores.token_codes import TokenCodes, TokenCounts

FORMAT = 6
"""2 held ids and terms as JSON; 4 had folders of files, one an array; 5 had any number of matrices for a space."""
_COUNTED = 32
"""Spaces whose tokens' frequencies are kept."""


class _Opened:
    """The spaces of one moment, and what was computed from them on demand. Never changed, only replaced."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        files: dict[tuple[str, str], dict[str, Arrays]] = {}
        for (tenant, space, kind), arrays in sorted(generation.arrays.items()):
            files.setdefault((tenant, space), {})[kind] = arrays
        self.spaces = {key: Space(its) for key, its in files.items()}
        """By tenant and name."""
        self.frequencies: SingleFlightCache[str, TokenCounts] = SingleFlightCache(_COUNTED)
        """By name, over all tenants."""


class NumpyDense:
    """Nearest neighbours, mapped from files. Thread-safe; readers in other processes see changes after `refresh`."""

    def __init__(self, folder: Path, *, writable: bool = False) -> None:
        """Open the projection in a folder; a reader of one that is missing or damaged sees an empty store."""
        self._folder = ArrayFolder(folder, "dense", FORMAT, writable=writable)
        self._lock = threading.RLock()
        self._opened = _Opened(self._folder.load(Generation()))
        if writable:
            self._folder.remove_unused(self._opened.generation)

    @property
    def applied(self) -> int:
        """Sequence number of the last change applied durably."""
        return self._opened.generation.applied

    @property
    def outdated(self) -> str:
        """What is wrong when the folder is damaged or holds another format, which a reader cannot build anew."""
        return self._folder.outdated

    def refresh(self) -> None:
        """See what has been written since, by this process or another."""
        with self._lock:
            self._opened = _Opened(self._folder.load(self._opened.generation))

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Write what the changes bring, and remember `upto`."""
        with self._lock:
            latest = {(change.tenant, change.note_id): change for change in changes}
            by_tenant: dict[str, dict[str, NoteChange]] = {}
            for (tenant, note), change in sorted(latest.items(), key=lambda item: item[0]):
                by_tenant.setdefault(tenant, {})[note] = change
            before = self._opened
            changed: dict[Key, Written | None] = {}
            for tenant, some in by_tenant.items():
                names = {name for owner, name in before.spaces if owner == tenant}
                names |= {name for change in some.values() if change.note is not None for name in change.note.vectors}
                for name in sorted(names):
                    files = updated(before.spaces.get((tenant, name)), name, some)
                    changed |= {(tenant, name, kind): arrays for kind, arrays in files.items()}
            self._opened = _Opened(self._folder.save(before.generation, changed, upto))

    def check(self) -> None:
        """Read every file; raises ValueError naming one whose content has changed."""
        check_sums(self._folder.folder, self._opened.generation.sums, whole=True)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._opened = _Opened(self._folder.save(Generation(), {}, 0))

    def close(self) -> None:
        """Let go of the mapped files."""
        self._opened = _Opened(Generation(self.applied))

    def spaces(self, tenant: str) -> dict[str, int]:
        """Return the number of notes by space name."""
        return {name: space.count for (owner, name), space in self._opened.spaces.items() if owner == tenant}

    def search(self, space: str, vector: FloatArray, *, tenant: str, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes of one space; an unknown space has none."""
        found = self._fitting(space, vector, tenant)
        return found.search(vector, filters, limit) if found is not None else DenseResult([], 0.0, 0.0)

    def _fitting(self, space: str, vector: FloatArray, tenant: str) -> Space | None:
        """Return a space, None when it has no notes; raises ModelMismatchError for a vector of another dimension."""
        found = self._opened.spaces.get((tenant, space))
        if found is not None:
            check_dimension(space, found.dimension, vector)
        return found

    def cosines(self, space: str, vector: FloatArray, note_ids: Sequence[str], tenant: str) -> FloatArray:
        """Return the cosine of a vector with each note's, shape (len(note_ids),); 0 for a note not in the space."""
        found = self._fitting(space, vector, tenant)
        return found.cosines(vector, note_ids) if found is not None else np.zeros(len(note_ids), np.float32)

    def token_codes(self, space: str, note_ids: Sequence[str], tenant: str) -> list[TokenCodes | None]:
        """Return the stored token codes (views of the mapped file), None for a note without any."""
        found = self._opened.spaces.get((tenant, space))
        return found.tokens(note_ids) if found is not None else [None] * len(note_ids)

    def token_idf(self, space: str, ids: Sequence[int]) -> FloatArray:
        """Return ln(1 + (N - df + .5) / (df + .5)) for vocabulary ids, shape (len(ids),), over all tenants."""
        opened = self._opened
        its = [one for (_, name), one in opened.spaces.items() if name == space]
        matrices = [matrix for one in its for matrix in one.matrices]
        counted = opened.frequencies.get(space, lambda: TokenCounts(sum(s.count for s in its), token_counts(matrices)))
        return counted.idf(ids)
