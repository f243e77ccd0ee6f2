"""What a peer is: something made over the notes of a store that ranks them for a question.

The peers by name. Their modules import heavy packages, so each is imported only in the process that runs it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Protocol

from theworld.errors import TheWorldError
from theworld.extras import install_command
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


@dataclass(frozen=True, slots=True)
class PeerEntry:
    """A peer that can be made from the material."""

    label: str
    """What the table calls it."""
    module: str
    """Module of this package that holds it."""
    type_name: str
    """Its class, called with the material."""
    requires: Mapping[str, str]
    """Import name -> distribution of what must be installed."""

    def missing(self) -> list[str]:
        """Return the distributions that are not installed."""
        return [distribution for name, distribution in self.requires.items() if not _importable(name)]

    def versions(self) -> dict[str, str]:
        """Return the installed versions, by distribution."""
        return {name: importlib.metadata.version(name) for name in self.requires.values()}

    def require(self) -> None:
        """Raise TheWorldError when a package is not installed."""
        if missing := self.missing():
            raise TheWorldError(
                f"{', '.join(missing)} not installed.", where=self.label, remedy=install_command("benchmarks")
            )

    def make(self, material: Material) -> Peer:
        """Return the peer, ready to be asked; TheWorldError when a package is not installed."""
        self.require()
        peer: Peer = getattr(importlib.import_module(f"theworld.evaluation.peers.{self.module}"), self.type_name)(
            material
        )
        return peer


PEERS: Mapping[str, PeerEntry] = {
    "langchain": PeerEntry(
        "LangChain Ensemble",
        "langchain_ensemble",
        "LangChainEnsemble",
        {
            "langchain_classic": "langchain-classic",
            "langchain_community": "langchain-community",
            "rank_bm25": "rank-bm25",
        },
    ),
    "llamaindex": PeerEntry(
        "LlamaIndex QueryFusion",
        "llamaindex_fusion",
        "LlamaIndexFusion",
        {"llama_index.core": "llama-index-core", "llama_index.retrievers.bm25": "llama-index-retrievers-bm25"},
    ),
    "haystack": PeerEntry("Haystack hybrid", "haystack_hybrid", "HaystackHybrid", {"haystack": "haystack-ai"}),
    "lightrag": PeerEntry("LightRAG naive", "lightrag_naive", "LightRAGNaive", {"lightrag": "lightrag-hku"}),
    "pagerank": PeerEntry("HippoRAG-style PageRank", "pagerank", "EntityPageRank", {"scipy": "scipy"}),
}


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # a parent package is missing
        return False
