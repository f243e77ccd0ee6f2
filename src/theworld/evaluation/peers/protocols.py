"""What a peer is: something made over the notes of a store that ranks them for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from theworld.models.protocols import Embedder, FloatArray

DEPTH = 100
"""Notes that each list of a peer holds, as many as our channels give."""


@dataclass(frozen=True, slots=True)
class PeerNote:
    """A note as every peer gets it."""

    id: str
    """`{document id}#{ordinal}`."""
    text: str
    """Title of its document, a line break, and its text."""
    entities: tuple[str, ...]
    """Keys of the entities it names: its document's title and aliases and its typed mentions, without numbers."""


@dataclass(frozen=True)
class Material:
    """What all peers are made from."""

    notes: Sequence[PeerNote]
    """All notes of the tenant, by id."""
    vectors: FloatArray
    """Their unit vectors, shape (notes, dimension), float32, of the embedder's space."""
    embedder: Embedder
    """The embedder of the questions, and of the vectors."""

    @cached_property
    def vector_of(self) -> Mapping[str, FloatArray]:
        """Return the vector by a note's text: peers ask for the embedding of texts, which is known already."""
        return {note.text: vector for note, vector in zip(self.notes, self.vectors, strict=True)}

    def embed_question(self, text: str) -> list[float]:
        """Return the question's vector as peers want it."""
        vector: list[float] = self.embedder.embed_query(text).vector.astype(float).tolist()
        return vector

    def embed_notes(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the known vectors of notes' texts."""
        return [self.vector_of[text].astype(float).tolist() for text in texts]


class Peer(Protocol):
    """A retriever ready to be asked."""

    def retrieve(self, question: str) -> list[str]:
        """Return note ids, best first; the question's embedding is part of the work."""
