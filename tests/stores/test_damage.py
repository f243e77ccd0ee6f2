"""Damaged projections: whatever a power cut or a bad disk leaves, the next to open the store builds it anew.

Every file of every projection in the folder is emptied, cut in half, given a damaged beginning, or removed.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from theworld.errors import StoreError
from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.files import remove_folder
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import DocumentRecord, NoteRecord
from theworld.stores.sparse import embedded

DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "empty": lambda _content: b"",
    "half": lambda content: content[: len(content) // 2],
    "beginning": lambda content: bytes(255 - byte for byte in content[:24]) + content[24:],
    "flipped": lambda content: (
        content[: len(content) // 2]
        + bytes(255 - b for b in content[len(content) // 2 :][:3])
        + content[len(content) // 2 + 3 :]
    ),
    "missing": lambda _content: None,
}
WORDS = "granite lighthouse keeper island harbour ferry".split()


def _document(number: int) -> DocumentRecord:
    text = f"{WORDS[number % 6]} {WORDS[(number + 1) % 6]} of Place {number % 4}"
    vector = np.random.default_rng(number).normal(size=8).astype(np.float32)
    mention = Mention(surface=f"Place {number % 4}", type="place", start=0, end=0, key=f"place {number % 4}")
    vectors = {"space": Embedded(vector / np.linalg.norm(vector))}
    note = NoteRecord(f"d{number}#0", 0, text, 0, len(text), "en", mentions=(mention,), vectors=vectors)
    return DocumentRecord(f"d{number}", f"Title {number}", text, "x.md", f"{number}", notes=(note,))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two batches, one note replaced and one removed, so that every kind of file is there."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    with KnowledgeStore.open(folder, create=True) as store:
        store.put([_document(number) for number in range(12)])
        store.catch_up()
        store.put([_document(number) for number in range(12, 20)])
        store.delete(["d3"], tenant="default")
    return folder


def _files(folder: Path) -> Iterator[Path]:
    for name in ("sparse", "dense", "graph"):
        yield from (
            path for path in sorted((folder / name).rglob("*")) if path.is_file() and path.name != "writer.lock"
        )


def _found(store: KnowledgeStore) -> list[object]:
    vector = np.ones(8, dtype=np.float32) / np.sqrt(8)
    options = {"tenant": "default", "filters": {}, "limit": 20}
    walk = store.graph.rank(notes={"d1#0": 1.0}, entities={"place 2": 1.0}, **options)
    return [
        sorted(hit.note_id for hit in store.sparse.search("granite keeper", **options)),
        [(hit.note_id, round(hit.score, 5)) for hit in store.dense.search("space", vector, **options).hits],
        [(hit.note_id, round(hit.score, 5)) for hit in walk],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("damage", list(DAMAGES))
@pytest.mark.parametrize("writes", [False, True], ids=["reader", "writer"])
def test_what_is_damaged_is_built_anew(whole: Path, tmp_path: Path, damage: str, writes: bool) -> None:
    with KnowledgeStore.open(whole) as store:
        expected = _found(store)
    for number, file in enumerate(_files(whole)):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        damaged = folder / file.relative_to(whole)
        content = DAMAGES[damage](damaged.read_bytes())
        if content is None:
            damaged.unlink()
        else:
            damaged.write_bytes(content)
        with KnowledgeStore.open(folder, read_only=not writes) as store:
            assert _found(store) == expected, file
        remove_folder(folder)


@pytest.mark.slow
def test_a_bit_of_what_describes_the_files_changes_nothing(whole: Path, tmp_path: Path) -> None:
    with KnowledgeStore.open(whole) as store:
        expected = _found(store)
    for file in [path for path in _files(whole) if path.suffix == ".json" and path.name != ".managed.json"]:
        for place in range(5, file.stat().st_size, 37):
            folder = tmp_path / "store"
            shutil.copytree(whole, folder)
            damaged = folder / file.relative_to(whole)
            content = bytearray(damaged.read_bytes())
            content[place] ^= 1
            damaged.write_bytes(content)
            with KnowledgeStore.open(folder, read_only=False) as store:
                store.check_files()
                assert _found(store) == expected, f"{file.name}, byte {place}"
            remove_folder(folder)


def test_a_bit_in_the_middle_of_a_large_file_is_found_by_reading_all(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with KnowledgeStore.open(folder, create=True) as store:
        store.put([_document(number) for number in range(600)])
    with KnowledgeStore.open(folder) as store:
        expected = _found(store)
    vectors = next((folder / "dense").glob("*.arrays"))
    content = bytearray(vectors.read_bytes())
    assert len(content) > 10_000
    content[len(content) // 2] ^= 0x40
    vectors.write_bytes(content)
    with KnowledgeStore.open(folder, read_only=False) as store:
        assert store.check_files() == ["dense"]
        assert _found(store) == expected
        assert store.check_files() == []


def test_an_orphan_of_a_killed_writer_is_no_obstacle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that was cut short leaves a file of deletions that the next commit wants to make itself."""
    monkeypatch.setattr(embedded, "RENEWED_ANYWAY", 0)
    monkeypatch.setattr(embedded, "RENEWED_FOR_EACH", 0)
    with KnowledgeStore.open(tmp_path / "whole", create=True) as store:
        store.put([_document(number) for number in range(12)])
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        shutil.copytree(tmp_path / "whole", folder)
    before = set(folders[0].rglob("*.del"))
    with KnowledgeStore.open(folders[0], read_only=False) as store:
        store.delete(["d5"], tenant="default")
    for orphan in set(folders[0].rglob("*.del")) - before:
        shutil.copy(orphan, folders[1] / orphan.relative_to(folders[0]))
    with caplog.at_level(logging.WARNING), KnowledgeStore.open(folders[1], read_only=False) as store:
        store.delete(["d5"], tenant="default")
        store.catch_up()
        assert "d5#0" not in str(_found(store))
    assert [record for record in caplog.records if "built anew" in record.message]


def test_a_full_disk_is_no_damage(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    with KnowledgeStore.open(folder, read_only=False) as store:
        store.put([_document(30)])

        def full(*_arguments: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(type(store.sparse), "apply", full)
        with pytest.raises((OSError, StoreError), match="No space left"):
            store.catch_up()
        monkeypatch.undo()
        store.catch_up()
        assert "d30#0" in str(_found(store))


def test_a_folder_goes_in_which_a_lock_file_is_made_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the thread that opening a tantivy index starts: the first removal finds the folder filled again."""
    folder, removed = tmp_path / "store", shutil.rmtree
    folder.mkdir()

    calls = []

    def fill(path: Path) -> None:
        calls.append(path)
        if len(calls) == 1:
            (path / ".tantivy-meta.lock").touch()
            path.rmdir()
        removed(path)

    monkeypatch.setattr(shutil, "rmtree", fill)
    remove_folder(folder)
    assert (len(calls), folder.exists()) == (2, False)
    with pytest.raises(FileNotFoundError):
        remove_folder(folder)
