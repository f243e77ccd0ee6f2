"""`theworld doctor` on real stores: healthy ones, and each defect with the remedy it is given."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from made_documents import make_document
from theworld.cli.app import run
from theworld.doctor import Finding, examine
from theworld.doctor.projections import is_older
from theworld.settings import Settings
from theworld.stores.files import write_atomically
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.sqlite import FILE_NAME


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a store with made-up vectors, so that only the embedder is wrong."""
    with KnowledgeStore.open(tmp_path / "store", create=True) as store:
        store.put([make_document(number) for number in range(3)])
    return Settings(store=tmp_path / "store")


def found(settings: Settings) -> dict[str, Finding]:
    return {finding.subject: finding for finding in examine(settings)}


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock"}


def test_every_part_is_looked_at_and_nothing_is_changed(settings: Settings) -> None:
    before = files(settings.store)
    findings = found(settings)
    assert {name: finding.status for name, finding in findings.items()} == {
        "folder": "ok",
        "disk": findings["disk"].status,
        "writer": "ok",
        "clock": "ok",
        "schema": "ok",
        "sparse": "ok",
        "dense": "ok",
        "graph": "ok",
        "ontology": "off",
        "embedder": "failed",
        "database": "off",
        "model": "off",
        "wikidata": "ok",
    }
    assert "--reembed" in findings["embedder"].remedy
    assert findings["schema"].facts["sequence"] == 6
    assert {name: data for name, data in files(settings.store).items() if not name.endswith(("-wal", "-shm"))} == {
        name: data for name, data in before.items() if not name.endswith(("-wal", "-shm"))
    }


@pytest.mark.parametrize(
    ("free", "total", "said"),
    [(3_200_000, 4_000_000, "3.2 of 4.0 MB free"), (12_340_000_000, 50_000_000_000, "12.3 of 50.0 GB free")],
)
def test_a_small_disk_is_told_in_megabytes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, free: int, total: int, said: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free, total=total))
    assert found(settings)["disk"].said == said


def test_a_projection_that_is_behind_is_told(settings: Settings) -> None:
    with Ledger.open(settings.store, writable=True) as ledger:
        ledger.put([make_document(7)])
    findings = found(settings)
    for name in ("sparse", "dense"):
        assert (findings[name].status, findings[name].facts["behind"]) == ("warning", 2)
        assert "theworld sync" in findings[name].remedy


@pytest.mark.parametrize(
    ("version", "oldest", "older"),
    [
        ("2.10.3", (2, 11), True),
        ("2.9.0", (2, 11), True),
        ("2.11.0", (2, 11), False),
        ("3.0.0", (2, 11), False),
        ("v1.18.3", (1, 18), False),
        ("2025.01.0", (5, 26), False),
        ("5.26-aura", (5, 26), False),
        ("4.4-aura", (5, 26), True),
        ("unknown", (5, 26), False),
    ],
)
def test_a_version_is_older_by_its_numbers(version: str, oldest: tuple[int, int], older: bool) -> None:
    assert is_older(version, oldest) == older


def test_a_restored_ledger_is_behind_its_projections(settings: Settings, tmp_path: Path) -> None:
    backup = tmp_path / "backup.sqlite"
    with closing(sqlite3.connect(settings.store / FILE_NAME)) as old, closing(sqlite3.connect(backup)) as new:
        old.backup(new)
    with KnowledgeStore.open(settings.store, read_only=False) as store:
        store.put([make_document(7)])
    for file in settings.store.glob(f"{FILE_NAME}*"):
        file.unlink()
    shutil.copy(backup, settings.store / FILE_NAME)
    finding = found(settings)["sparse"]
    assert (finding.status, "--rebuild sparse" in finding.remedy) == ("failed", True)


def test_writers_at_work_and_gone_are_told(settings: Settings) -> None:
    with KnowledgeStore.open(settings.store, read_only=False):
        finding = found(settings)["writer"]
        assert (finding.status, finding.facts["held"]) == ("ok", True)
        (settings.store / "writer.json").write_text("cut sh", "utf-8")
        assert found(settings)["writer"].said == "another process is writing to this folder"
    write_atomically(settings.store / "writer.json", {"pid": 99_999_999})
    finding = found(settings)["writer"]
    assert (finding.status, "99999999" in finding.said) == ("warning", True)


def test_older_and_newer_tables_are_told(settings: Settings) -> None:
    for version, remedy in ((5, "theworld ledger migrate"), (99, "version of TheWorld that wrote it")):
        with closing(sqlite3.connect(settings.store / FILE_NAME)) as connection:
            connection.execute("UPDATE meta SET number = ? WHERE key = 'schema_version'", (version,))
            connection.commit()
        findings = found(settings)
        assert (findings["schema"].status, remedy in findings["schema"].remedy) == ("failed", True)
        assert "sparse" not in findings


@pytest.mark.parametrize("defect", ["missing", "other content", "damaged"])
def test_a_folder_that_is_no_store_is_told(settings: Settings, defect: str) -> None:
    if defect == "damaged":
        (settings.store / FILE_NAME).write_bytes(b"no database" * 1000)
        assert "restore a backup" in found(settings)["ledger"].remedy
        return
    shutil.rmtree(settings.store)
    if defect == "other content":
        settings.store.mkdir()
        (settings.store / "letters.txt").touch()
    finding = found(settings)["folder"]
    assert (finding.status, bool(finding.remedy)) == ("failed", True)
    assert found(settings)["wikidata"].status == "ok"


@pytest.mark.parametrize(
    ("section", "values", "remedy"),
    [
        ("model", {"name": "m", "base_url": "http://127.0.0.1:1/v1", "api_key": "hunter2"}, "model.base_url"),
        ("wikidata", {"online": True}, "wikidata.online"),
        ("wikidata", {"snapshot": "nowhere.json"}, "wikidata"),
        ("sparse", {"url": "http://127.0.0.1:1", "username": "u", "password": "hunter2"}, "sparse.url"),
        ("graph", {"url": "bolt://127.0.0.1:1", "username": "u", "password": "hunter2"}, "graph"),
        ("dense", {"url": "http://127.0.0.1:1", "api_key": "hunter2"}, "dense"),
        ("ledger", {"url": "postgresql://127.0.0.1:1/x", "username": "u", "password": "hunter2"}, "theworld doctor"),
        ("database", {"url": "postgresql://u:hunter2@127.0.0.1:1/x", "ontology": "nowhere.yaml"}, "nowhere.yaml"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_cannot_be_reached_is_told_without_secrets(
    settings: Settings, section: str, values: dict[str, object], remedy: str
) -> None:
    findings = found(Settings.model_validate({**settings.model_dump(include={"store"}), section: values}))
    assert findings[section].status == "failed"
    assert remedy in findings[section].remedy + findings[section].said
    assert findings[section].remedy
    assert "hunter2" not in repr(findings)


class Models(BaseHTTPRequestHandler):
    """An endpoint that lists one model to those with the right key."""

    def do_GET(self) -> None:
        right = self.headers["Authorization"] == "Bearer right-key"
        there = self.path == "/v1/models"
        body = json.dumps({"data": [{"id": "small"}]}).encode() if right and there else b"{}"
        self.send_response(401 if not right else 200 if there else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Models) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "name", "key", "status", "remedy"),
    [
        ("/v1/", "small", "right-key", "ok", ""),
        ("/v1", "large", "right-key", "failed", "It has: small"),
        ("/v1", "small", "wrong-key", "failed", "model.api_key"),
        ("", "small", "right-key", "warning", "/v1"),
    ],
)
def test_the_model_endpoint_is_asked(
    endpoint: str, path: str, name: str, key: str, status: str, remedy: str, tmp_path: Path
) -> None:
    model = {"name": name, "base_url": endpoint + path, "api_key": key}
    finding = found(Settings.model_validate({"store": tmp_path / "none", "model": model}))["model"]
    assert (finding.status, remedy in finding.remedy) == (status, True)
    assert key not in repr(finding)


def test_a_secret_in_a_message_is_hidden(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def talks(_settings: Settings) -> None:
        raise RuntimeError("connecting to postgresql://u:p%40ss@host with key hunter2")

    monkeypatch.setattr("theworld.doctor.check_writer", talks)
    named = {"model": {"api_key": "hunter2"}, "database": {"url": "postgresql://u:p%40ss@host/x", "ontology": "o"}}
    said = found(Settings.model_validate({"store": settings.store, **named}))["writer"].said
    assert "unexpected RuntimeError" in said
    assert "hunter2" not in said
    assert "p%40ss" not in said


def test_the_command_prints_a_table_or_json_and_tells_by_its_exit_code(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "--store", str(settings.store)]) == 1
    shown = capsys.readouterr().out
    assert "1 failure" in shown
    assert "--reembed" in " ".join(shown.split())
    assert run(["doctor", "--store", str(settings.store), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is False
    assert {finding["subject"] for finding in told["findings"]} >= {"folder", "schema", "sparse", "wikidata"}


@pytest.mark.slow
def test_a_healthy_store_is_healthy(copy_of_demo: Callable[[], Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--store", str(copy_of_demo()), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is True
    assert {finding["status"] for finding in told["findings"]} <= {"ok", "off", "warning"}
