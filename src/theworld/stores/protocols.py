"""What a projection must offer. Embedded and server twins pass one conformance suite (theworld.testing.conformance).

Every query carries a tenant; filters apply before ranking; ties are ordered by note id.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from theworld.errors import ModelMismatchError
from theworld.models.protocols import FloatArray
from theworld.state import EvidencePath
from theworld.stores.records import Filters, NoteRecord
from theworld.stores.token_codes import TokenCodes


@dataclass(frozen=True, slots=True)
class Hit:
    """A note and the score a projection gave it (higher is better)."""

    note_id: str
    score: float


def best_hits(search: Callable[[int], list[Hit]], limit: int) -> list[Hit]:
    """Return the best hits of a search for so many; where the cut goes through a tie, more are asked for until it ends.

    Of those that tie with the last one, the first by note id stay.
    """
    size = limit + 16
    while True:
        hits = search(size)
        if len(hits) < size or hits[-1].score < hits[limit - 1].score:
            return sorted(hits, key=lambda hit: (-hit.score, hit.note_id))[:limit]
        size *= 4


@dataclass(frozen=True, slots=True)
class NoteChange:
    """One change of the ledger as a projection sees it: a note to be put, or, when `note` is None, removed."""

    sequence: int
    """Ledger sequence number, ascending."""
    tenant: str
    note_id: str
    document_id: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    metadata: Mapping[str, object] | None = None
    note: NoteRecord | None = None


class Projection(Protocol):
    """Derived from the ledger, can be thrown away and replayed."""

    @property
    def applied(self) -> int:
        """Sequence number of the last change applied durably."""

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Apply changes idempotently and remember `upto`; a crash in between leaves `applied` as it was."""

    def refresh(self) -> None:
        """See how far another process, or another writer, has brought it."""

    def clear(self) -> None:
        """Forget everything."""

    def close(self) -> None:
        """Release files and clients."""


class SparseStore(Projection, Protocol):
    """BM25 over theworld.text.tokens of title, headings, lead and text."""

    def renew(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Put a new index of just these notes in place of the old one, which is searched until the new one is there."""

    def search(self, query: str, *, tenant: str, filters: Filters, limit: int) -> list[Hit]:
        """Return the best notes by BM25."""


@dataclass(frozen=True, slots=True)
class DenseResult:
    """Hits of one space with the distribution of all its scores, so that spaces can be compared by z-score."""

    hits: list[Hit]
    """Cosine similarities, best first."""
    mean: float
    """Mean cosine over all notes that passed the filters, or over a sample of them."""
    deviation: float
    """Standard deviation of the same."""


FEWEST_NOTES = 30
"""Notes below which it says nothing how far one stands out among them."""


def best_by_chance(count: int) -> float:
    """Return about how many standard deviations the highest of so many random values lies above their mean."""
    return math.sqrt(2 * math.log(max(count, 1)))


def check_dimension(space: str, dimension: int, vector: FloatArray) -> None:
    """Raise ModelMismatchError when a question's vector has another dimension than the space."""
    if vector.shape != (dimension,):
        raise ModelMismatchError(
            f"the space {space!r} has {dimension} dimensions, the question's vector {vector.shape}.",
            remedy="Use the embedder that made the store, or ingest again with --reembed.",
        )


class DenseStore(Projection, Protocol):
    """Exact or approximate nearest neighbours by cosine, one space per embedding model.

    A vector of another dimension than its space's raises ModelMismatchError.
    """

    def spaces(self, tenant: str) -> dict[str, int]:
        """Return the number of notes by space name."""

    def search(self, space: str, vector: FloatArray, *, tenant: str, filters: Filters, limit: int) -> DenseResult:
        """Return the nearest notes of one space."""

    def cosines(self, space: str, vector: FloatArray, note_ids: Sequence[str], tenant: str) -> FloatArray:
        """Return the cosine of a vector with each note's, shape (len(note_ids),); 0 for a note not in the space."""

    def token_codes(self, space: str, note_ids: Sequence[str], tenant: str) -> list[TokenCodes | None]:
        """Return the stored token codes, None for a note without any."""

    def token_idf(self, space: str, ids: Sequence[int]) -> FloatArray:
        """Return ln(1 + (N - df + .5) / (df + .5)) for vocabulary ids, shape (len(ids),)."""


@dataclass(frozen=True, slots=True)
class Link:
    """Two notes, by their ids, joined by an entity that both name."""

    source: str
    target: str
    via: str
    """Label of the entity."""
    weight: float
    """In (0, 1]: 1 for a title link, 1 / (1 + ln(df / 2)) for an entity that df notes share."""
    titled: bool
    """True when the entity is the title or an alias of one of the two notes' documents."""


class GraphStore(Projection, Protocol):
    """Notes and the entities they name."""

    def entities(self, keys: Sequence[str], *, tenant: str) -> dict[str, int]:
        """Return the number of notes naming each known entity key (unknown keys are left out)."""

    def rank(
        self, *, notes: Mapping[str, float], entities: Mapping[str, float], tenant: str, filters: Filters, limit: int
    ) -> list[Hit]:
        """Return notes by personalised PageRank from weighted seed notes and entity keys."""

    def links(self, note_ids: Sequence[str], *, tenant: str) -> list[Link]:
        """Return the links among the given notes, title links first, each pair once per entity."""

    def paths(
        self, targets: Sequence[str], *, notes: Sequence[str], entities: Sequence[str], tenant: str, max_hops: int = 2
    ) -> list[EvidencePath]:
        """Return the best path from any seed note or entity key to each target note, shortest first."""
