"""`ingest`, `info`, `delete`: a store made, looked at and changed from the command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from service_cases import wait_until
from service_process import START_S
from theworld import __version__
from theworld.cli.ingesting import counting
from theworld.errors import StoreError
from theworld.settings import Settings
from theworld.settings.sources import leaves
from theworld.stores.knowledge_store import open_store


def test_ingesting_again_changes_nothing(cli, texts: dict[str, str], documents: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    first = cli("ingest", documents, "--store", store)
    assert first.code == 0
    assert f"{len(texts)} documents written" in first.out
    again = json.loads(cli("ingest", documents, "--store", store, "--json").out)
    assert (again["documents"], again["unchanged"], again["failed"]) == (0, len(texts), [])


@pytest.mark.parametrize(("kinds", "last"), [(9, ".k8) passed over"), (12, ".k5, 4 more kinds) passed over")])
def test_kinds_that_are_not_read_are_named(cli, tmp_path: Path, kinds: int, last: str) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    for number in range(kinds):
        (folder / f"a.k{number}").write_bytes(bytes(range(256)))
    (folder / "a.md").write_text("Text.", encoding="utf-8")
    assert last in cli("ingest", folder, "--store", tmp_path / "s").out


def test_bad_files_are_reported_and_the_rest_goes_on(cli, texts: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "good.md").write_text(texts["rush.md"], encoding="utf-8")
    (folder / "empty.md").write_bytes(b"")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 8)
    for name in ("logo.png", "OTHER.PNG", "program"):
        (folder / name).write_bytes(bytes(range(256)))
    done = cli("ingest", folder, "--store", tmp_path / "s")
    assert done.code == 0
    assert "1 document written" in done.out
    assert "3 files of other kinds (.png, no ending) passed over" in done.out
    assert "2 left out:" in done.out
    assert "empty.md" in done.out
    assert "binary.txt" in done.out
    assert "files found: 2 .md, 1 .txt, 3 files of other kinds" in done.out
    (folder / "good.md").unlink()
    assert cli("ingest", folder, "--store", tmp_path / "t").code == 5, "nothing at all could be ingested"
    assert not (tmp_path / "t").exists()
    assert (cli("ingest", folder, "--store", tmp_path / "s").code, (tmp_path / "s").exists()) == (5, True)


@pytest.mark.parametrize(("name", "reason"), [("logo.png", "see above"), ("", "no file was found")])
def test_a_folder_of_which_nothing_is_read_fails(cli, tmp_path: Path, name: str, reason: str) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    if name:
        (folder / name).write_bytes(bytes(range(256)))
    done = cli("ingest", folder, "--store", tmp_path / "s")
    assert (done.code, done.err) == (5, f"Nothing could be read: {reason}.\n")
    assert not (tmp_path / "s").exists()


def test_a_folder_that_became_empty_may_be_pruned(cli, texts: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "a.md").write_text(texts["rush.md"], encoding="utf-8")
    assert cli("ingest", folder, "--store", tmp_path / "s").code == 0
    (folder / "a.md").unlink()
    assert cli("ingest", folder, "--store", tmp_path / "s", "--prune").code == 0


def test_pruning_and_tenants(cli, texts: dict[str, str], documents: Path, tmp_path: Path) -> None:
    folder, store = Path(shutil.copytree(documents, tmp_path / "d")), tmp_path / "s"
    cli("ingest", folder, "--store", store)
    cli("ingest", folder / "rush.md", "--store", store, "--tenant", "other")
    (folder / "peart.md").unlink()
    left = "1 document of files that are gone kept; --prune deletes them."
    assert left in " ".join(cli("ingest", folder, "--store", store).out.split())
    assert json.loads(cli("ingest", folder, "--store", store, "--prune", "--json").out)["pruned"] == 1
    tenants = json.loads(cli("info", "--store", store, "--json").out)["store"]["tenants"]
    assert {name: facts["documents"] for name, facts in tenants.items()} == {
        "default": len(texts) - 1,
        "other": 1,
    }


def test_delete_reaches_answers_and_is_all_or_nothing(cli, store: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(store, tmp_path / "s"))
    refused = cli("delete", "rush.md", "nothing.md", "--store", copy)
    assert (refused.code, refused.out) == (4, "")
    assert "'nothing.md'; nothing was deleted" in refused.err
    assert cli("delete", "rush.md", "rush.md", "--store", copy).out == "1 document deleted.\n"
    found = json.loads(cli("ask", "Which Canadian rock band had a drummer?", "--store", copy, "--json").out)
    assert "rush.md" not in {candidate["document_id"] for candidate in found["candidates"]}


def test_info_shows_every_setting_with_its_origin(
    cli, texts: dict[str, str], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEWORLD_RETRIEVAL__TOP_K", "7")
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret")
    done = cli("info", "--store", store, "--json")
    assert (done.code, done.err) == (0, "")
    assert "very-secret" not in done.out
    found = json.loads(done.out)
    assert found["version"] == __version__
    assert found["store"]["tenants"]["default"]["documents"] == len(texts)
    assert list(found["settings"]) == [name for name, _ in leaves(Settings)]
    settings = found["settings"]
    assert settings["retrieval.top_k"] == {
        "value": 7,
        "origin": "environment",
        "where": "THEWORLD_RETRIEVAL__TOP_K",
    }
    assert settings["model.api_key"]["value"] == "**********"
    assert settings["model.api_key"]["where"] == "OPENAI_API_KEY"
    assert settings["store"] == {"value": str(store), "origin": "argument", "where": ""}
    text = cli("info", "--store", store).out
    assert "very-secret" not in text
    assert "environment THEWORLD_RETRIEVAL__TOP_K" in text
    assert "2 documents" not in text
    assert f"{len(texts)} documents" in text


def test_info_without_a_store(cli) -> None:
    done = cli("info")
    assert done.code == 0
    assert "No store at theworld.store yet" in done.out
    assert json.loads(cli("info", "--json").out)["store"] is None


def saved_documents(store: Path) -> int:
    try:
        with open_store(Settings(store=store)) as opened:
            return len(opened.document_hashes("default"))
    except StoreError:  # not there yet
        return 0


@pytest.mark.slow
def test_ctrl_c_says_what_is_saved_and_a_rerun_goes_on(cli, tmp_path: Path) -> None:
    folder, store = tmp_path / "d", tmp_path / "s"
    folder.mkdir()
    rows = [{"_id": f"d{i}", "title": f"Title {i}", "text": f"Person {i} lives in town {i}."} for i in range(3000)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    arguments = ["ingest", str(folder), "--store", str(store)]
    code = "from theworld.cli import ingesting, main; ingesting.LINES_EVERY_S = 1e9; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"THEWORLD_TAGGER__ENGLISH": "pattern"},
    )
    wait_until(lambda: saved_documents(store))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=START_S)
    assert (process.returncode, out) == (130, ""), err
    assert "is saved; run the same command again" in err
    assert "Traceback" not in err
    assert err.startswith("Stopping: ")
    written = re.search(r"^(\d+) documents? written", err, re.M)
    assert written is not None, err
    assert saved_documents(store) == int(written[1]) < len(rows)


def test_progress_is_told_in_lines_where_there_is_no_terminal(
    cli, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theworld.cli.ingesting.LINES_EVERY_S", 0.0)
    done = cli("ingest", documents, "--store", tmp_path / "told.store")
    assert done.code == 0
    assert re.search(r"^Making notes: \d+ of \d+, [\d.]+/s, about \d+ s left$", done.err, re.MULTILINE)
    assert "\x1b[" not in done.err


def test_the_rate_and_the_time_left_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("theworld.cli.ingesting.LINES_EVERY_S", 0.0)
    now = 0.0
    monkeypatch.setattr("rich.console.monotonic", lambda: now)
    with counting("Indexing") as told:
        for done in (100, 200, 300):
            now += 0.5
            told(done, 1000)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "Indexing: 300 of 1,000, 200/s, about 4 s left"
