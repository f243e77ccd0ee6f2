"""Haystack: BM25 and embedding retrieval from the in-memory store, joined by reciprocal rank fusion."""

from __future__ import annotations

import os

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # read when the package is imported

from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from theworld.evaluation.peers.registry import DEPTH, Material


@component
class QuestionEmbedder:
    """Our embedder as a text embedder of Haystack."""

    def __init__(self, material: Material) -> None:
        self._material = material

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """Embed the question."""
        return {"embedding": self._material.embed_question(text)}


class HaystackHybrid:
    """The hybrid pipeline of Haystack's tutorial, without its cross-encoder; BM25 (BM25L) with its own tokens."""

    def __init__(self, material: Material) -> None:
        store = InMemoryDocumentStore(shared=False)
        vectors = material.embed_notes([note.text for note in material.notes])
        pairs = zip(material.notes, vectors, strict=True)
        store.write_documents([Document(id=note.id, content=note.text, embedding=vector) for note, vector in pairs])
        pipeline = Pipeline()
        pipeline.add_component("embedder", QuestionEmbedder(material))
        pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=DEPTH))
        pipeline.add_component("sparse", InMemoryBM25Retriever(store, top_k=DEPTH))
        pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=DEPTH))
        pipeline.connect("embedder.embedding", "dense.query_embedding")
        pipeline.connect("dense", "joiner")
        pipeline.connect("sparse", "joiner")
        self._pipeline = pipeline

    def retrieve(self, question: str) -> list[str]:
        """Return note ids, best first."""
        done = self._pipeline.run({"embedder": {"text": question}, "sparse": {"query": question}})
        return [document.id for document in done["joiner"]["documents"]]
