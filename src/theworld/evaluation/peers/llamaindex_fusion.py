"""LlamaIndex: QueryFusionRetriever (reciprocal rerank, no generated queries) over BM25 and the simple vector store."""

from __future__ import annotations

from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from pydantic import PrivateAttr

from theworld.evaluation.peers.registry import DEPTH, Material


class _Embedding(BaseEmbedding):
    """Our embedder through LlamaIndex's interface."""

    _material: Material = PrivateAttr()

    def __init__(self, material: Material, **settings: Any) -> None:
        super().__init__(model_name=material.embedder.name, **settings)
        self._material = material

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._material.embed_question(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._material.embed_notes([text])[0]


class LlamaIndexFusion:
    """BM25 with LlamaIndex's English stemmer and stop words; one query, so that no language model is needed."""

    def __init__(self, material: Material) -> None:
        nodes = [TextNode(id_=note.id, text=note.text) for note in material.notes]
        index = VectorStoreIndex(nodes, embed_model=_Embedding(material))
        depth = min(DEPTH, len(nodes))
        self._fusion = QueryFusionRetriever(
            [index.as_retriever(similarity_top_k=depth), BM25Retriever(nodes=nodes, similarity_top_k=depth)],
            llm=MockLLM(),
            mode=FUSION_MODES.RECIPROCAL_RANK,
            similarity_top_k=DEPTH,
            num_queries=1,
            use_async=False,
        )

    def retrieve(self, question: str) -> list[str]:
        """Return note ids, best first."""
        return [found.node.node_id for found in self._fusion.retrieve(question)]
