from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from theworld.errors import ModelError
from theworld.models.embedders import FastEmbedder, MiniLMEmbedder
from theworld.packages import install_command

pytest.importorskip("fastembed", reason="the extra `fastembed` is not installed")
MODEL = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.slow
def test_a_local_folder_needs_no_hub(minilm_folder: Path, minilm: MiniLMEmbedder) -> None:
    for name, value in (
        ("config.json", {"pad_token_id": 0, "hidden_size": 384}),
        ("tokenizer_config.json", {"model_max_length": 256, "pad_token": "[PAD]"}),
        ("special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"}),
    ):
        (minilm_folder / name).write_text(json.dumps(value), encoding="utf-8")
    embedder = FastEmbedder(f"{MODEL}={minilm_folder}", threads=1)
    texts = ["a fox", "", "the quick brown fox \ud800", "光"]
    found = embedder.embed_passages(texts)
    assert embedder.dimension == 384
    assert embedder.name == f"fastembed-{MODEL}"
    for text, item in zip(texts, found, strict=True):
        assert float(item.vector @ minilm.embed_query(text).vector) > 0.999
    assert np.array_equal(embedder.embed_passages(texts[::-1])[-1].vector, found[0].vector)


def test_an_unknown_model_says_what_to_do() -> None:
    with pytest.raises(ModelError, match="fastembed cannot load `no/such-model`") as caught:
        FastEmbedder("no/such-model").embed_query("a")
    assert "onnx:DIR" in str(caught.value)


def test_an_unreachable_hub_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise ConnectionError("the hub is unreachable")

    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(ModelError, match="Connect to the hub once"):
        FastEmbedder("BAAI/bge-small-en-v1.5").embed_query("a")


def test_the_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(ModelError) as caught:
        FastEmbedder(MODEL).embed_query("a")
    assert install_command("fastembed") in str(caught.value)
