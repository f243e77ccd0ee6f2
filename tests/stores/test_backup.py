"""Backup while others write, restore, and what is no backup."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from theworld.errors import StoreError, StoreLockedError
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.moving import back_up, restore
from theworld.stores.records import DocumentRecord, NoteRecord


def _document(number: int) -> DocumentRecord:
    text = f"The keeper of light {number} rows to the island."
    note = NoteRecord(f"d{number}#0", 0, text, 0, len(text), "en")
    return DocumentRecord(f"d{number}", f"Light {number}", text, "x.md", f"{number}", notes=(note,))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with KnowledgeStore.open(folder, create=True) as opened:
        opened.put([_document(number) for number in range(50)])
    return folder


def _ids(folder: Path) -> list[str]:
    with KnowledgeStore.open(folder) as opened:
        found = [document.id for document in opened.documents(tenant="default", limit=1000).documents]
        hits = opened.sparse.search("keeper island", tenant="default", filters={}, limit=1000)
        assert sorted(hit.note_id for hit in hits) == sorted(f"{name}#0" for name in found), "index and ledger agree"
        return sorted(found)


def test_a_backup_made_while_others_write_is_one_state(store: Path, tmp_path: Path) -> None:
    file, stop, written = tmp_path / "kept.backup", threading.Event(), threading.Event()

    def write() -> None:
        with KnowledgeStore.open(store, read_only=False) as opened:
            number = 50
            while not stop.is_set():
                opened.put([_document(number), _document(number + 1)])  # always two at once
                number += 2
                written.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(60)
        back_up(store, file)
    finally:
        stop.set()
        writer.join(60)
    restore(file, tmp_path / "again")
    found = _ids(tmp_path / "again")
    assert len(found) >= 52
    assert len(found) % 2 == 0
    assert set(found) <= set(_ids(store))


def test_a_store_goes_back_to_its_backup(store: Path, tmp_path: Path) -> None:
    before = _ids(store)
    back_up(store, tmp_path / "kept")
    with KnowledgeStore.open(store, read_only=False) as opened:
        opened.put([_document(90)])
        opened.delete(["d1", "d2"], tenant="default")
    assert _ids(store) != before
    restore(tmp_path / "kept", store)
    assert _ids(store) == before
    with KnowledgeStore.open(store, read_only=False) as opened:
        opened.put([_document(91)])
    assert _ids(store) == sorted([*before, "d91"])


def test_nothing_is_overwritten_and_nothing_half_made(store: Path, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine", "utf-8")
    with pytest.raises(StoreError, match="such a file already"):
        back_up(store, tmp_path / "there")
    with pytest.raises(StoreError, match="cannot be copied"):
        back_up(store, tmp_path / "no" / "such" / "folder")
    with pytest.raises(StoreError, match="no store here"):
        back_up(tmp_path / "none", tmp_path / "kept")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "there"]


def test_what_is_no_backup_is_refused_and_the_store_stays(store: Path, tmp_path: Path) -> None:
    before = _ids(store)
    (tmp_path / "text").write_text("no database", "utf-8")
    back_up(store, tmp_path / "kept")
    content = bytearray((tmp_path / "kept").read_bytes())
    content[4096 : 4096 * 6] = bytes(4096 * 5)
    (tmp_path / "damaged").write_bytes(content)
    for name in ("text", "damaged", "none"):
        with pytest.raises(StoreError):
            restore(tmp_path / name, store)
    with pytest.raises(StoreError, match=r"text: this is no backup\. Name a file made by `theworld backup`"):
        restore(tmp_path / "text", store)
    with KnowledgeStore.open(store, read_only=False), pytest.raises(StoreLockedError):
        restore(tmp_path / "kept", store)
    assert _ids(store) == before


READER = """
import sys
from theworld.stores.knowledge_store import KnowledgeStore
with KnowledgeStore.open(sys.argv[1]) as store:
    print(store.ledger.sequence(), flush=True)
    sys.stdin.read()
"""


def test_a_store_that_is_open_anywhere_is_not_replaced(store: Path, tmp_path: Path) -> None:
    before = _ids(store)
    back_up(store, tmp_path / "kept")
    with KnowledgeStore.open(store, read_only=False) as opened:
        opened.put([_document(90)])
    changed = [*before, "d90"]
    refused = pytest.raises(StoreLockedError, match=r"has this store open\. Stop the service \(`theworld serve`\)")
    with KnowledgeStore.open(store), refused:
        restore(tmp_path / "kept", store)
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline(), "it has the store open"
        with refused:
            restore(tmp_path / "kept", store)
        assert _ids(store) == changed, "nothing is lost, and others go on reading"
        reader.communicate("")
    restore(tmp_path / "kept", store)
    assert _ids(store) == before


def test_a_backup_that_is_cut_off_is_named_as_such(store: Path, tmp_path: Path) -> None:
    back_up(store, tmp_path / "kept")
    content = (tmp_path / "kept").read_bytes()
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match=r"cut: this backup is damaged.* Name another one") as caught:
        restore(tmp_path / "cut", store)
    assert "theworld restore" not in str(caught.value)


def test_a_damaged_ledger_is_replaced(store: Path, tmp_path: Path) -> None:
    before = _ids(store)
    back_up(store, tmp_path / "kept")
    for damage in (b"no database at all", (store / "ledger.sqlite").read_bytes()[:5000]):
        (store / "ledger.sqlite").write_bytes(damage)
        restore(tmp_path / "kept", store)
        assert _ids(store) == before


def test_a_damaged_ledger_is_told_to_the_writer_after_one_that_died(store: Path) -> None:
    file = store / "ledger.sqlite"
    content = bytearray(file.read_bytes())
    content[4096 * 3 : 4096 * 8] = bytes(4096 * 5)
    file.write_bytes(content)
    (store / "writer.json").write_text('{"pid": 1}', "utf-8")
    with pytest.raises(StoreError, match="theworld restore"):
        KnowledgeStore.open(store, read_only=False)


def test_only_its_owner_reads_a_store(store: Path, tmp_path: Path) -> None:
    back_up(store, tmp_path / "kept")
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o600
