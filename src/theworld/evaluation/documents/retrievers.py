"""Retrievers of other packages, each as its package has it by default, and how that package cuts files.

    python -m theworld.evaluation.documents.retrievers FOLDER NAME

asks one of them what `write_work` wrote into FOLDER, two plain files, and writes FOLDER/NAME.json: in a process of its
own, which holds nothing else of ours, so that its packages, time and memory are its own. The packages are heavy, so
each function imports its own.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from theworld.errors import StoreError, TheWorldError
from theworld.models.protocols import Embedder, FloatArray
from theworld.models.registry import load_models
from theworld.packages import install_command
from theworld.settings import Settings

DEPTH = 100
"""Notes that each list of a rival holds, as many as our channels give."""
WARM_UP = "Which of these was the first, and why? 其中哪一个最早？"
"""Asked before the clock counts; no question of a data set, whose embedding would then be known."""
_WORK, _VECTORS = "work.json", "vectors.npy"
_LAST_LINES = 4


@dataclass(frozen=True)
class Material:
    """What every rival is made from."""

    notes: Sequence[tuple[str, str]]
    """Id and text of each note or passage."""
    vectors: FloatArray
    """Their unit vectors, shape (notes, dimension), float32, of the embedder's space."""
    embedder: Embedder
    """The embedder of the questions, and of the vectors."""

    @cached_property
    def vector_of(self) -> Mapping[str, FloatArray]:
        """Return the vector by a note's text: rivals ask for the embedding of texts, which is known already."""
        return {text: vector for (_, text), vector in zip(self.notes, self.vectors, strict=True)}

    def embed_question(self, text: str) -> list[float]:
        """Return the question's vector as rivals want it."""
        vector: list[float] = self.embedder.embed_query(text).vector.astype(float).tolist()
        return vector

    def embed_notes(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the known vectors of notes' texts."""
        return [self.vector_of[text].astype(float).tolist() for text in texts]


def write_work(
    folder: Path, notes: Sequence[tuple[str, str]], vectors: Sequence[FloatArray], space: str, questions: Sequence[str]
) -> None:
    """Write notes, vectors of the space in the same order, and questions, for the processes that work on them."""
    work = {"notes": notes, "space": space, "questions": questions}
    (folder / _WORK).write_text(json.dumps(work, ensure_ascii=False), "utf-8")
    np.save(folder / _VECTORS, np.asarray(vectors, np.float32))


def read_work(folder: Path) -> tuple[Material, list[str]]:
    """Return what `write_work` wrote: the material, with the embedder of its space, and the questions."""
    work = json.loads((folder / _WORK).read_text("utf-8"))
    embedder = load_models(Settings.load()).by_space(work["space"])
    if embedder is None:
        raise StoreError(f"no configured embedder makes the space {work['space']}.", where=str(folder))
    notes = [(note_id, text) for note_id, text in work["notes"]]
    return Material(notes, np.load(folder / _VECTORS), embedder), work["questions"]


def run_worker(command: Sequence[str], folder: Path, name: str, label: str) -> dict[str, Any]:
    """Run `command FOLDER NAME` and return what it writes; TheWorldError when it fails.

    It reads the settings as `Settings.load` does, from file and environment.
    """
    environment = os.environ | {"HAYSTACK_TELEMETRY_ENABLED": "False", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(  # noqa: S603 - our own module and a folder we made
        [sys.executable, *command, str(folder), name],
        env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        message = "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        remedy = f"Its packages must be those of {install_command('benchmarks')}."
        raise TheWorldError(f"failed: {message}", where=label, remedy=remedy)
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return found


Split = Callable[[str], Sequence[str]]
"""Cuts a file's text into passages."""
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

    documents = [Document(page_content=text, metadata={"note": name}, id=name) for name, text in material.notes]
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

    nodes = [TextNode(id_=name, text=text) for name, text in material.notes]
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
    vectors = material.embed_notes([text for _, text in material.notes])
    pairs = zip(material.notes, vectors, strict=True)
    store.write_documents([Document(id=name, content=text, embedding=vector) for (name, text), vector in pairs])
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
    """LightRAG without a language model: a search of vectors (`mode="naive"`), for its graph is made by one.

    The chunks nearest to the question, of those that are near enough and fit into the context of an answer. All is as
    the package has it by default, but for the number of notes. Its store is filled directly: the rest of its pipeline
    hands each chunk to a language model.
    """
    from lightrag import LightRAG, QueryParam
    from lightrag.utils import EmbeddingFunc

    async def embed(texts: list[str]) -> Any:
        known = material.vector_of
        return np.array([known[t] if t in known else material.embed_question(t) for t in texts])

    async def answer_nothing(*_: Any, **__: Any) -> str:
        return ""

    folder, runner = tempfile.TemporaryDirectory(prefix="theworld-lightrag-"), asyncio.Runner()
    atexit.register(folder.cleanup)
    rag = LightRAG(
        folder.name,
        llm_model_func=answer_nothing,
        embedding_func=EmbeddingFunc(embedding_dim=material.vectors.shape[1], func=embed),
        tokenizer=_lightrag_tokenizer(),
    )
    chosen = QueryParam(mode="naive", chunk_top_k=DEPTH, enable_rerank=False)

    async def fill() -> None:
        await rag.initialize_storages()
        await rag.chunks_vdb.upsert({name: {"content": text, "file_path": name} for name, text in material.notes})
        await rag.chunks_vdb.index_done_callback()

    def retrieve(question: str) -> list[str]:
        found = runner.run(rag.aquery_data(question, chosen))
        return [chunk["file_path"] for chunk in found.get("data", {}).get("chunks", [])]

    runner.run(fill())
    return retrieve


def _lightrag_tokenizer() -> Any:
    """Return LightRAG's own; its table is read from where LlamaIndex has it, not downloaded."""
    from lightrag.utils import TiktokenTokenizer

    bundled = find_spec("llama_index.core")
    if bundled is not None and bundled.origin:
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(bundled.origin).parent / "_static" / "tiktoken_cache"))
    return TiktokenTokenizer()


def default_splitter(name: str) -> Split:
    """Return how a package cuts a text by default; it must be installed."""
    match name:
        case "langchain":
            from langchain_text_splitters import RecursiveCharacterTextSplitter

            split: Split = RecursiveCharacterTextSplitter().split_text
        case "llamaindex":
            from llama_index.core.node_parser import SentenceSplitter

            split = SentenceSplitter().split_text
        case "haystack":
            from haystack import Document
            from haystack.components.preprocessors import DocumentSplitter

            splitter = DocumentSplitter()
            split = lambda text: [one.content or "" for one in splitter.run([Document(content=text)])["documents"]]  # noqa: E731
        case _:  # LightRAG: windows of 1,200 tokens, 100 of which overlap
            from lightrag.chunker import chunking_by_token_size

            tokenizer = _lightrag_tokenizer()
            split = lambda text: [chunk["content"] for chunk in chunking_by_token_size(tokenizer, text)]  # noqa: E731
    return split


@dataclass(frozen=True, slots=True)
class Retriever:
    """What another package finds notes with."""

    label: str
    """What tables call it."""
    make: Callable[[Material], Retrieve]
    """Makes it, ready to be asked; its packages must be installed."""
    requires: tuple[str, ...]
    """Distributions that must be installed."""

    def require(self) -> None:
        """Raise TheWorldError when a package is not installed."""
        if missing := [name for name in self.requires if not any(importlib.metadata.distributions(name=name))]:
            remedy = install_command("benchmarks")
            raise TheWorldError(f"{', '.join(missing)} not installed.", where=self.label, remedy=remedy)


RETRIEVERS: Mapping[str, Retriever] = {
    "langchain": Retriever("LangChain defaults", langchain, ("langchain-classic", "langchain-community", "rank-bm25")),
    "llamaindex": Retriever("LlamaIndex defaults", llamaindex, ("llama-index-core", "llama-index-retrievers-bm25")),
    "haystack": Retriever("Haystack defaults", haystack, ("haystack-ai",)),
    "lightrag": Retriever("LightRAG, no model", lightrag, ("lightrag-hku",)),
}


def main(folder: Path, name: str) -> None:
    """Make the rival, ask it all questions, and write the ids it finds, best first, and the milliseconds it takes."""
    material, questions = read_work(folder)
    retrieve = RETRIEVERS[name].make(material)
    retrieve(WARM_UP)
    rankings, elapsed_ms = [], []
    for question in questions:
        begun = time.perf_counter()
        rankings.append(retrieve(question))
        elapsed_ms.append((time.perf_counter() - begun) * 1000)
    (folder / f"{name}.json").write_text(json.dumps({"rankings": rankings, "elapsed_ms": elapsed_ms}), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
