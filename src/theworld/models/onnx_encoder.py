"""A transformer encoder in ONNX with its tokenizer: text to a pooled vector and token vectors.

Any local encoder: a folder with `model.onnx` and `tokenizer.json`, as sentence-transformers exports it.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theworld.errors import ModelError
from theworld.models.protocols import Embedded, FloatArray, TokenVectors, unit
from theworld.native_memory import release_memory
from theworld.packages import import_package, weights_id
from theworld.single_flight import Lazy
from theworld.text.tokens import function_words

Pooling = Literal["mean", "cls"]
Kind = Literal["query", "passage"]


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


class OnnxModel:
    """The tokenizer and the session of a model in ONNX."""

    def __init__(self, files: EncoderFiles) -> None:
        self.files = files
        """What it is made of."""
        tokenizers = import_package("tokenizers", "tokenizers")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        except Exception as error:  # the Rust binding raises bare Exception
            raise ModelError(f"not a readable tokenizer ({error})", where=str(files.tokenizer)) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(files.max_tokens)
        self.session = load_session(files.model)
        """Of onnxruntime."""
        self._inputs = {item.name for item in self.session.get_inputs()}
        release_memory()

    def run(self, output: str | None, *texts: str) -> tuple[Any, NDArray[Any]]:
        """Return a text, or a pair, as tokens, and an output of the model for it (its first by default)."""
        encoding = self._tokenizer.encode(*map(encodable, texts))
        rows = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feeds = {name: np.asarray([row], dtype=np.int64) for name, row in rows.items() if name in self._inputs}
        return encoding, self.session.run(None if output is None else [output], feeds)[0][0]


class OnnxEncoder(OnnxModel):
    """Runs one text at a time, several at once in threads.

    One text per run is both exact (padding and neighbours cannot change a vector) and, measured, faster than
    batches: 37 passages/s against 19-33 in batches of 32-4, since nothing is padded. Threads work on different
    texts rather than on one matrix product, so that vectors do not depend on their number either.
    """

    def __init__(self, files: EncoderFiles) -> None:
        super().__init__(files)
        outputs = self.session.get_outputs()
        hidden = next((output for output in outputs if len(output.shape) == 3), None)
        if hidden is None:
            found = ", ".join(f"{output.name}{output.shape}" for output in outputs)
            raise ModelError(
                f"no output of shape (batch, tokens, dimension) among {found}",
                where=str(files.model),
                remedy="Export the encoder with its last_hidden_state.",
            )
        self._output = hidden.name

    def encode(self, prefix: str, text: str, kind: Kind = "passage") -> Embedded:
        """Return the vector of prefix and text, and the token vectors of their words.

        Punctuation has none, as in ColBERT (SIGIR 2020): a seventh of the tokens, and measured, no recall. Nor have
        function words of a query: in texts that say neither "how do I" nor "my" they count as rare.
        """
        text = encodable(prefix + text)
        encoding, hidden = self.run(self._output, text)
        content = _of_words(encoding, text)
        if kind == "query" and (said := content & ~_of_function_words(encoding, text)).any():
            content = said
        pooled = hidden.mean(axis=0) if self.files.pooling == "mean" else hidden[0]
        return Embedded(unit(pooled), token_vectors(np.asarray(encoding.ids)[content], hidden[content]))

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has."""
        return [int(_of_words(self._tokenizer.encode(text), text).sum()) for text in map(encodable, texts)]


def _of_words(encoding: Any, text: str) -> NDArray[np.bool_]:
    """Return which tokens of a text hold a letter or digit, shape (tokens,)."""
    content = np.array([any(map(str.isalnum, text[start:end])) for start, end in encoding.offsets], dtype=bool)
    return np.asarray(content & (np.asarray(encoding.special_tokens_mask) == 0))


def _of_function_words(encoding: Any, text: str) -> NDArray[np.bool_]:
    """Return which tokens of a text are a whole function word, shape (tokens,); IT in capitals is a name."""
    words = ((text[a:b], text[max(a - 1, 0) : a] + text[b : b + 1]) for a, b in encoding.offsets)
    known = function_words(auxiliary=True)
    return np.array(
        [w.lower() in known and (len(w) == 1 or not w.isupper()) and not any(map(str.isalnum, e)) for w, e in words]
    )


class Encoder(Protocol):
    """What a local embedder runs."""

    def encode(self, prefix: str, text: str, kind: Kind = "passage") -> Embedded:
        """Return the vector of prefix and text, with token vectors where it has them."""

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has."""


class BaseEmbedder(ABC):
    """What embedders share: a name and a dimension that are found out on first use."""

    def __init__(self, name: Callable[[], str], dimension: Callable[[], int] | None = None) -> None:
        self._name = Lazy(name)
        self._dimension = Lazy(dimension or (lambda: len(self.embed_query("dimension").vector)))

    @property
    def name(self) -> str:
        """Name of the space."""
        return self._name.get()

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension.get()

    def embed_query(self, text: str) -> Embedded:
        """Embed one question."""
        return self._embedded([text], "query")[0]

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        return self._embedded(texts, "passage")

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has: none, unless the model gives them."""
        return [0] * len(texts)

    @abstractmethod
    def _embedded(self, texts: Sequence[str], kind: Kind) -> list[Embedded]: ...


class LocalEmbedder(BaseEmbedder):
    """Embeds on this machine, with token vectors; the name and the weights are read on first use.

    The name is that of the model, with a digest of what makes its vectors.

    Several texts are embedded `threads` at once (0: as many as there are processors). `prefixes` are put before every
    question and before every passage.
    """

    def __init__(
        self,
        name: Callable[[], str],
        encoder: Callable[[], Encoder],
        *,
        threads: int = 0,
        prefixes: tuple[str, str] = ("", ""),
        dimension: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(name, dimension)
        self._encoder, self._threads, self._prefixes = Lazy(encoder), threads, prefixes

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has."""
        return self._encoder.get().token_counts(texts)

    def _embedded(self, texts: Sequence[str], kind: Kind) -> list[Embedded]:
        encode = partial(self._encoder.get().encode, self._prefixes[0 if kind == "query" else 1], kind=kind)
        workers = min(self._threads or os.cpu_count() or 1, len(texts))
        if workers < 2:
            return [encode(text) for text in texts]
        with ThreadPoolExecutor(workers, thread_name_prefix="encoder") as pool:
            found = list(pool.map(encode, texts))
        release_memory()
        return found


def encodable(text: str) -> str:
    """Return the text with lone surrogates (which UTF-8 cannot carry) replaced by `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def token_vectors(ids: Any, hidden: FloatArray) -> TokenVectors:
    """Return unit rows times 127 as int8, with their ids; `hidden` has shape (n, dimension)."""
    lengths = np.maximum(np.linalg.norm(hidden, axis=1, keepdims=True), 1e-12)
    scaled = np.rint(hidden / lengths * 127.0).astype(np.int8)
    return TokenVectors(np.asarray(ids, dtype=np.int32), scaled)


def new_session(model: str | bytes, weights: Mapping[str, Any]) -> Any:
    """Return an onnxruntime session for a file or a graph, with the weights it lacks by name.

    One thread, no arena, which never gives memory back, and no fused sums and norms: 7 % slower than apart.
    """
    runtime = import_package("onnxruntime", "onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    values = [runtime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)) for array in weights.values()]
    options.add_external_initializers(list(weights), values)
    return runtime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
    )


def load_session(model: Path) -> Any:
    """Return an onnxruntime session for a file."""
    try:
        return new_session(str(model), {})
    except Exception as error:  # onnxruntime raises its own classes, all derived from Exception
        raise ModelError(f"not a usable ONNX model ({error})", where=str(model)) from error


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


class OnnxFolderEmbedder(LocalEmbedder):
    """An encoder from a local folder, named by the folder and a digest of weights, tokenizer and settings."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        folder = folder.expanduser()
        settings, files = read_folder(folder)

        def name() -> str:
            # Large models keep their weights beside the graph: model.onnx_data, model.onnx.data, in one file or more.
            parts = [files.model, files.tokenizer, *sorted(files.model.parent.glob(f"{files.model.name}[._]data*"))]
            parts += [path for name in (FOLDER_SETTINGS, _POOLING) if (path := folder / name).is_file()]
            return f"onnx-{folder.resolve().name}-{weights_id(*parts)}"

        prefixes = settings.query_prefix, settings.passage_prefix
        super().__init__(name, lambda: OnnxEncoder(files), threads=threads, prefixes=prefixes)


def read_folder(folder: Path) -> tuple[FolderSettings, EncoderFiles]:
    """Return what `theworld.json` says, where there is one, and the model's files with their options.

    ModelError names what is missing, or not what it should be.
    """
    path = folder / FOLDER_SETTINGS
    try:
        settings = FolderSettings.model_validate_json(path.read_bytes()) if path.is_file() else FolderSettings()
    except ValidationError as error:
        raise ModelError(f"invalid settings ({error})", where=str(path)) from error
    model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        missing = "model.onnx" if model is None else "tokenizer.json"
        raise ModelError(
            f"no {missing} in this folder", where=str(folder), remedy="Export the model to ONNX with its tokenizer."
        )
    limit = _read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    tokens = settings.max_tokens or (limit if isinstance(limit, int) and limit >= 8 else 512)
    config = _read_json(folder / _POOLING) if settings.pooling is None else {}
    modes = sorted(key for key, value in config.items() if key.startswith("pooling_mode") and value is True)
    if modes not in ([], ["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
        raise ModelError(
            f"pooling {', '.join(modes)} is not supported",
            where=str(folder / _POOLING),
            remedy=f'Use a mean or cls pooled model, or set "pooling" in {FOLDER_SETTINGS}.',
        )
    found: Pooling = "cls" if modes == ["pooling_mode_cls_token"] else "mean"
    return settings, EncoderFiles(model, tokenizer, settings.pooling or found, tokens)


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"not valid JSON ({error})", where=str(path)) from error
    return value if isinstance(value, dict) else {}
