"""Dumps of every kind become the same snapshot, also when the work is stopped on the way; bad input is told."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from theworld.errors import IngestionError, StoreError, StoreLockedError
from theworld.wikidata import Snapshot, build_snapshot

ENTRIES = 13


def content(path: Path) -> list[Any]:
    """Return everything in a snapshot that is not about its making."""
    connection = sqlite3.connect(path)
    tables = [
        connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in ("entity", "ranked", "name")
    ]
    found = [connection.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY 1", ("pari",)).fetchall()]
    connection.close()
    return [*tables, found]


def as_lines(dump: Path) -> bytes:
    return b"\n".join(line.rstrip(b",") for line in dump.read_bytes().splitlines()[1:-1])


KINDS: dict[str, Callable[[Path], bytes]] = {
    "plain": Path.read_bytes,
    "lines": as_lines,
    "gzip": lambda dump: gzip.compress(dump.read_bytes()),
    "gzip in members": lambda dump: b"".join(
        gzip.compress(part) for part in dump.read_bytes().splitlines(keepends=True)
    ),
    "bzip2": lambda dump: bz2.compress(dump.read_bytes()),
    "a blank first line": lambda dump: b"\n" + as_lines(dump),
    "windows": lambda dump: dump.read_bytes().replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_dump_gives_the_same(dump: Path, tmp_path: Path, kind: str) -> None:
    build_snapshot(dump, tmp_path / "plain.sqlite")
    packed = tmp_path / "named-anyhow"
    packed.write_bytes(KINDS[kind](dump))
    report = build_snapshot(packed, tmp_path / "new" / "out.sqlite")
    assert (report.entities, report.left_out, report.bad, report.cut_off) == (ENTRIES, 0, 0, False)
    assert content(tmp_path / "new" / "out.sqlite") == content(tmp_path / "plain.sqlite")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["out.sqlite"]


def test_the_snapshot_says_what_it_holds(dump: Path, tmp_path: Path) -> None:
    build_snapshot(dump, tmp_path / "out.sqlite")
    with Snapshot(tmp_path / "out.sqlite") as snapshot:
        assert snapshot.about == {
            "source": "dump.json",
            "origin": "https://www.wikidata.org",
            "license": "CC0-1.0",
            "entities": "13",
        }


def test_bad_lines_are_numbered_and_passed_over(dump: Path, tmp_path: Path) -> None:
    lines = dump.read_bytes().splitlines()
    lines[3:3] = [b'{"id": "Q1", "labels": {', b"\xff\xfe", b'"text",', b'{"id": "Q0"},', b"", b"[" * 100_000]
    dump.write_bytes(b"\n".join(lines))
    report = build_snapshot(dump, tmp_path / "out.sqlite")
    assert (report.entities, report.bad) == (ENTRIES, 5)
    assert [line for line, _ in report.bad_lines] == [4, 5, 6, 7, 9]
    assert "no QID" in dict(report.bad_lines)[7]


def test_endless_lines_are_passed_over(dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theworld.wikidata.build.MAX_LINE", 20_000)
    lines = dump.read_bytes().splitlines()
    lines.insert(2, b'{"id": "Q1", "labels": "' + b"x" * 200_000 + b'"},')
    dump.write_bytes(b"\n".join(lines))
    report = build_snapshot(dump, tmp_path / "out.sqlite")
    assert (report.entities, [line for line, _ in report.bad_lines]) == (ENTRIES, [3])


def test_what_is_no_entry_or_not_wanted_is_left_out(tmp_path: Path) -> None:
    named = {"labels": {"en": {"value": "x"}}, "sitelinks": {"a": {}}}
    rows = [
        {"id": "P31", "type": "property", **named},
        {"id": "L1", "type": "lexeme"},
        {"id": "Q1", "type": "item"},
        {"id": "Q2", "type": "item", **named, "sitelinks": {}},
        {"id": "Q3", "type": "item", **named},
        {"id": "Q4", "type": "item", "labels": {"fr": {"value": "only French"}}, "sitelinks": {"a": {}}},
    ]
    dump = tmp_path / "dump.jsonl"
    dump.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    report = build_snapshot(dump, tmp_path / "out.sqlite", min_sitelinks=1)
    assert (report.entities, report.left_out, report.bad) == (1, 5, 0)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_dump_cut_off_is_told_and_goes_on_when_it_is_whole(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theworld.wikidata.build.BATCH", 200)
    dump, out = tmp_path / "dump.json.packed", tmp_path / "out.sqlite"
    whole = pack(many(2000))
    dump.write_bytes(whole[: len(whole) * 3 // 4] if pack is gzip.compress else damaged(whole))
    with pytest.raises(IngestionError, match=r"cut off or damaged after line \d+") as caught:
        build_snapshot(dump, out)
    assert "goes on" in caught.value.remedy
    assert not out.exists()
    dump.write_bytes(whole)
    report = build_snapshot(dump, out)
    assert report.entities == 2000
    if pack is gzip.compress:
        assert report.resumed_at > 0


def many(number: int) -> bytes:
    """Return a dump of made-up entries."""
    rows = (
        json.dumps({"id": f"Q{n}", "labels": {"en": {"value": f"name {n * 7919 % 1000} of {n}"}}})
        for n in range(1, number + 1)
    )
    return ("[\n" + ",\n".join(rows) + "\n]\n").encode()


def damaged(packed: bytes) -> bytes:
    return packed[:-2000] + bytes(1000) + packed[-1000:]


def test_a_plain_dump_without_its_end_is_used_and_told(dump: Path, tmp_path: Path) -> None:
    dump.write_bytes(b"\n".join(dump.read_bytes().splitlines()[:5]))
    report = build_snapshot(dump, tmp_path / "out.sqlite")
    assert report.cut_off
    assert report.entities == 4


def test_a_build_stopped_anywhere_goes_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theworld.wikidata.build.BATCH", 50)
    dump = tmp_path / "dump.json.gz"
    dump.write_bytes(gzip.compress(many(400)))
    build_snapshot(dump, tmp_path / "once.sqlite")
    out = tmp_path / "stopped.sqlite"
    stops = 0
    for steps in range(1, 40):
        left = iter(range(steps % 3 + 1))

        def stop(part: str, done: int, total: int, left: Any = left) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        try:
            report = build_snapshot(dump, out, progress=stop)
        except KeyboardInterrupt:
            stops += 1
            assert not out.exists()
            continue
        break
    assert stops >= 5
    assert report.entities == 400
    assert content(out) == content(tmp_path / "once.sqlite")


@pytest.mark.slow
def test_a_killed_build_goes_on(tmp_path: Path) -> None:
    dump, out = tmp_path / "dump.json", tmp_path / "out.sqlite"
    dump.write_bytes(many(60_000))
    command = ["-c", "from theworld.cli import main; main()", "wikidata", "build", str(dump), "--out", str(out)]
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    partial = tmp_path / "out.sqlite.partial"
    patience = time.monotonic() + 60
    while time.monotonic() < patience and not (partial.exists() and partial.stat().st_size > 500_000):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not out.exists()
    report = build_snapshot(dump, out)
    assert report.resumed_at > 0
    assert report.entities == 60_000
    build_snapshot(dump, tmp_path / "once.sqlite")
    assert content(out) == content(tmp_path / "once.sqlite")


def begin(dump: Path, out: Path, **options: Any) -> None:
    """Begin a build and stop it."""

    def stop(part: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_snapshot(dump, out, progress=stop, **options)


def test_another_dump_than_the_one_begun_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theworld.wikidata.build.BATCH", 50)
    dump, out = tmp_path / "dump.json", tmp_path / "out.sqlite"
    dump.write_bytes(many(200))
    begin(dump, out)
    dump.write_bytes(many(300).replace(b"name", b"Name"))
    with pytest.raises(IngestionError, match="line 50 differs"):
        build_snapshot(dump, out)
    dump.write_bytes(many(2))
    with pytest.raises(IngestionError, match="line 50 differs"):
        build_snapshot(dump, out)


def test_other_options_than_those_begun_are_refused(dump: Path, tmp_path: Path) -> None:
    begin(dump, tmp_path / "out.sqlite")
    with pytest.raises(StoreError, match="other options"):
        build_snapshot(dump, tmp_path / "out.sqlite", min_sitelinks=3)


def test_a_file_is_only_replaced_when_asked(dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.sqlite"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match="exists"):
        build_snapshot(dump, out)
    assert out.read_text(encoding="utf-8") == "mine"
    build_snapshot(dump, out, replace=True)
    with Snapshot(out) as snapshot:
        assert snapshot.about["entities"] == "13"


def test_a_folder_is_not_replaced_and_one_that_cannot_be_is_told(dump: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="this is a folder"):
        build_snapshot(dump, tmp_path, replace=True)
    assert not tmp_path.with_name(tmp_path.name + ".partial").exists()
    with pytest.raises(StoreError, match="cannot be written: File exists"):
        build_snapshot(dump, dump / "out.sqlite")


def test_two_builds_of_one_file_are_refused(dump: Path, tmp_path: Path) -> None:
    def again(part: str, done: int, total: int) -> None:
        with pytest.raises(StoreLockedError, match="another process"):
            build_snapshot(dump, tmp_path / "out.sqlite")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_snapshot(dump, tmp_path / "out.sqlite", progress=again)


@pytest.mark.parametrize("text", ["", "hello\nworld\n", "[\n]\n", '{"a": 1}', "[{},\n{}]"])
def test_what_is_no_dump_is_told(tmp_path: Path, text: str) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(text, encoding="utf-8")
    with pytest.raises(IngestionError, match="no entry of Wikidata") as caught:
        build_snapshot(dump, tmp_path / "out.sqlite")
    assert caught.value.where == str(dump)
    assert not (tmp_path / "out.sqlite").exists()


def test_a_missing_dump_is_told_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(IngestionError, match="No such file"):
        build_snapshot(tmp_path / "none.json", tmp_path / "new" / "out.sqlite")
    with pytest.raises(IngestionError, match="Is a directory"):
        build_snapshot(tmp_path, tmp_path / "new" / "out.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names on this system")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    with pytest.raises(IngestionError, match="is a pipe"):
        build_snapshot(pipe, tmp_path / "out.sqlite")
    os.close(writer)


def test_another_dump_is_refused_also_when_only_the_index_is_left(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(item: object) -> list[str]:
        raise KeyboardInterrupt

    out, other = tmp_path / "out.sqlite", tmp_path / "other.json"
    with monkeypatch.context() as patch:
        patch.setattr("theworld.wikidata.build.words", stop)
        with pytest.raises(KeyboardInterrupt):
            build_snapshot(dump, out)
    other.write_bytes(dump.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(StoreError, match="another dump") as caught:
        build_snapshot(other, out)
    assert "delete the .partial file" in caught.value.remedy
    build_snapshot(dump, out)
    whole = tmp_path / "whole.sqlite"
    build_snapshot(dump, whole)
    assert content(out) == content(whole)


def test_a_damaged_partial_file_is_told(dump: Path, tmp_path: Path) -> None:
    (tmp_path / "out.sqlite.partial").write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreError, match="damaged") as caught:
        build_snapshot(dump, tmp_path / "out.sqlite")
    assert "Delete it" in caught.value.remedy
