"""Which files a path or URL stands for: folders are walked in a fixed order, each file once, links without loops.

A URL (`s3://bucket/folder`, `hdfs://...`, any that fsspec knows) is walked as a folder is, by way of `UPath`; its files
are copied to a temporary folder to be read.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from theworld.errors import IngestionError
from theworld.extras import import_package
from theworld.ingestion.kinds import INSTALLED, is_document
from theworld.ingestion.report import FailedSource


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be read."""

    path: Path
    """Absolute path as reached from its root (links kept)."""
    id: str
    """Path relative to the root, in POSIX form."""

    @property
    def root(self) -> Path:
        """The folder it was found in; a single file's own."""
        return self.path.parents[self.id.count("/")]

    @property
    def size(self) -> int:
        """Bytes; 0 where that cannot be told."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @contextmanager
    def local_copy(self) -> Iterator[tuple[Path, Path]]:
        """Enter the file on a local disk and its root; a remote file is alone in its root, and deleted afterwards."""
        if not is_url(self.path):
            yield self.path, self.root
            return
        with tempfile.TemporaryDirectory(prefix="theworld-") as folder:
            copy = Path(folder) / self.path.name
            try:
                copy.write_bytes(self.path.read_bytes())
            except Exception as error:  # each file system raises its own
                raise IngestionError(f"it cannot be read: {error}", where=str(self.path)) from error
            yield copy, Path(folder)


@dataclass(slots=True)
class Sources:
    """What was found under the given paths."""

    files: list[SourceFile] = field(default_factory=list)
    failed: list[FailedSource] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    """Files that are not read, counted by their ending (lower case, with the dot; "" for none), and folders of
    installed packages by their name with a slash."""


def is_url(path: Path | str) -> bool:
    """Return whether a path or source is a URL, and not a file of this machine."""
    return "://" in str(path)


def as_path(given: Path | str) -> Path:
    """Return a path, of a URL one that behaves like a path.

    Raises ModelError without the extra `remote`, IngestionError for a file system that fsspec does not know or lacks.
    """
    if not is_url(given):
        return Path(given)
    try:
        remote: Path = import_package("upath", extra="remote").UPath(given)
        if not is_url(remote):
            raise ValueError("fsspec knows no file system of this kind")
        remote.exists()
    except (ImportError, ValueError, OSError) as error:
        raise IngestionError(f"there is no way to read it: {error}", where=str(given)) from error
    return remote


def find_sources(paths: Sequence[Path]) -> Sources:
    """Return the files to read. Hidden entries below a folder are passed over, files without text counted.

    Raises IngestionError before anything is read when a path does not exist or none is given.
    """
    if not paths:
        raise IngestionError("no file or folder was given", remedy="Name at least one.")
    roots = [root_of(path) for path in paths]
    found, seen = Sources(), set[tuple[int, int]]()
    for root in roots:
        if root.is_dir():
            _walk(root, root, found, seen)
        elif _is_new(root, seen):
            found.files.append(SourceFile(root, root.name))
    return found


def root_of(path: Path) -> Path:
    """Return a given path as an absolute one; raises IngestionError when there is nothing. URLs are absolute."""
    root = path if is_url(path) else Path(os.path.abspath(path.expanduser()))
    if not root.exists():
        raise IngestionError("there is no such file or folder", where=str(path), remedy="Check the spelling.")
    return root


def _walk(folder: Path, root: Path, found: Sources, seen: set[tuple[int, int]]) -> None:
    if not _is_new(folder, seen):
        return
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        found.failed.append(FailedSource(str(folder), f"the folder cannot be read: {error.strerror or error}"))
        return
    for entry in _readable(entries, found):
        if entry.is_dir():
            _walk(entry, root, found, seen)
        elif _is_new(entry, seen):
            found.files.append(SourceFile(entry, entry.relative_to(root).as_posix()))


def _readable(entries: list[Path], found: Sources) -> Iterator[Path]:
    """Yield folders and files that hold text."""
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if not _has_printable_name(entry):
            name = os.fsencode(entry).decode("utf-8", "backslashreplace")
            found.failed.append(FailedSource(name, "its name has characters that cannot be shown: rename it"))
        elif not entry.exists():
            found.failed.append(FailedSource(str(entry), "this link leads nowhere"))
        elif entry.is_dir() and entry.name in INSTALLED:
            found.skipped[f"{entry.name}/"] += 1
        elif entry.is_dir() or is_document(entry):
            yield entry
        else:
            found.skipped[entry.suffix.lower()] += 1


def _has_printable_name(path: Path) -> bool:
    try:
        path.name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return path.name.isprintable()


def _is_new(path: Path, seen: set[tuple[int, int]]) -> bool:
    """Return whether a file or folder is met for the first time, by device and inode."""
    try:
        status = path.stat()
    except OSError:
        return True
    identity = (status.st_dev, status.st_ino)
    if not status.st_ino:  # remote files have none
        return True
    if identity in seen:
        return False
    seen.add(identity)
    return True
