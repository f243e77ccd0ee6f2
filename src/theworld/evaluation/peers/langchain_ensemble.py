"""LangChain: EnsembleRetriever (weighted RRF, equal weights) over BM25Retriever and the in-memory vector store."""

from __future__ import annotations

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from theworld.evaluation.peers.registry import DEPTH, Material


class _Embeddings(Embeddings):
    """Our embedder through LangChain's interface."""

    def __init__(self, material: Material) -> None:
        self._material = material

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._material.embed_notes(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._material.embed_question(text)


class LangChainEnsemble:
    """BM25 splits at white space, as BM25Retriever does unless told otherwise."""

    def __init__(self, material: Material) -> None:
        documents = [
            Document(page_content=note.text, metadata={"note": note.id}, id=note.id) for note in material.notes
        ]
        vectors = InMemoryVectorStore(_Embeddings(material))
        vectors.add_documents(documents)
        retrievers = [
            BM25Retriever.from_documents(documents, k=DEPTH),
            vectors.as_retriever(search_kwargs={"k": DEPTH}),
        ]
        self._ensemble = EnsembleRetriever(retrievers=retrievers, id_key="note")

    def retrieve(self, question: str) -> list[str]:
        """Return note ids, best first."""
        return [document.metadata["note"] for document in self._ensemble.invoke(question)]
