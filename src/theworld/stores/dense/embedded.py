"""The dense projection: cosine search in numpy over few immutable matrices on disk, every note compared exactly.

What a batch of changes brings to a tenant and space becomes a part (theworld.stores.dense.parts), merged with earlier
ones where there are many; which rows of the others no longer count stands in one more file. All of it is published in
one step (theworld.stores.array_folder).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from theworld.errors import ModelMismatchError
from theworld.models.protocols import FloatArray
from theworld.stores.array_folder import ArrayFolder, Generation, Key, Written
from theworld.stores.dense.parts import Part, merge_from, merged, part_of, token_counts
from theworld.stores.dense.space import Space
from theworld.stores.protocols import DenseResult, NoteChange
from theworld.stores.records import Filters
from theworld.stores.string_table import hashes_of
from theworld.stores.token_codes import TokenCodes, TokenCounts

FORMAT = 5
"""2 held ids and terms as JSON; 4 had folders of files, one an array."""
_DEAD: Key = ("dead",)
"""Key of the file with the dead rows of parts, by their numbers; that of a part is (tenant, space, number)."""

Parts = dict[Key, Part]


class _Opened:
    """The parts of one moment, and what was computed from them on demand. Never changed, only replaced."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        dead = generation.arrays.get(_DEAD, {})
        keys = sorted(key for key in generation.arrays if key != _DEAD)
        self.parts: Parts = {key: Part(generation.arrays[key], dead.get(key[2])) for key in keys}
        self._spaces: dict[tuple[str, str], Space] = {}
        self._frequencies: dict[str, TokenCounts] = {}
        self._lock = threading.RLock()

    def space(self, tenant: str, space: str) -> Space:
        """Return a tenant's space, built on first use."""
        with self._lock:
            found = self._spaces.get((tenant, space))
            if found is None:
                found = Space([part for key, part in self.parts.items() if key[:2] == (tenant, space)])
                if found.count:  # tenants that nobody knows are not kept: anyone may ask for any number of them
                    self._spaces[tenant, space] = found
            return found

    def frequency(self, space: str) -> TokenCounts:
        """Return the document frequencies of a space, built on first use."""
        with self._lock:
            if space not in self._frequencies:
                parts = [part for key, part in self.parts.items() if key[1] == space]
                self._frequencies[space] = TokenCounts(sum(part.alive for part in parts), token_counts(parts))
            return self._frequencies[space]


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
            self._folder.check_writable()
            latest = {(change.tenant, change.note_id): change for change in changes}
            before = self._opened.parts
            parts = _joined(before, latest)
            self._publish(_few(parts, _next_number([*before, *parts])), upto)

    def _publish(self, parts: Parts, applied: int) -> None:
        """Write the parts that are new, and which rows are dead."""
        before = self._opened.generation
        changed: dict[Key, Written | None] = {key: None for key in before.files if key not in parts}
        changed |= {key: part.arrays for key, part in parts.items() if key not in before.files}
        changed[_DEAD] = {key[2]: part.dead for key, part in parts.items() if len(part.dead)} or None
        self._opened = _Opened(self._folder.save(before, changed, applied))

    def check(self) -> None:
        """Read every file; raises ValueError naming one whose content has changed."""
        self._folder.check(self._opened.generation)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._folder.check_writable()
            self._publish({}, 0)

    def close(self) -> None:
        """Let go of the mapped files."""
        self._opened = _Opened(Generation(self.applied))

    def spaces(self, tenant: str) -> dict[str, int]:
        """Return the number of notes by space name."""
        counts: dict[str, int] = {}
        for (owner, space, _), part in self._opened.parts.items():
            if owner == tenant:
                counts[space] = counts.get(space, 0) + part.alive
        return counts

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


def _joined(before: Mapping[Key, Part], latest: Mapping[tuple[str, str], NoteChange]) -> Parts:
    """Return the parts after changes by (tenant, note): their earlier rows dead, and new parts; empty ones left out."""
    ids: dict[str, list[str]] = {}
    groups: dict[tuple[str, str], list[NoteChange]] = {}
    for (tenant, note), change in sorted(latest.items()):
        ids.setdefault(tenant, []).append(note)
        for space in change.note.vectors if change.note is not None else ():
            groups.setdefault((tenant, space), []).append(change)
    hashes = {tenant: hashes_of(some) for tenant, some in ids.items()}
    parts = {key: part.without(ids[key[0]], hashes[key[0]]) if key[0] in ids else part for key, part in before.items()}
    first = _next_number(before)
    for number, ((tenant, space), some) in enumerate(sorted(groups.items()), start=first):
        parts[tenant, space, f"{number:012d}"] = part_of(some, space)
    return {key: part for key, part in parts.items() if part.alive}


def _few(parts: Parts, number: int) -> Parts:
    """Return the parts with those of a space merged where they are many, or most of their rows dead.

    What is merged gets the numbers from `number` on, which no part has, or had before these changes.
    """
    by_space: dict[Key, list[Key]] = {}
    for key in sorted(parts):
        by_space.setdefault(key[:2], []).append(key)
    for space, keys in by_space.items():
        start = merge_from([parts[key] for key in keys])
        if start < len(keys):
            parts[*space, f"{number:012d}"] = merged([parts.pop(key) for key in keys[start:]])
            number += 1
    return parts


def _next_number(parts: Iterable[Key]) -> int:
    return 1 + max((int(key[2]) for key in parts), default=0)
