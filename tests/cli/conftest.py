from __future__ import annotations

import os
from pathlib import Path

import pytest

from theworld.cli.app import run

DOCUMENTS = {
    "rush.md": "# Rush\n\nRush was a Canadian rock band. Its drummer was Neil Peart [bold]for decades[/bold].\n",
    "peart.md": "# Neil Peart\n\nNeil Peart was born in Hamilton, Ontario. He wrote the lyrics of the band Rush.\n",
    "lighthouse.md": "---\ntopic: towers\n---\n# Old Light\n\nThe Old Light is a lighthouse, built by Ada Grey.\n",
    "tiantan.md": "# 天坛\n\n天坛位于北京市东城区，始建于1420年。天坛由永乐皇帝下令建造。\n",
}


@pytest.fixture(autouse=True)
def plain_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith(("THEWORLD_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """The documents' texts by file name, which is also their id."""
    return DOCUMENTS


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def store(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small store that tests only read."""
    folder = tmp_path_factory.mktemp("stores") / "small.store"
    assert run(["ingest", str(documents), "--store", str(folder)]) == 0
    return folder
