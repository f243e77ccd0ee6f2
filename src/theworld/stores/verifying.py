"""Whether a projection on a server holds what the ledger holds: counts and checksums over all notes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from theworld.stores.protocols import NoteChange

Held = tuple[str, int]
"""The key of a note on the server, and the sequence number of the change that put it there."""


@runtime_checkable
class Verifiable(Protocol):
    """A projection that can be compared with the ledger."""

    def key_of(self, change: NoteChange) -> str:
        """Return the key of a note on the server."""

    def held(self) -> Iterable[Held]:
        """Yield all notes that the server holds."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A number of notes and a checksum that does not depend on their order."""

    notes: int = 0
    checksum: int = 0

    @classmethod
    def of(cls, held: Iterable[Held]) -> Sum:
        """Return the sum of notes; one that is there twice, missing, or of another sequence number makes another."""
        notes = checksum = 0
        for key, sequence in held:
            digest = hashlib.blake2b(f"{key} {sequence}".encode(), digest_size=8).digest()
            notes, checksum = notes + 1, (checksum + int.from_bytes(digest, "big")) % (1 << 64)
        return cls(notes, checksum)

    def __str__(self) -> str:
        return f"{self.notes} notes, checksum {self.checksum:016x}"
