"""Stores that cannot be opened or written: one clear message each, and nothing half-written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_documents import assert_congruent, make_document
from theworld.errors import StoreError, StoreLockedError, StoreVersionError
from theworld.models.protocols import Embedded, TokenVectors
from theworld.stores.files import read_json, write_atomically
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.opening import WriterLock
from theworld.stores.records import DocumentRecord


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with three documents."""
    with KnowledgeStore.open(tmp_path / "store", create=True) as store:
        store.put([make_document(number) for number in range(3)])
    return tmp_path / "store"


def test_a_missing_store_says_how_to_make_one(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(StoreError, match=r"theworld ingest PATH --store"):
            KnowledgeStore.open(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("create", [True, False])
def test_a_file_is_not_a_store(tmp_path: Path, create: bool) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        KnowledgeStore.open(tmp_path / "file", create=create)
    with pytest.raises(StoreError, match="cannot be made"):
        KnowledgeStore.open(tmp_path / "file" / "below", create=True)


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, create: bool) -> None:
    (tmp_path / "holiday.jpg").write_text("x")
    with pytest.raises(StoreError, match="other content"):
        KnowledgeStore.open(tmp_path, create=create)
    assert [file.name for file in tmp_path.iterdir()] == ["holiday.jpg"]


@pytest.mark.parametrize("damage", [b"this is not a database, but long enough to look at" * 100, b""])
def test_a_damaged_ledger_is_named(path: Path, damage: bytes) -> None:
    (path / "ledger.sqlite").write_bytes(damage)
    with pytest.raises(StoreError, match=r"ledger\.sqlite.*theworld ingest"):
        KnowledgeStore.open(path)


def test_a_damaged_page_is_reported_when_read(path: Path) -> None:
    file = path / "ledger.sqlite"
    content = bytearray(file.read_bytes())
    for offset in range(4096, len(content), 4096):
        content[offset : offset + 512] = b"\xff" * 512
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"restore a backup"), KnowledgeStore.open(path) as store:
        list(store.iter_notes("default"))


@pytest.mark.parametrize("version", [1, 4, 99])
def test_a_store_of_another_version_is_refused(path: Path, version: int) -> None:
    with sqlite3.connect(path / "ledger.sqlite") as connection:
        connection.execute(f"UPDATE meta SET number = {version} WHERE key = 'schema_version'")
    connection.close()
    with pytest.raises(StoreVersionError, match=f"version {version},.*ingest into a new store"):
        KnowledgeStore.open(path)


def test_a_second_writer_is_told_who_writes(path: Path) -> None:
    with KnowledgeStore.open(path, read_only=False) as writer:
        with pytest.raises(StoreLockedError, match=f"process {os.getpid()}"):
            KnowledgeStore.open(path, read_only=False)
        with KnowledgeStore.open(path) as reader:
            assert_congruent(reader)
        assert_congruent(writer)
    KnowledgeStore.open(path, read_only=False).close()


def test_a_second_writer_waits_as_long_as_it_may(path: Path) -> None:
    first = KnowledgeStore.open(path, read_only=False)
    with pytest.raises(StoreLockedError, match=f"process {os.getpid()}"):
        KnowledgeStore.open(path, read_only=False, wait_s=0.1)
    threading.Timer(0.3, first.close).start()
    KnowledgeStore.open(path, read_only=False, wait_s=60).close()


def test_the_lock_is_free_after_a_failed_open(path: Path) -> None:
    (path / "ledger.sqlite").rename(path / "kept")
    (path / "ledger.sqlite").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreError):
        KnowledgeStore.open(path, read_only=False)
    (path / "kept").rename(path / "ledger.sqlite")
    KnowledgeStore.open(path, read_only=False).close()


@pytest.mark.parametrize("projection", ["sparse", "dense", "graph"])
def test_a_projection_that_is_gone_is_built_again(path: Path, projection: str) -> None:
    shutil.rmtree(path / projection)
    with KnowledgeStore.open(path) as reader:
        assert len(assert_congruent(reader)) == 6


def test_a_ledger_older_than_its_projections_rebuilds_them(path: Path) -> None:
    backup = (path / "ledger.sqlite").read_bytes()
    with KnowledgeStore.open(path, read_only=False) as store:
        store.put([make_document(number) for number in range(3, 9)])
    (path / "ledger.sqlite").write_bytes(backup)
    with KnowledgeStore.open(path) as reader:
        assert len(assert_congruent(reader)) == 6


def bad_documents() -> dict[str, DocumentRecord]:
    good = make_document(7)
    note = good.notes[0]
    vector = np.ones(8, np.float32)

    def with_note(**change: object) -> DocumentRecord:
        return replace(good, notes=(replace(note, **change),))

    return {
        "no id": replace(good, id=""),
        "a separator in the tenant": replace(good, tenant="a\x1fb"),
        "NUL": replace(good, text="a\x00b"),
        "a lone surrogate": with_note(text="a\ud800b"),
        "two notes of one id": replace(good, notes=(note, note)),
        "another document's note": with_note(id="doc-00001#0"),
        "no number": with_note(vectors={"space-zh": Embedded(vector * np.nan)}),
        "another dimension": with_note(vectors={"space-zh": Embedded(np.ones(9, np.float32))}),
        "tokens that do not fit": with_note(
            vectors={"space-zh": Embedded(vector, TokenVectors(np.arange(3, dtype=np.int32), np.ones((2, 8), np.int8)))}
        ),
    }


@pytest.mark.parametrize("what", bad_documents())
def test_a_bad_record_leaves_the_whole_batch_out(path: Path, what: str) -> None:
    with KnowledgeStore.open(path, read_only=False) as store:
        before = store.info()
        with pytest.raises(StoreError, match=r"document|note"):
            store.put([make_document(5), bad_documents()[what], make_document(6)])
        assert store.info()["tenants"] == before["tenants"]
        assert_congruent(store)


def test_metadata_that_is_no_json_is_refused(path: Path) -> None:
    with KnowledgeStore.open(path, read_only=False) as store, pytest.raises(StoreError, match="JSON"):
        store.put([replace(make_document(5), metadata={"when": object()})])


def test_a_read_only_folder_can_be_read_and_refuses_writers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Permission bits do not stop the superuser, as whom tests may run: what the system would say is put in its place.
    monkeypatch.setattr(os, "access", lambda *_args, **_kwargs: False)
    with KnowledgeStore.open(path) as reader:
        assert_congruent(reader)
    monkeypatch.undo()
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    monkeypatch.setattr("filelock.FileLock.acquire", _refused)
    with pytest.raises(StoreError, match="Make the folder writable"):
        KnowledgeStore.open(path, read_only=False)
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before


def _refused(*_args: object, **_kwargs: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize(
    ("name", "file"), [("dense", "manifest.json"), ("graph", "manifest.json"), ("sparse", "applied.json")]
)
def test_a_projection_of_another_format_is_named_and_built_anew_when_it_can_be(
    path: Path, name: str, file: str
) -> None:
    write_atomically(path / name / file, read_json(path / name / file) | {"format": 1})
    writer = WriterLock(path)
    writer.acquire()
    try:
        with KnowledgeStore.open(path) as store:
            assert list(store.troubles) == [name]
            assert "format 1" in store.troubles[name]
            assert f"theworld sync --store {path}" in store.troubles[name]
    finally:
        writer.release()
    with KnowledgeStore.open(path) as store:
        assert store.troubles == {}
        assert_congruent(store)


def test_a_store_that_cannot_write_its_graph_lets_go_of_the_lock_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    store = KnowledgeStore.open(path, read_only=False)
    store.put([make_document(7)])
    with monkeypatch.context() as patched:
        patched.setattr("theworld.stores.graph.MappedGraph._save", full)
        with pytest.raises(OSError, match="No space"):
            store.close()
    with KnowledgeStore.open(path, read_only=False) as again:
        assert_congruent(again)


def test_a_lock_that_cannot_be_signed_is_given_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    lock = WriterLock(path)
    with monkeypatch.context() as patched:
        patched.setattr("theworld.stores.opening.write_atomically", full)
        with pytest.raises(StoreError, match="cannot be written to: No space left"):
            lock.acquire()
    other = WriterLock(path)
    other.acquire()
    other.release()


def test_a_writer_waits_for_a_reader_that_finishes_what_a_killed_one_left(path: Path) -> None:
    reader, given_back = WriterLock(path), threading.Event()
    reader.acquire(recovering=True)
    with pytest.raises(StoreLockedError, match=f"process {os.getpid()} is writing"):
        WriterLock(path).acquire(recovering=True)  # another reader does not

    def release() -> None:
        given_back.set()
        reader.release()

    timer = threading.Timer(0.2, release)
    timer.start()
    with KnowledgeStore.open(path, read_only=False):
        assert given_back.is_set()
    timer.join()


def test_metadata_that_no_index_can_keep_is_refused(path: Path) -> None:
    with KnowledgeStore.open(path, read_only=False) as store:
        for metadata in ({"tag": ["fine", "\ud800"]}, {"\ud800": "x"}, {"tag": "nul \x00"}):
            with pytest.raises(StoreError, match=r"document 'doc-00007'.*lone surrogates"):
                store.put([replace(make_document(7), metadata=metadata)])
        assert store.put([make_document(7)]) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, float("-inf")]])
def test_numbers_that_no_database_keeps_are_refused(path: Path, value: Any) -> None:
    with KnowledgeStore.open(path, read_only=False) as store:
        with pytest.raises(StoreError, match="number at 'size' that is not finite"):
            store.put([replace(make_document(7), metadata={"size": value})])
        assert store.put([replace(make_document(7), metadata={"size": 0.5})]) == 1


def test_the_size_of_a_store_is_told_while_files_come_and_go(path: Path) -> None:
    (path / "ledger.sqlite-gone").symlink_to(path / "nothing")
    (path / "graph" / "gone.graph").symlink_to(path / "nothing")
    with KnowledgeStore.open(path) as store:
        assert all(size > 0 for size in store.info()["bytes"].values())
