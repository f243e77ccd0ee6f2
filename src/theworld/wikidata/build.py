"""A dump becomes a snapshot: entries first, then their names in order of how well known they are.

A dump is one JSON array with one entity a line (`[`, lines ending in a comma, `]`), plain, gzip or bzip2; lines without
array are read too. It is read from any position, in bounded memory.

Every step is committed with the position it reached, so that a killed run goes on where it was. The file gets its
name only when it is whole; until then it is `FILE.partial`.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from theworld.errors import IngestionError, StoreError, StoreLockedError
from theworld.text.identity import key_of
from theworld.wikidata.items import Item, read_item
from theworld.wikidata.snapshot_file import APPLICATION_ID, LICENSE, SCHEMA, SOURCE, VERSION, decode, encode, words

BATCH = 5_000
"""Lines, or entries, per commit."""
BATCH_BYTES = 16 * 2**20
"""Bytes of lines per commit, whichever comes first."""
MAX_LINE = 64 * 2**20
"""Bytes of a line that is read; the longest entities are a few megabytes."""
BAD_LINES_KEPT = 20
CACHE_KB = 32_000
"""Memory SQLite may use for pages."""
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"

_RANKED = "SELECT rank, qid, sitelinks, data FROM ranked JOIN entity USING (qid) WHERE rank > ? ORDER BY rank LIMIT ?"
Progress = Callable[[str, int, int], None]
"""Called with the part ("read" in bytes, "index" in entries), how much is done, and of how much."""


@dataclass
class BuildReport:
    """What a build did, over all its runs."""

    entities: int = 0
    """Lines that became entries."""
    left_out: int = 0
    """Lines passed over: properties, entries without a name, entries with too few sitelinks."""
    bad: int = 0
    """Lines that could not be read."""
    bad_lines: list[tuple[int, str]] = field(default_factory=list)
    """The first of them: line number and what is wrong."""
    opened: bool = False
    """Whether the array of the dump began."""
    closed: bool = False
    """Whether it ended; if it began and did not end, the dump is only a part."""
    resumed_at: int = 0
    """Line at which this run went on; 0: it began anew."""
    seconds: float = 0.0
    """Of this run."""

    @property
    def cut_off(self) -> bool:
        """Whether the dump lacks its end."""
        return self.opened and not self.closed


def build_snapshot(
    dump: Path, out: Path, *, min_sitelinks: int = 0, replace: bool = False, progress: Progress | None = None
) -> BuildReport:
    """Write the snapshot of a dump to `out`, going on where a stopped run was.

    Raises IngestionError for a dump that is missing, damaged or holds no entry; StoreError when `out` exists (unless
    `replace`) or cannot be written; StoreLockedError when another process writes it.
    """
    began = time.perf_counter()
    if out.is_dir():
        raise StoreError("this is a folder.", where=str(out), remedy="Name the file to write in it.")
    if out.exists() and not replace:
        raise StoreError("the file exists.", where=str(out), remedy="Choose another name or give --replace.")
    partial = out.with_name(out.name + ".partial")
    with closing(Dump(dump)) as source, _named_errors(partial):
        out.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(partial, timeout=0.5)) as connection:
            for pragma in ("locking_mode = EXCLUSIVE", f"cache_size = -{CACHE_KB}", "temp_store = FILE"):
                connection.execute(f"PRAGMA {pragma}")
            connection.executescript(f"PRAGMA application_id = {APPLICATION_ID}; {SCHEMA}")
            building = _Building(connection, progress or (lambda _part, _done, _total: None))
            report = building.run(source, {"min_sitelinks": min_sitelinks, "version": VERSION}, dump)
        os.replace(partial, out)
    report.seconds = time.perf_counter() - began
    return report


class _Building:
    """One run over one partial file."""

    def __init__(self, connection: sqlite3.Connection, progress: Progress) -> None:
        self._db, self._progress = connection, progress

    def run(self, source: Dump, options: dict[str, int], dump: Path) -> BuildReport:
        begun = self._meta("options")
        if begun is not None and json.loads(begun) != options:
            raise StoreError(
                f"a build with other options ({begun}) was begun.",
                where=f"{dump}",
                remedy="Give the same options, or delete the .partial file to begin anew.",
            )
        report = BuildReport(**json.loads(self._meta("report") or "{}"))
        report.bad_lines = [(line, why) for line, why in report.bad_lines]
        if self._meta("read") is None:
            self._read(source, options, report)
            if not self._db.execute("SELECT 1 FROM entity LIMIT 1").fetchone():
                first = f" (line {report.bad_lines[0][0]}: {report.bad_lines[0][1]})" if report.bad_lines else ""
                raise IngestionError(
                    f"no entry of Wikidata was found in it, {report.bad} lines could not be read{first}.",
                    where=str(dump),
                    remedy="It must be a JSON dump with one entity a line: plain, .gz or .bz2.",
                )
            with self._db:
                self._set("source", dump.name)
                self._set("bytes", str(source.size))
                self._db.execute("DELETE FROM ranked")
                self._db.execute("INSERT INTO ranked (qid) SELECT qid FROM entity ORDER BY sitelinks DESC, qid")
                self._set("read", "done")
        elif self._meta("bytes") not in {None, str(source.size)}:
            raise StoreError(
                f"a build of another dump ({self._meta('source')}, {self._meta('bytes')} bytes) was begun.",
                where=f"{dump}",
                remedy="Give the same dump, or delete the .partial file to begin anew.",
            )
        self._index()
        return report

    def _read(self, source: Dump, options: dict[str, int], report: BuildReport) -> None:
        start = Position(**json.loads(self._meta("position") or "{}"))
        report.resumed_at = start.line
        for lines in _batches(source.lines(start)):
            items = [item for line in lines if (item := _item(line, report)) is not None]
            kept = [item for item in items if item.sitelinks >= options["min_sitelinks"] and any(item.names())]
            report.entities += len(kept)
            report.left_out += len(items) - len(kept)
            with self._db:
                rows = ((int(item.id[1:]), item.sitelinks, encode(item)) for item in kept)
                self._db.executemany("INSERT OR REPLACE INTO entity VALUES (?, ?, ?)", rows)
                self._set("options", json.dumps(options))
                self._set("position", json.dumps(asdict(lines[-1].after)))
                self._set("report", json.dumps(asdict(report)))
            self._progress("read", source.raw.tell(), source.size)

    def _index(self) -> None:
        total = self._db.execute("SELECT count(*) FROM ranked").fetchone()[0]
        done = int(self._meta("indexed") or 0)
        while rows := self._db.execute(_RANKED, (done, BATCH)).fetchall():
            done = rows[-1][0]
            with self._db:
                for rank, *stored in rows:
                    item = decode(*stored)
                    labels, keys = set(item.labels.values()), dict[str, int]()
                    for name in item.names():
                        keys.setdefault(key_of(name), int(name not in labels))
                    keys.pop("", None)
                    named = [(key, rank, alias) for key, alias in keys.items()]
                    self._db.executemany("INSERT INTO name VALUES (?, ?, ?)", named)
                    found = " ".join(words(item.names()))
                    self._db.execute("INSERT INTO words (rowid, names) VALUES (?, ?)", (rank, found))
                self._set("indexed", str(done))
            self._progress("index", done, total)
        with self._db:
            self._db.execute("CREATE INDEX IF NOT EXISTS name_key ON name (key, rank, alias)")
            self._set("license", LICENSE)
            self._set("origin", SOURCE)
            self._set("entities", str(total))
            self._db.execute(f"PRAGMA user_version = {VERSION}")

    def _meta(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def _set(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def _batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Yield the lines in batches of bounded number and size; those before an error come before it."""
    batch, size = list[Line](), 0
    try:
        for line in lines:
            batch.append(line)
            size += len(line.content or b"")
            if len(batch) >= BATCH or size >= BATCH_BYTES:
                full, batch, size = batch, [], 0
                yield full
    finally:
        if batch:
            yield batch


def _item(line: Line, report: BuildReport) -> Item | None:
    """Return the entry of a line, and count what the line was."""
    if line.content in {b"", b"[", b"]"}:
        report.opened |= line.content == b"["
        report.closed |= line.content == b"]"
        return None
    try:
        if line.content is None:
            raise ValueError(f"longer than {MAX_LINE // 2**20} MB")
        entity = json.loads(line.content)
        if isinstance(entity, dict) and entity.get("type", "item") != "item":
            report.left_out += 1
            return None
        return read_item(entity)
    except (ValueError, RecursionError) as error:
        report.bad += 1
        if len(report.bad_lines) < BAD_LINES_KEPT:
            report.bad_lines.append((line.after.line, str(error)[:200]))
        return None


@contextmanager
def _named_errors(partial: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the file system into ours."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise StoreLockedError("another process is building this snapshot.", where=str(partial)) from error
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            what, remedy = f"the unfinished snapshot is damaged: {error}.", "Delete it to begin anew."
            raise StoreError(what, where=str(partial), remedy=remedy) from error
        said, file = (error.strerror or error, error.filename) if isinstance(error, OSError) else (error, None)
        raise StoreError(
            f"the snapshot cannot be written: {said}.",
            where=str(file or partial),
            remedy="What was read is kept: fix this and run the same command again.",
        ) from error


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two lines, with what proves that another file is the same up to there."""

    line: int = 0
    """Lines before it."""
    offset: int = 0
    """Bytes before it, after unpacking."""
    length: int = 0
    """Bytes of the line before it."""
    digest: str = ""
    """Digest of that line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a dump."""

    content: bytes | None
    """The line without comma, None when it is longer than `MAX_LINE`."""
    after: Position
    """Where the next line begins."""


class Dump:
    """An open dump, to be closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.raw = path.open("rb")
        except OSError as error:
            raise IngestionError(f"the dump cannot be read: {error.strerror}.", where=str(path)) from error
        if not self.raw.seekable():
            self.raw.close()
            raise IngestionError(
                "the dump is a pipe, from which a stopped build could not go on.",
                where=str(path),
                remedy="Give a file.",
            )
        head = self.raw.read(3)
        self.raw.seek(0)
        self.size = path.stat().st_size
        """Bytes of the file as it is on disk."""
        self._stream: io.BufferedIOBase = self.raw
        if head.startswith(_GZIP):
            self._stream = gzip.GzipFile(fileobj=self.raw)
        elif head.startswith(_BZIP2):
            self._stream = bz2.BZ2File(self.raw)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self.raw.close()

    def lines(self, start: Position) -> Iterator[Line]:
        """Yield the lines from a position of an earlier reading.

        Raises IngestionError when the file is cut off or damaged, or is not the one the position belongs to.
        """
        at = start
        try:
            self._stream.seek(start.offset - start.length)
            before, left = hashlib.sha256(), start.length
            while left and (part := self._stream.read(min(left, 2**20))):
                before.update(part)
                left -= len(part)
            if start.offset and (left or before.hexdigest() != start.digest):
                raise IngestionError(
                    f"this is not the dump that was begun: line {start.line} differs.",
                    where=str(self._path),
                    remedy="Give the same dump, or delete the .partial file to begin anew.",
                )
            while content := self._stream.readline(MAX_LINE + 1):
                size, digest, whole = len(content), hashlib.sha256(content), len(content) <= MAX_LINE
                while not whole and not content.endswith(b"\n") and (content := self._stream.readline(MAX_LINE)):
                    size += len(content)
                    digest.update(content)
                at = Position(at.line + 1, at.offset + size, size, digest.hexdigest())
                yield Line(content.strip().removesuffix(b",") if whole else None, at)
        except (EOFError, OSError, zlib.error) as error:
            raise IngestionError(
                f"the dump is cut off or damaged after line {at.line} ({error}).",
                where=str(self._path),
                remedy="Get it again and run the same command: it goes on from there.",
            ) from error
