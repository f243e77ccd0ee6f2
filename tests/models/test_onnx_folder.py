from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theworld.errors import ModelError
from theworld.models.embedders import MiniLMEmbedder
from theworld.models.onnx_encoder import OnnxFolderEmbedder


def write(folder: Path, name: str, value: Any) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def test_a_folder_gives_the_vectors_of_its_model(minilm_folder: Path, minilm: MiniLMEmbedder) -> None:
    embedder = OnnxFolderEmbedder(minilm_folder)
    ours, theirs = embedder.embed_query("the quick fox"), minilm.embed_query("the quick fox")
    assert embedder.dimension == 384
    assert np.array_equal(ours.vector, theirs.vector)
    assert ours.tokens is not None
    assert theirs.tokens is not None
    assert np.array_equal(ours.tokens.vectors, theirs.tokens.vectors)


def test_prefixes_and_limit_come_from_the_folder(minilm_folder: Path, minilm: MiniLMEmbedder) -> None:
    write(minilm_folder, "theworld.json", {"query_prefix": "query: ", "passage_prefix": "passage: ", "max_tokens": 8})
    embedder = OnnxFolderEmbedder(minilm_folder)
    assert np.array_equal(embedder.embed_query("a fox").vector, minilm.embed_query("query: a fox").vector)
    assert np.array_equal(embedder.embed_passages(["a fox"])[0].vector, minilm.embed_query("passage: a fox").vector)
    tokens = embedder.embed_query("one two three four five six seven eight").tokens
    assert tokens is not None
    # Eight with the two special ones: "query: one two three four"; punctuation has no token vector.
    assert len(tokens.ids) == 5


def test_pooling_comes_from_the_folder(minilm_folder: Path) -> None:
    mean = OnnxFolderEmbedder(minilm_folder).embed_query("a fox").vector
    write(minilm_folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    cls = OnnxFolderEmbedder(minilm_folder).embed_query("a fox").vector
    assert not np.allclose(mean, cls, atol=0.01)
    write(minilm_folder, "theworld.json", {"pooling": "mean"})
    assert np.array_equal(OnnxFolderEmbedder(minilm_folder).embed_query("a fox").vector, mean)


def test_the_name_changes_with_what_makes_the_vectors(minilm_folder: Path) -> None:
    names = [OnnxFolderEmbedder(minilm_folder).name, OnnxFolderEmbedder(minilm_folder).name]
    write(minilm_folder, "theworld.json", {"query_prefix": "query: "})
    names.append(OnnxFolderEmbedder(minilm_folder).name)
    write(minilm_folder, "tokenizer.json", (minilm_folder / "tokenizer.json").read_text("utf-8") + "\n")
    names.append(OnnxFolderEmbedder(minilm_folder).name)
    for weights in ("one", "two"):
        write(minilm_folder, "model.onnx_data", weights)
        names.append(OnnxFolderEmbedder(minilm_folder).name)
    assert names[0] == names[1]
    assert len(set(names)) == 5
    assert names[0].startswith("onnx-mini-")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("theworld.json", "{", "invalid settings"),
        ("theworld.json", {"prefix": "a"}, "prefix"),
        ("theworld.json", {"max_tokens": 1}, "max_tokens"),
        ("1_Pooling/config.json", "not json", "not valid JSON"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens is not supported"),
    ],
)
def test_wrong_folder_settings_name_file_and_fault(minilm_folder: Path, name: str, value: Any, message: str) -> None:
    write(minilm_folder, name, value)
    with pytest.raises(ModelError, match=message) as caught:
        OnnxFolderEmbedder(minilm_folder)
    assert str(minilm_folder / name) in str(caught.value)


def test_missing_and_broken_files(minilm_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model\.onnx"):
        OnnxFolderEmbedder(tmp_path / "nowhere")
    write(minilm_folder, "tokenizer.json", "{}")
    with pytest.raises(ModelError, match="not a readable tokenizer"):
        OnnxFolderEmbedder(minilm_folder).embed_query("a")
    (minilm_folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        OnnxFolderEmbedder(minilm_folder)


def test_a_broken_model_is_a_model_error(minilm_folder: Path) -> None:
    (minilm_folder / "model.onnx").unlink()
    write(minilm_folder, "model.onnx", "not a model")
    with pytest.raises(ModelError, match="not a usable ONNX model"):
        OnnxFolderEmbedder(minilm_folder).embed_query("a")
