"""Other retrievers over the notes of a store, one function a peer that makes it from the material.

Their packages are heavy, so each function imports its own, in the process that runs it.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from theworld.errors import TheWorldError
from theworld.evaluation.peers.material import DEPTH, Material
from theworld.extras import install_command

Retrieve = Callable[[str], list[str]]
"""Question -> note ids, best first; the question's embedding is part of the work."""


def langchain(material: Material) -> Retrieve:
    """EnsembleRetriever (weighted RRF, equal weights) over BM25Retriever and the in-memory vector store.

    BM25 splits at white space, as BM25Retriever does unless told otherwise.
    """
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class OurEmbeddings(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return material.embed_notes(texts)

        def embed_query(self, text: str) -> list[float]:
            return material.embed_question(text)

    documents = [Document(page_content=note.text, metadata={"note": note.id}, id=note.id) for note in material.notes]
    vectors = InMemoryVectorStore(OurEmbeddings())
    vectors.add_documents(documents)
    sparse = BM25Retriever.from_documents(documents, k=DEPTH)
    dense = vectors.as_retriever(search_kwargs={"k": DEPTH})
    ensemble = EnsembleRetriever(retrievers=[sparse, dense], id_key="note")
    return lambda question: [document.metadata["note"] for document in ensemble.invoke(question)]


def llamaindex(material: Material) -> Retrieve:
    """QueryFusionRetriever (reciprocal rerank) over BM25 and the simple vector store.

    BM25 with LlamaIndex's English stemmer and stop words; one query, so that no language model is needed.
    """
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    class OurEmbedding(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return material.embed_question(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return material.embed_question(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return material.embed_notes([text])[0]

    nodes = [TextNode(id_=note.id, text=note.text) for note in material.notes]
    index = VectorStoreIndex(nodes, embed_model=OurEmbedding(model_name=material.embedder.name))
    depth = min(DEPTH, len(nodes))
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=depth), BM25Retriever(nodes=nodes, similarity_top_k=depth)],
        llm=MockLLM(),
        mode=FUSION_MODES.RECIPROCAL_RANK,
        similarity_top_k=DEPTH,
        num_queries=1,
        use_async=False,
    )
    return lambda question: [found.node.node_id for found in fusion.retrieve(question)]


def haystack(material: Material) -> Retrieve:
    """BM25 (BM25L, its own tokens) and embedding retrieval from the in-memory store, joined by reciprocal rank fusion.

    The hybrid pipeline of Haystack's tutorial, without its cross-encoder.
    """
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # read when the package is imported
    from haystack import Document, Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(shared=False)
    vectors = material.embed_notes([note.text for note in material.notes])
    pairs = zip(material.notes, vectors, strict=True)
    store.write_documents([Document(id=note.id, content=note.text, embedding=vector) for note, vector in pairs])
    pipeline = Pipeline()
    pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=DEPTH))
    pipeline.add_component("sparse", InMemoryBM25Retriever(store, top_k=DEPTH))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=DEPTH))
    pipeline.connect("dense", "joiner")
    pipeline.connect("sparse", "joiner")

    def retrieve(question: str) -> list[str]:
        asked: dict[str, Any] = {"query_embedding": material.embed_question(question)}
        done = pipeline.run({"dense": asked, "sparse": {"query": question}})
        return [document.id for document in done["joiner"]["documents"]]

    return retrieve


def lightrag(material: Material) -> Retrieve:
    """LightRAG without a language model (see `lightrag_naive`)."""
    from theworld.evaluation.peers.lightrag_naive import LightRAGNaive

    return LightRAGNaive(material).retrieve


def pagerank(material: Material) -> Retrieve:
    """Personalised PageRank over notes and entities (see `pagerank`)."""
    from theworld.evaluation.peers.pagerank import EntityPageRank

    return EntityPageRank(material).retrieve


@dataclass(frozen=True, slots=True)
class PeerEntry:
    """A peer that can be made from the material."""

    label: str
    """What the table calls it."""
    make: Callable[[Material], Retrieve]
    """Makes it, ready to be asked; its packages must be installed."""
    requires: tuple[str, ...]
    """Distributions that must be installed."""

    def require(self) -> None:
        """Raise TheWorldError when a package is not installed."""
        if missing := [name for name in self.requires if not any(importlib.metadata.distributions(name=name))]:
            raise TheWorldError(
                f"{', '.join(missing)} not installed.", where=self.label, remedy=install_command("benchmarks")
            )


PEERS: Mapping[str, PeerEntry] = {
    "langchain": PeerEntry("LangChain Ensemble", langchain, ("langchain-classic", "langchain-community", "rank-bm25")),
    "llamaindex": PeerEntry("LlamaIndex QueryFusion", llamaindex, ("llama-index-core", "llama-index-retrievers-bm25")),
    "haystack": PeerEntry("Haystack hybrid", haystack, ("haystack-ai",)),
    "lightrag": PeerEntry("LightRAG naive", lightrag, ("lightrag-hku",)),
    "pagerank": PeerEntry("HippoRAG-style PageRank", pagerank, ("scipy",)),
}
