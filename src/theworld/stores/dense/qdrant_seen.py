"""What a client has learnt of a Qdrant collection: good as long as the collection stays as it is."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from theworld.stores.dense.qdrant_points import State
from theworld.stores.token_codes import TokenCodes, TokenCounts

_KEPT_VECTORS = 8
"""Questions whose cosines are kept: the reranker asks again for those that the search has told."""
_KEPT_CODES = 20_000
"""Notes whose token codes are kept, some 3 kB each."""


class Asked(NamedTuple):
    """A question's vector in one space of a tenant."""

    tenant: str
    space: str
    vector: bytes


class Seen:
    """Of one state of the collection; thread-safe."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.spaces: dict[str, dict[str, int]] = {}
        """Number of notes by space, by tenant."""
        self.tokens: dict[str, TokenCounts] = {}
        """By space."""
        self._cosines: dict[Asked, dict[str, float]] = {}
        self._codes: dict[tuple[str, str, str], TokenCodes | None] = {}
        self._lock = threading.Lock()

    def cosines(self, asked: Asked) -> dict[str, float]:
        """Return the cosines with a vector that are known, by note id."""
        with self._lock:
            return dict(self._cosines.get(asked, {}))

    def add_cosines(self, asked: Asked, found: Mapping[str, float]) -> None:
        """Remember cosines."""
        with self._lock:
            known = self._cosines.pop(asked, {})
            self._cosines[asked] = {**known, **found}
            while len(self._cosines) > _KEPT_VECTORS:
                del self._cosines[next(iter(self._cosines))]

    def codes(self, tenant: str, space: str, notes: Iterable[str]) -> dict[str, TokenCodes | None]:
        """Return the token codes that are known, by note id."""
        with self._lock:
            return {note: self._codes[tenant, space, note] for note in notes if (tenant, space, note) in self._codes}

    def add_codes(self, tenant: str, space: str, found: Mapping[str, TokenCodes | None]) -> None:
        """Remember token codes."""
        with self._lock:
            if len(self._codes) + len(found) > _KEPT_CODES:
                self._codes.clear()
            self._codes.update(((tenant, space, note), codes) for note, codes in found.items())
