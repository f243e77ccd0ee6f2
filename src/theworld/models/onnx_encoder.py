"""A transformer encoder in ONNX with its tokenizer: text to a pooled vector and token vectors.

Any local encoder: a folder with `model.onnx` and `tokenizer.json`, as sentence-transformers exports it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theworld.errors import ModelError
from theworld.extras import import_package
from theworld.models.lazy import Lazy, weights_id
from theworld.models.protocols import Embedded, FloatArray, TokenVectors
from theworld.native_memory import release_memory

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """What an encoder is made of."""

    model: Path
    """The ONNX file."""
    tokenizer: Path
    """The Hugging Face `tokenizer.json`."""
    pooling: Pooling = "mean"
    """How token vectors become one: their mean over the attention mask, or the first token's."""
    max_tokens: int = 256
    """Longer texts are cut here, special tokens included."""


class OnnxEncoder:
    """Runs one text at a time, several at once in threads.

    One text per run is both exact (padding and neighbours cannot change a vector) and, measured, faster than
    batches: 37 passages/s against 19-33 in batches of 32-4, since nothing is padded. Threads work on different
    texts rather than on one matrix product, so that vectors do not depend on their number either.
    """

    def __init__(self, files: EncoderFiles, threads: int = 0) -> None:
        self._files = files
        self._threads = threads
        self._tokenizer = load_tokenizer(files)
        self._session = load_session(files.model)
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._output = _hidden_state(self._session, files.model)
        release_memory()

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        size = self._output.shape[-1]
        return size if isinstance(size, int) else int(self.encode("a").vector.shape[0])

    def encode(self, text: str) -> Embedded:
        """Return the vector of one text, and the token vectors of its words.

        Punctuation has none, as in ColBERT (SIGIR 2020): a seventh of the tokens, and measured, no recall.
        """
        text = encodable(text)
        encoding = self._tokenizer.encode(text)
        ids = np.asarray([encoding.ids], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(
            [self._output.name], {name: value for name, value in feeds.items() if name in self._inputs}
        )[0][0]
        content = np.array([any(map(str.isalnum, text[start:end])) for start, end in encoding.offsets], dtype=bool)
        content &= np.asarray(encoding.special_tokens_mask) == 0
        pooled = hidden.mean(axis=0) if self._files.pooling == "mean" else hidden[0]
        return Embedded(unit(pooled), token_vectors(ids[0][content], hidden[content]))

    def encode_all(self, texts: Sequence[str]) -> list[Embedded]:
        """Return the vectors of several texts, in their order."""
        return in_threads(self.encode, texts, self._threads)


def in_threads(encode: Callable[[str], Embedded], texts: Sequence[str], threads: int) -> list[Embedded]:
    """Return the vectors of several texts, in their order, `threads` at once (0: as many as there are processors)."""
    workers = min(threads or os.cpu_count() or 1, len(texts))
    if workers < 2:
        return [encode(text) for text in texts]
    with ThreadPoolExecutor(workers, thread_name_prefix="encoder") as pool:
        found = list(pool.map(encode, texts))
    release_memory()
    return found


def encodable(text: str) -> str:
    """Return the text with lone surrogates (which UTF-8 cannot carry) replaced by `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit(vector: FloatArray) -> FloatArray:
    """Return the vector at length 1 as float32; a zero vector stays zero. Shape (n,)."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else vector, dtype=np.float32)


def token_vectors(ids: Any, hidden: FloatArray) -> TokenVectors:
    """Return unit rows times 127 as int8, with their ids; `hidden` has shape (n, dimension)."""
    lengths = np.maximum(np.linalg.norm(hidden, axis=1, keepdims=True), 1e-12)
    scaled = np.rint(hidden / lengths * 127.0).astype(np.int8)
    return TokenVectors(np.asarray(ids, dtype=np.int32), scaled)


def load_tokenizer(files: EncoderFiles) -> Any:
    """Return the tokenizer of a model, cutting at its longest input, without padding; ModelError when unreadable."""
    tokenizers = import_package("tokenizers", "tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the Rust binding raises bare Exception
        raise ModelError(f"not a readable tokenizer ({error})", where=str(files.tokenizer)) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(files.max_tokens)
    return tokenizer


def session_options(runtime: ModuleType) -> Any:
    """Return options of onnxruntime: one thread, and no arena, which never gives memory back."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    return options


def load_session(model: Path) -> Any:
    """Return an onnxruntime session for a file."""
    runtime = import_package("onnxruntime", "onnxruntime")
    try:
        return runtime.InferenceSession(str(model), session_options(runtime), providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own classes, all derived from Exception
        raise ModelError(f"not a usable ONNX model ({error})", where=str(model)) from error


def _hidden_state(session: Any, model: Path) -> Any:
    for output in session.get_outputs():
        if len(output.shape) == 3:
            return output
    found = ", ".join(f"{output.name}{output.shape}" for output in session.get_outputs())
    raise ModelError(
        f"no output of shape (batch, tokens, dimension) among {found}",
        where=str(model),
        remedy="Export the encoder with its last_hidden_state.",
    )


FOLDER_SETTINGS = "theworld.json"
_POOLING = Path("1_Pooling", "config.json")
_MODELS = ("model.onnx", "onnx/model.onnx")


class FolderSettings(BaseModel):
    """What `theworld.json` in the folder may say; everything is optional."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query_prefix: str = Field(default="", description="Put before every question, such as `query: `")
    passage_prefix: str = Field(default="", description="Put before every passage, such as `passage: `")
    pooling: Pooling | None = Field(default=None, description="mean | cls; default: 1_Pooling/config.json, else mean")
    max_tokens: int | None = Field(
        default=None,
        ge=8,
        le=32_768,
        description="Longest text in tokens; default: sentence_bert_config.json, else 512",
    )


class OnnxFolderEmbedder:
    """A transformer encoder from a local folder, with token vectors."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self._folder = folder.expanduser()
        self._settings = read_folder_settings(self._folder)
        self._files = encoder_files(self._folder, self._settings)
        self._name = Lazy(self._make_name)
        self._encoder = Lazy(lambda: OnnxEncoder(self._files, threads))

    @property
    def name(self) -> str:
        """Name of the space: the folder's name and a digest of weights, tokenizer and settings."""
        return self._name.get()

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._encoder.get().dimension

    def embed_query(self, text: str) -> Embedded:
        """Embed one question."""
        return self._encoder.get().encode(self._settings.query_prefix + text)

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        return self._encoder.get().encode_all([self._settings.passage_prefix + text for text in texts])

    def _make_name(self) -> str:
        model = self._files.model
        # Large models keep their weights beside the graph: model.onnx_data, model.onnx.data, in one file or several.
        parts = [model, self._files.tokenizer, *sorted(model.parent.glob(f"{model.name}[._]data*"))]
        parts += [path for name in (FOLDER_SETTINGS, _POOLING) if (path := self._folder / name).is_file()]
        return f"onnx-{self._folder.resolve().name}-{weights_id(*parts)}"


def read_folder_settings(folder: Path) -> FolderSettings:
    """Read `theworld.json` where there is one; ModelError when it is not what it should be."""
    path = folder / FOLDER_SETTINGS
    try:
        return FolderSettings.model_validate_json(path.read_bytes()) if path.is_file() else FolderSettings()
    except ValidationError as error:
        raise ModelError(f"invalid settings ({error})", where=str(path)) from error


def encoder_files(folder: Path, settings: FolderSettings) -> EncoderFiles:
    """Return the files and options of a folder; ModelError names what is missing."""
    model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        missing = "model.onnx" if model is None else "tokenizer.json"
        raise ModelError(
            f"no {missing} in this folder", where=str(folder), remedy="Export the model to ONNX with its tokenizer."
        )
    limit = _read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    tokens = settings.max_tokens or (limit if isinstance(limit, int) and limit >= 8 else 512)
    return EncoderFiles(model, tokenizer, settings.pooling or _pooling(folder), tokens)


def _pooling(folder: Path) -> Pooling:
    config = _read_json(folder / _POOLING)
    modes = sorted(key for key, value in config.items() if key.startswith("pooling_mode") and value is True)
    if not modes or modes == ["pooling_mode_mean_tokens"]:
        return "mean"
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    raise ModelError(
        f"pooling {', '.join(modes)} is not supported",
        where=str(folder / _POOLING),
        remedy=f'Use a mean or cls pooled model, or set "pooling" in {FOLDER_SETTINGS}.',
    )


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"not valid JSON ({error})", where=str(path)) from error
    return value if isinstance(value, dict) else {}
