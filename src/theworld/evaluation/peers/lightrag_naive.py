"""LightRAG without a language model: a search of vectors (`mode="naive"`), for its graph is made by one.

All is as the package has it by default, but for the number of notes. Its store is filled directly: the rest of its
pipeline hands each chunk to a language model.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from lightrag import LightRAG, QueryParam
from lightrag.chunker import chunking_by_token_size
from lightrag.utils import EmbeddingFunc, TiktokenTokenizer

from theworld.evaluation.peers.material import DEPTH, Material


def split(text: str) -> list[str]:
    """Cut a text as LightRAG does: windows of 1,200 tokens, 100 of which overlap."""
    return [chunk["content"] for chunk in chunking_by_token_size(_tokenizer(), text)]


def _tokenizer() -> TiktokenTokenizer:
    """Return LightRAG's own; its table is read from where LlamaIndex has it, not downloaded."""
    bundled = find_spec("llama_index.core")
    if bundled is not None and bundled.origin:
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(bundled.origin).parent / "_static" / "tiktoken_cache"))
    return TiktokenTokenizer()


class LightRAGNaive:
    """The chunks nearest to the question, of those that are near enough and fit into the context of an answer."""

    def __init__(self, material: Material) -> None:
        async def embed(texts: list[str]) -> Any:
            known = material.vector_of
            return np.array([known[t] if t in known else material.embed_question(t) for t in texts])

        async def answer_nothing(*_: Any, **__: Any) -> str:
            return ""

        self._folder = tempfile.TemporaryDirectory(prefix="theworld-lightrag-")
        dimension = material.vectors.shape[1]
        embedding = EmbeddingFunc(embedding_dim=dimension, func=embed)
        self._rag = LightRAG(
            self._folder.name, llm_model_func=answer_nothing, embedding_func=embedding, tokenizer=_tokenizer()
        )
        self._param = QueryParam(mode="naive", chunk_top_k=DEPTH, enable_rerank=False)
        self._runner = asyncio.Runner()
        self._runner.run(self._fill({note.id: {"content": note.text, "file_path": note.id} for note in material.notes}))

    async def _fill(self, chunks: dict[str, dict[str, str]]) -> None:
        await self._rag.initialize_storages()
        await self._rag.chunks_vdb.upsert(chunks)
        await self._rag.chunks_vdb.index_done_callback()

    def retrieve(self, question: str) -> list[str]:
        """Return note ids, best first."""
        found = self._runner.run(self._rag.aquery_data(question, self._param))
        return [chunk["file_path"] for chunk in found.get("data", {}).get("chunks", [])]
