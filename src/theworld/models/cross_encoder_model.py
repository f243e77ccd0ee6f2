"""Cross-encoders that read a question and a text together: a local ONNX folder, or fastembed's hub models."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from theworld.errors import ModelError, SettingsError
from theworld.extras import import_package
from theworld.models.lazy import Lazy
from theworld.models.onnx_encoder import (
    EncoderFiles,
    encodable,
    encoder_files,
    load_session,
    load_tokenizer,
    read_folder_settings,
)
from theworld.models.protocols import FloatArray
from theworld.native_memory import release_memory

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
        self._folder = folder.expanduser()
        self._settings = read_folder_settings(self._folder)
        self._files = encoder_files(self._folder, self._settings)
        self._threads = threads or os.cpu_count() or 1
        self._loaded = Lazy(lambda: _Loaded(self._files))

    @property
    def name(self) -> str:
        """The folder's name."""
        return f"onnx-{self._folder.resolve().name}"

    def logits(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return one raw score a text, shape (len(texts),)."""
        loaded, asked = self._loaded.get(), self._settings.query_prefix + query
        passages = [self._settings.passage_prefix + text for text in texts]
        workers = min(self._threads, len(passages))
        if workers < 2:
            return np.array([loaded.logit(asked, text) for text in passages], dtype=np.float32)
        with ThreadPoolExecutor(workers, thread_name_prefix="cross-encoder") as pool:
            return np.array(list(pool.map(lambda text: loaded.logit(asked, text), passages)), dtype=np.float32)


class _Loaded:
    """The session and the tokenizer of one folder."""

    def __init__(self, files: EncoderFiles) -> None:
        self._files = files
        self._tokenizer = load_tokenizer(files)
        self._session = load_session(files.model)
        self._inputs = {item.name for item in self._session.get_inputs()}
        release_memory()

    def logit(self, query: str, text: str) -> float:
        """Return the raw score of one pair; ModelError when the model gives no such thing."""
        limit = self._files.max_tokens * _CHARACTERS_PER_TOKEN
        encoding = self._tokenizer.encode(encodable(query[:limit]), encodable(text[:limit]))
        rows = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feeds = {name: np.asarray([row], dtype=np.int64) for name, row in rows.items() if name in self._inputs}
        found = np.asarray(self._session.run(None, feeds)[0], dtype=np.float32).reshape(-1)
        if found.size == 1:
            return float(found[0])
        if found.size == 2:
            return float(found[1] - found[0])
        raise ModelError(
            f"the model gives {found.size} numbers for one pair, not a relevance",
            where=str(self._files.model),
            remedy="Export a sequence classifier with one label, or with two (irrelevant, relevant).",
        )


class FastembedCrossEncoder:
    """A fastembed TextCrossEncoder: a name of its list, or `NAME=DIR` for that model's files without a download."""

    def __init__(self, model: str, threads: int = 0) -> None:
        name, _, folder = model.partition("=")
        self._model, self._folder = name, str(Path(folder).expanduser()) if folder else None
        self._threads = threads or None
        self._lock = threading.Lock()
        self._engine = Lazy(self._load)

    @property
    def name(self) -> str:
        """Fastembed's name of the model."""
        return f"fastembed-{self._model}"

    def logits(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return one raw score a text, shape (len(texts),); one pair per run, so that padding changes nothing."""
        engine, asked = self._engine.get(), encodable(query[:_FASTEMBED_CHARACTERS])
        with self._lock:
            found = [next(iter(engine.rerank(asked, [encodable(text[:_FASTEMBED_CHARACTERS])]))) for text in texts]
        return np.array(found, dtype=np.float32)

    def _load(self) -> Any:
        import_package("fastembed", extra="fastembed")
        package = import_package("fastembed.rerank.cross_encoder", extra="fastembed")
        try:
            return package.TextCrossEncoder(self._model, threads=self._threads, specific_model_path=self._folder)
        except Exception as error:  # hub, network and onnxruntime errors of many kinds
            raise ModelError(
                f"fastembed cannot load the cross-encoder `{self._model}` ({type(error).__name__}: {error})",
                where="rerank.model",
                remedy="Connect to the hub once, give a local folder (fastembed:NAME=DIR or onnx:DIR), "
                "or choose rerank.kind evidence-set, which needs no download.",
            ) from error


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
