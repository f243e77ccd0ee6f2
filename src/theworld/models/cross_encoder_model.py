"""Cross-encoders that read a question and a text together: a local ONNX folder, or fastembed's hub models."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import numpy as np

from theworld.errors import ModelError, SettingsError
from theworld.models.embedders import load_fastembed
from theworld.models.onnx_encoder import OnnxModel, encodable, read_folder
from theworld.models.protocols import FloatArray
from theworld.single_flight import Lazy

CROSS_ENCODER_CHOICES = "onnx:DIR | fastembed:NAME | fastembed:NAME=DIR"
_CHARACTERS_PER_TOKEN = 32
"""No text has longer tokens on average, so what lies beyond the model's input need not be tokenised."""
_FASTEMBED_CHARACTERS = 512 * _CHARACTERS_PER_TOKEN


class CrossEncoder(Protocol):
    """Scores pairs of a question and a text. Thread-safe; a pair's score depends on nothing but the pair."""

    @property
    def name(self) -> str:
        """Name of the model, logged with every score."""

    def logits(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return one raw score a text, shape (len(texts),); higher is more relevant, 0 is undecided."""


class OnnxCrossEncoder:
    """`model.onnx` and `tokenizer.json` of a sequence classifier with one label, or two (irrelevant, relevant).

    One pair per run, several pairs at once in threads: padding and neighbours cannot change a score.
    """

    def __init__(self, folder: Path, threads: int = 0) -> None:
        folder = folder.expanduser()
        self.name = f"onnx-{folder.resolve().name}"
        """The folder's name."""
        self._settings, self._files = read_folder(folder)
        self._threads = threads or os.cpu_count() or 1
        self._model = Lazy(lambda: OnnxModel(self._files))

    def logits(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return one raw score a text, shape (len(texts),)."""
        model, limit = self._model.get(), self._files.max_tokens * _CHARACTERS_PER_TOKEN
        asked = (self._settings.query_prefix + query)[:limit]

        def logit(text: str) -> float:
            found = model.run(None, asked, (self._settings.passage_prefix + text)[:limit])[1].reshape(-1)
            if found.size not in {1, 2}:
                raise ModelError(
                    f"the model gives {found.size} numbers for one pair, not a relevance",
                    where=str(self._files.model),
                    remedy="Export a sequence classifier with one label, or with two (irrelevant, relevant).",
                )
            return float(found[0] if found.size == 1 else found[1] - found[0])

        workers = min(self._threads, len(texts))
        if workers < 2:
            return np.array([logit(text) for text in texts], dtype=np.float32)
        with ThreadPoolExecutor(workers, thread_name_prefix="cross-encoder") as pool:
            return np.array(list(pool.map(logit, texts)), dtype=np.float32)


class FastembedCrossEncoder:
    """A fastembed TextCrossEncoder: a name of its list, or `NAME=DIR` for that model's files without a download."""

    def __init__(self, model: str, threads: int = 0) -> None:
        self.name = f"fastembed-{model.partition('=')[0]}"
        """Fastembed's name of the model."""
        self._lock = threading.Lock()
        instead = "or choose rerank.kind evidence-set, which needs no download."
        about = {"instead": instead, "what": "the cross-encoder ", "where": "rerank.model"}
        engine = "fastembed.rerank.cross_encoder", "TextCrossEncoder"
        self._engine = Lazy(lambda: load_fastembed(*engine, model, threads, **about))

    def logits(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return one raw score a text, shape (len(texts),); one pair per run, so that padding changes nothing."""
        engine, asked = self._engine.get(), encodable(query[:_FASTEMBED_CHARACTERS])
        with self._lock:
            found = [next(iter(engine.rerank(asked, [encodable(text[:_FASTEMBED_CHARACTERS])]))) for text in texts]
        return np.array(found, dtype=np.float32)


def load_cross_encoder(spec: str, threads: int = 0) -> CrossEncoder:
    """Return the cross-encoder a spec names; weights load on first use. SettingsError for an unknown spec.

    ModelError when a folder lacks its files.
    """
    kind, _, argument = spec.strip().partition(":")
    match kind, argument.strip():
        case "onnx", folder if folder:
            return OnnxCrossEncoder(Path(folder), threads)
        case "fastembed", model if model:
            return FastembedCrossEncoder(model, threads)
    raise SettingsError(
        f"unknown cross-encoder {spec!r}.", where="rerank.model", remedy=f"Choose one of {CROSS_ENCODER_CHOICES}."
    )
