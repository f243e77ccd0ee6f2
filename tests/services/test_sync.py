"""`theworld sync` moves a store to a server, tells what it cannot reach, and verifies."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from made_documents import make_document
from services.launching import free_port
from theworld.cli.app import run
from theworld.settings import Settings, SparseSettings
from theworld.stores.knowledge_store import KnowledgeStore, open_store
from theworld.stores.sparse.opensearch import OpenSearchSparse

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with KnowledgeStore.open(tmp_path / "store", create=True) as store:
        store.put([make_document(number) for number in range(4)])
    return tmp_path / "store"


def sync(*arguments: str) -> int:
    return run(["sync", *arguments])


def test_a_store_moves_to_a_server(
    path: Path, opensearch_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THEWORLD_SPARSE__URL", opensearch_url)
    monkeypatch.setenv("THEWORLD_SERVERS__TIMEOUT_S", "60")
    for arguments in ((), ("--rebuild", "sparse"), ()):
        assert sync("--store", str(path), "--verify", "--json", *arguments) == 0
        told = json.loads(capsys.readouterr().out)
        assert set(told["lag"].values()) == {0}
        assert (told["troubles"], told["differences"]) == ({}, [])
    with open_store(
        Settings(store=path, sparse=SparseSettings(url=opensearch_url, timeout_s=60)), read_only=False
    ) as store:
        assert isinstance(store.sparse, OpenSearchSparse)
        assert len(list(store.sparse.held())) == 8
        store.sparse.drop()
        store._release()


def test_a_server_out_of_reach_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THEWORLD_SPARSE__URL", f"http://127.0.0.1:{free_port()}")
    assert sync("--store", str(path)) == 4
    told = capsys.readouterr()
    assert "sparse: unreachable" in told.out
    assert "The sparse index is out of date" in told.err
    assert sync("--store", str(path), "--verify", "--json") == 4
    assert json.loads(capsys.readouterr().out)["differences"] is None, "nothing was compared"


def test_the_first_run_brings_a_store_to_the_servers(path: Path, opensearch_url: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "first-run.sh", tmp_path)
    file = tmp_path / ".env"
    given = f"OPENAI_API_KEY=mine\nTHEWORLD_SPARSE__URL={opensearch_url}\nTHEWORLD_DENSE__URL=\nTHEWORLD_GRAPH__URL="
    file.write_text(given, encoding="utf-8")
    programs = Path(sys.executable).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THEWORLD_")}
    environment |= {"PATH": f"{programs}:{os.environ['PATH']}", "THEWORLD_SERVERS__TIMEOUT_S": "60"}
    written = []
    for _ in range(2):
        command = ["sh", "first-run.sh", "--no-start", "--store", str(path), "--json"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["troubles"], told["differences"]) == ({}, [])
        written.append(file.read_text(encoding="utf-8"))
    assert written[0] == written[1]
    assert written[0].startswith(f"{given}\n")
    assert len(re.findall(r"(?m)^THEWORLD_\w+=\w{48}$", written[0])) == 2
    with open_store(
        Settings(store=path, sparse=SparseSettings(url=opensearch_url, timeout_s=60)), read_only=False
    ) as store:
        assert isinstance(store.sparse, OpenSearchSparse)
        assert len(list(store.sparse.held())) == 8
        store.sparse.drop()
        store._release()
