from __future__ import annotations

import json
from pathlib import Path


def test_a_store_is_backed_up_and_made_again(cli, store: Path, tmp_path: Path) -> None:
    done = cli("backup", tmp_path / "kept.backup", "--store", store)
    assert done.code == 0, done.err
    assert "theworld restore" in done.out
    done = cli("restore", tmp_path / "kept.backup", "--store", tmp_path / "again")
    assert done.code == 0, done.err
    assert done.out == f"{tmp_path / 'again'}: 4 documents.\n"
    asked = [
        json.loads(cli("ask", "Who was the drummer of Rush?", "--store", folder, "--json").out)["answer"]
        for folder in (store, tmp_path / "again")
    ]
    assert asked[0] == asked[1] != ""


def test_a_second_backup_does_not_overwrite_the_first(cli, store: Path, tmp_path: Path) -> None:
    assert cli("backup", tmp_path / "kept", "--store", store).code == 0
    done = cli("backup", tmp_path / "kept", "--store", store)
    assert done.code == 4
    assert "Name a new file" in done.err
