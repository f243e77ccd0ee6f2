"""Which files a path stands for."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from theworld.errors import IngestionError
from theworld.ingestion.sources import find_sources


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


def test_order_and_ids(folder: Path) -> None:
    for name in (
        "b.md",
        "a/z.txt",
        "a/b/c.HTML",
        "picture.png",
        ".hidden/x.md",
        ".secret.md",
        "a/~$b.docx",
        "Makefile",
    ):
        touch(folder / name)
    found = find_sources([folder])
    assert [file.id for file in found.files] == ["Makefile", "a/b/c.HTML", "a/z.txt", "b.md"]
    assert (found.skipped, found.failed) == ({".png": 1}, [])


CONTENTS = [
    ("README", b"words", True),
    ("a.xyz", "文字，也是".encode(), True),
    ("a.xyz", "文字，也是".encode("gb18030"), True),
    ("a.xyz", "words".encode("utf-16"), True),
    ("a.xyz", b"d\xe9j\xe0 vu", True),
    ("a.xyz", b"", False),
    ("a.xyz", b"\x7fELF\x02\x01\x01\x00", False),
    ("program", zlib.compress(b"words" * 99), False),
    ("a.md", b"\x00", True),
    ("page.min.js", b"x", False),
    ("package-lock.json", b"{}", False),
    ("uv.lock", b"x", False),
    ("a.js.map", b"{}", False),
    ("logo.SVG", b"<svg/>", False),
]


@pytest.mark.parametrize(("name", "content", "is_read"), CONTENTS)
def test_what_holds_text_is_read(folder: Path, name: str, content: bytes, is_read: bool) -> None:
    (folder / name).write_bytes(content)
    found = find_sources([folder])
    assert ([file.id for file in found.files], found.skipped.total()) == (([name], 0) if is_read else ([], 1))


def test_generated_scripts_and_style_sheets_are_passed_over(folder: Path) -> None:
    for name, line in {
        "a.js": "go();\n",
        "b.js": "go();" * 100,
        "c.css": "p{}" * 200 + "\n",
        "d.css": "p {}\n",
    }.items():
        (folder / name).write_text(line * 9)
    found = find_sources([folder])
    assert [file.id for file in found.files] == ["a.js", "d.css"]
    assert found.skipped == {".js (generated)": 1, ".css (generated)": 1}
    assert len(find_sources([folder / "b.js"]).files) == 1, "given by its name, it is read"


def test_installed_packages_are_passed_over(folder: Path) -> None:
    touch(folder / "node_modules/a/README.md")
    assert find_sources([folder]).skipped == {"node_modules/": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes")
def test_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert find_sources([folder]).skipped == {"": 1}


def test_corpus_folder_leaves_its_queries(folder: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "more/other.jsonl", "more/a.tsv"):
        touch(folder / name)
    found = find_sources([folder])
    assert [file.id for file in found.files] == ["corpus.jsonl", "more/a.tsv", "more/other.jsonl"]
    assert found.skipped == {".jsonl": 1, ".tsv": 1}


def test_each_file_once(folder: Path) -> None:
    touch(folder / "sub/a.md")
    found = find_sources([folder, folder / "sub", folder / "sub/a.md"])
    assert [file.id for file in found.files] == ["sub/a.md"]


def test_links_without_loops(folder: Path) -> None:
    touch(folder / "sub/a.md")
    (folder / "sub/up").symlink_to(folder, target_is_directory=True)
    (folder / "self").symlink_to(folder / "self")
    (folder / "gone.md").symlink_to(folder / "nothing.md")
    found = find_sources([folder])
    assert [file.id for file in found.files] == ["sub/a.md"]
    assert [Path(failure.path).name for failure in found.failed] == ["gone.md", "self"]


def test_nothing_there(folder: Path) -> None:
    with pytest.raises(IngestionError, match="no such file"):
        find_sources([folder, folder / "missing"])
    with pytest.raises(IngestionError, match="Name at least one"):
        find_sources([])


def test_unreadable_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(folder / "a.md")
    touch(folder / "locked/b.md")
    real = Path.iterdir

    def refusing(path: Path) -> object:
        if path.name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(Path, "iterdir", refusing)
    found = find_sources([folder])
    assert [file.id for file in found.files] == ["a.md"]
    assert found.failed[0].reason == "the folder cannot be read: Permission denied"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_names_that_cannot_be_shown(folder: Path) -> None:
    touch(folder / "bad\nname.md")
    with open(os.fsencode(folder) + b"/\xff.md", "wb") as file:
        file.write(b"x")
    found = find_sources([folder])
    assert found.files == []
    assert len(found.failed) == 2
    assert all("rename" in failure.reason and failure.path.isascii() for failure in found.failed)
