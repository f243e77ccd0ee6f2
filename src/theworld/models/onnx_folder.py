"""Any local encoder: a folder with `model.onnx` and `tokenizer.json`, as sentence-transformers exports it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theworld.errors import ModelError
from theworld.models.lazy import Lazy, weights_id
from theworld.models.onnx_encoder import EncoderFiles, OnnxEncoder, Pooling
from theworld.models.protocols import Embedded

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
