"""Which files a path or URL stands for: folders are walked in a fixed order, each file once, links without loops.

Files of a known kind are read, and any others whose first bytes are text; not what a program wrote for a program (lock
files, minified code, source maps), pictures, fonts and keys. A URL (`s3://bucket/folder`, `hdfs://...`, any that fsspec
knows) is walked as a folder is, by way of `UPath`; its files are copied to a temporary folder to be read.

A store is kept in step with folders (`watch`, which needs watchfiles): the operating system's notices only say that
something changed; what, `ingest` finds out by itself (content hashes, and `prune` for files that are gone), so that a
lost notice, a rename or a restart can leave nothing behind. Watching begins before the first run: a file saved
meanwhile is seen. A run that cannot write now, because another process does, is tried again at the next tick. A folder
that is away (unmounted, renamed) is waited for: its documents stay.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import time_ns

from theworld.errors import IngestionError, SettingsError, StoreLockedError, TheWorldError
from theworld.ingestion.readers import READERS
from theworld.ingestion.readers.document import HEAD, is_text
from theworld.ingestion.readers.folder import included
from theworld.ingestion.readers.tables import CORPUS
from theworld.ingestion.report import FailedSource
from theworld.packages import import_package, install_command

NOT_DOCUMENTS = frozenset(
    ".lock .map .sum .svg .eps .ps .png .jpg .jpeg .gif .webp .bmp .ico .tif .tiff .ttf .otf .woff .woff2 .eot .pem "
    ".key .crt .cer .sig".split()
)
"""Endings of what is no document."""
LOCK_FILES = frozenset({"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "packages.lock.json"})
HIDDEN = (".", "~$")
"""What names of hidden files begin with; `~$` is what Word and Excel mark an open file with."""
MINIFIED = (".min.js", ".min.css", ".min.mjs", ".bundle.js")
MINIFIED_LINE = 200
"""Bytes of a line; lines of a script that are longer on average were written by a program."""
INSTALLED = frozenset({"node_modules", "site-packages", "__pycache__", "bower_components"})
"""Folders of what others wrote and a program put there."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be read."""

    path: Path
    """Absolute path as reached from its root (links kept)."""
    id: str
    """Path relative to the root, in POSIX form."""
    walked: int
    """When its folder was walked, in nanoseconds; 0 for a file that was given by itself."""
    size: int
    """Bytes; 0 where that cannot be told."""

    @contextmanager
    def local_copy(self) -> Iterator[tuple[Path, Path]]:
        """Enter the file on a local disk and its root; a remote file is alone in its root, and deleted afterwards."""
        if not is_url(self.path):
            yield self.path, self.path.parents[self.id.count("/")]
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
    included: set[str] = field(default_factory=set)
    """Paths of files that are parts of others."""
    _walked: int = field(default_factory=time_ns)
    _seen: set[tuple[int, int]] = field(default_factory=set)
    """Device and inode of the files and folders met."""

    def walk(self, entry: Path, root: Path) -> None:
        """Take in a file or folder that is met for the first time, and what lies in it."""
        size = 0
        with suppress(OSError):
            status = entry.stat()
            size, identity = status.st_size, (status.st_dev, status.st_ino)
            if status.st_ino and identity in self._seen:  # remote files have none
                return
            self._seen.add(identity)
        if not entry.is_dir():
            place, walked = (entry.relative_to(root).as_posix(), self._walked) if entry != root else (entry.name, 0)
            self.files.append(SourceFile(entry, place, walked, size))
            return
        try:
            inside = sorted(entry.iterdir(), key=lambda one: one.name)
        except OSError as error:
            self.failed.append(FailedSource(str(entry), f"the folder cannot be read: {error.strerror or error}"))
            return
        for one in inside:
            if one.name.startswith(HIDDEN):
                continue
            if not one.name.isprintable():  # surrogates, which stand for bytes that are no text, are not either
                name = os.fsencode(one).decode("utf-8", "backslashreplace")
                self.failed.append(FailedSource(name, "its name has characters that cannot be shown: rename it"))
            elif not one.exists():
                self.failed.append(FailedSource(str(one), "this link leads nowhere"))
            elif one.is_dir() and one.name in INSTALLED:
                self.skipped[f"{one.name}/"] += 1
            elif is_generated(one):
                self.skipped[f"{one.suffix.lower()} (generated)"] += 1
            elif one.is_dir() or is_document(one):
                self.walk(one, root)
            else:
                self.skipped[one.suffix.lower()] += 1


def is_document(path: Path) -> bool:
    """Return whether a file is read: its kind is known, or it begins with text, and it is nothing of the above.

    Beside a corpus in the BEIR layout, other JSON lines and tables are its questions and relevance marks.
    """
    name, ending, folder = path.name.lower(), path.suffix.lower(), path.parent
    if ending in NOT_DOCUMENTS or name in LOCK_FILES or name.endswith(MINIFIED):
        return False
    if ending in {".jsonl", ".tsv"} and path.name != CORPUS:
        marks = folder.name == "qrels" and (folder.parent / CORPUS).exists()
        if marks or (folder / CORPUS).exists():
            return False
    return ending in READERS or is_text(path)


def is_generated(path: Path) -> bool:
    """Return whether a script or style sheet was made for browsers only: a person breaks lines."""
    head = b""
    if path.suffix.lower() in {".js", ".mjs", ".css"} and path.is_file():
        with suppress(OSError), path.open("rb") as file:
            head = file.read(HEAD)
    return len(head) > MINIFIED_LINE * (1 + head.count(b"\n"))


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
    found = Sources()
    for root in roots:
        found.walk(root, root)
        if not is_url(root):  # what RST files below a folder include is a part of them
            below = [file.path for file in found.files if file.walked and file.path.is_relative_to(root)]
            parts = included(below, root)
            found.included |= set(map(str, parts))
            found.skipped.update(f"{path.suffix.lower()} (included)" for path in parts)
            found.files = [file for file in found.files if file.path not in parts]
    return found


def root_of(path: Path) -> Path:
    """Return a given path as an absolute one; raises IngestionError when there is nothing. URLs are absolute."""
    root = path if is_url(path) else Path(os.path.abspath(path.expanduser()))
    if not root.exists():
        raise IngestionError("there is no such file or folder", where=str(path), remedy="Check the spelling.")
    return root


TICK_MS = 2_000
"""How often it is looked whether a postponed run is due, and whether to stop."""
BURST_MS = 1_600
"""Changes closer together than this are one burst: an editor saves a file in several steps."""


def check_watchable(folders: Sequence[Path]) -> None:
    """Raise SettingsError when watchfiles is missing or one of them is no folder."""
    if find_spec("watchfiles") is None:
        remedy = f"Install it: {install_command('watch')}"
        raise SettingsError("watching needs the package watchfiles", where="watch", remedy=remedy)
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError("there is no such folder", where=str(folder), remedy="Name a folder to watch.")


Identity = tuple[int, int] | None
"""Device and inode of a folder; None while it is away."""


def watch(
    folders: Sequence[Path],
    bring_up_to_date: Callable[[], None],
    *,
    store: Path,
    stop: threading.Event,
    on_busy: Callable[[TheWorldError], None],
) -> None:
    """Call `bring_up_to_date` at once and after every burst of changes below the folders, until `stop` is set.

    While one of the folders is away nothing is called, so that its documents are not taken for deleted: `on_busy` gets
    an IngestionError once, and all goes on when the folder is back. Files of the store, hidden ones and those of
    installed packages wake nobody. Raises what `check_watchable` and `bring_up_to_date` raise, but for
    StoreLockedError, which goes to `on_busy`.
    """
    check_watchable(folders)
    known = {folder: _identity(folder) for folder in folders}
    said: list[Path] = []
    while not stop.is_set():
        away = [folder for folder in folders if _is_away(folder, known[folder])]
        if not away:
            known = {folder: _identity(folder) for folder in folders}
            try:
                _follow(folders, bring_up_to_date, store=store, stop=stop, on_busy=on_busy)
            except (IngestionError, FileNotFoundError):  # it went while it was read
                if not any(_is_away(folder, known[folder]) for folder in folders):
                    raise
        elif away != said:
            remedy = "Its documents stay as they are; watching goes on when it is back."
            on_busy(IngestionError("this watched folder is away.", where=", ".join(map(str, away)), remedy=remedy))
        said = away
        stop.wait(TICK_MS / 1000 if away else 0)


def _follow(
    folders: Sequence[Path],
    bring_up_to_date: Callable[[], None],
    *,
    store: Path,
    stop: threading.Event,
    on_busy: Callable[[TheWorldError], None],
) -> None:
    """Watch the folders until `stop` is set, or one of them is no longer the one that the system's notices are of."""
    import watchfiles

    inside, roots = store.resolve(), [folder.resolve() for folder in folders]

    def concerns(_change: watchfiles.Change, path: str) -> bool:
        place = Path(path)
        if place.is_relative_to(inside):
            return False
        below = next((place.relative_to(root).parts for root in roots if place.is_relative_to(root)), place.parts)
        return not any(part.startswith(HIDDEN) or part in INSTALLED for part in below)

    watched = [_identity(folder) for folder in folders]
    due = True
    bursts = watchfiles.watch(
        *roots,
        watch_filter=concerns,
        debounce=BURST_MS,
        rust_timeout=TICK_MS,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=True,
    )
    for changes in bursts:
        if [_identity(folder) for folder in folders] != watched:
            return
        if changes or due:
            try:
                bring_up_to_date()
                due = False
            except StoreLockedError as error:
                due = True
                on_busy(error)


def _identity(folder: Path) -> Identity:
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if folder.is_dir() else None


def _is_away(folder: Path, known: Identity) -> bool:
    """Return whether a folder is gone, or another one stands in its place and is empty: where a disk was mounted."""
    try:
        return (found := _identity(folder)) is None or (found != known and not any(folder.iterdir()))
    except OSError:
        return True
