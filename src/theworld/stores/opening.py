"""The folder of a store: whether it is one, which ledger its projections follow, who may write to it; and opening it:
lock, ledger and projections, and what a writer that died left to be done.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from theworld.errors import StoreError, StoreLockedError
from theworld.stores.files import read_json, write_atomically
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.sqlite import FILE_NAME
from theworld.stores.projections import Engines, Projections

FOLLOWED = "ledger.json"
"""Names the ledger that the projections in the folder were made from; none: the file beside them."""
_LOG = logging.getLogger(__name__)
_LONGEST_FEEDING_S = 10.0
"""How long a writer waits for whoever feeds projections, seconds."""
DERIVED = ("sparse", "dense", "graph")
"""Folders of what is made from the ledger."""
_OURS = frozenset({FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", f"{FILE_NAME}-journal", FOLLOWED, *DERIVED})
_LOCKS = frozenset({"writer.lock", "writer.json", "writer.json.new", f"{FOLLOWED}.new"})


def check_folder(path: Path, *, create: bool, has_ledger: bool = True) -> None:
    """Make the folder when `create`; raise StoreError when the path is not a store nor can become one.

    A folder whose ledger lies on a server (not `has_ledger`) holds nothing that could not be made anew, so it is made
    by readers too.
    """
    where = str(path)
    if path.exists() and not path.is_dir():
        raise StoreError("this is a file, not the folder of a store.", where=where, remedy="Name a folder.")
    content = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if FILE_NAME in content or (not has_ledger and FOLLOWED in content):
        return
    if content - _OURS - _LOCKS:
        remedy = "Name an empty or a new folder, or the folder of an existing store."
        raise StoreError("this folder has other content and is not a store.", where=where, remedy=remedy)
    if not create and has_ledger:
        remedy = f"Make one: `theworld ingest PATH --store {path}`."
        raise StoreError("there is no store here.", where=where, remedy=remedy)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)  # what documents say is for their owner
    except OSError as error:
        what = f"the folder of the store cannot be made: {error.strerror}."
        raise StoreError(what, where=where, remedy="Choose another place.") from error


def follows(folder: Path, ledger: Ledger) -> bool:
    """Return whether the projections in the folder were made from this ledger."""
    known = read_json(folder / FOLLOWED)
    return not ledger.remote if known is None else known["identity"] == ledger.identity()


def remember(folder: Path, ledger: Ledger) -> None:
    """Keep the ledger's identity beside the projections that are made from it."""
    write_atomically(folder / FOLLOWED, {"identity": ledger.identity(), "ledger": ledger.where})


class WriterLock:
    """The right to write to a store folder: one writer at a time, across processes; a dead one's lock is free."""

    def __init__(self, folder: Path) -> None:
        self._owner = folder / "writer.json"
        self._where = folder
        self._lock = FileLock(folder / "writer.lock", timeout=0, thread_local=False)
        self.found_dead = False
        """Whether the writer before died: it has left its name."""

    def acquire(self, *, wait_s: float = 0.0, recovering: bool = False) -> None:
        """Take the lock, waiting so long for it; raises StoreLockedError naming the process that has it.

        Who takes it for `recovering` holds it for a short time only, so that writers wait for it in any case.
        """
        try:
            try:
                self._lock.acquire(timeout=wait_s)
            except Timeout:
                if recovering or not self._written().get("recovering"):
                    raise
                self._lock.acquire(timeout=_LONGEST_FEEDING_S)
            self.found_dead = self._owner.exists()
            write_atomically(self._owner, {"pid": os.getpid(), "recovering": recovering})
        except Timeout as error:
            pid = self._written().get("pid")
            what = f"process {pid} is writing to this store." if pid else "another process is writing to this store."
            remedy = "Wait until it has finished (a service takes documents by its API), or end it; reading goes on."
            raise StoreLockedError(what, where=str(self._where), remedy=remedy) from error
        except OSError as error:
            self._lock.release()
            what = f"the store cannot be written to: {error.strerror}."
            remedy = "Make the folder writable, or open the store for reading."
            raise StoreError(what, where=str(self._where), remedy=remedy) from error

    def _written(self) -> dict[str, Any]:
        """Return what the process that has the lock wrote of itself."""
        return read_json(self._owner) or {}

    def release(self) -> None:
        """Give the lock back; harmless when it was not taken."""
        if self._lock.is_locked:
            self._owner.unlink(missing_ok=True)
            self._lock.release()


@dataclass
class OpenFolder:
    """The folder of a store, in use."""

    path: Path
    engines: Engines
    ledger: Ledger
    projections: Projections
    lock: WriterLock | None
    """None: opened for reading."""

    def close(self) -> None:
        """Let go of files, clients and lock, of each even where another cannot be closed as it should."""
        with ExitStack() as stack:
            if self.lock is not None:
                stack.callback(self.lock.release)
            stack.callback(self.ledger.close)
            stack.callback(self.projections.close)


def open_folder(
    path: Path,
    engines: Engines,
    *,
    create: bool = False,
    writable: bool = False,
    recovering: bool = False,
    wait_s: float = 0.0,
) -> OpenFolder:
    """Open a store's folder; its projections may still lag. For errors see KnowledgeStore.open.

    Whoever writes to a folder whose ledger has writers elsewhere only feeds it, and is waited for, unless `recovering`.
    """
    check_folder(path, create=create, has_ledger=engines.ledger.url is None)
    with ExitStack() as stack:
        lock = WriterLock(path) if writable else None
        if lock is not None:
            waits = engines.ledger.url is not None and not recovering
            lock.acquire(wait_s=max(wait_s, _LONGEST_FEEDING_S) if waits else wait_s, recovering=recovering)
            stack.callback(lock.release)
        ledger = stack.enter_context(Ledger.open(path, engines.ledger, create=create, writable=writable))
        if lock is not None and lock.found_dead:
            ledger.database.check()
        projections = _open_projections(path, engines, ledger, writable=writable)
        stack.pop_all()
        return OpenFolder(path, engines, ledger, projections, lock)


def _open_projections(path: Path, engines: Engines, ledger: Ledger, *, writable: bool) -> Projections:
    """Open the projections; those in the folder of a reader that lag are fed first, if this can be done."""
    if not follows(path, ledger) and (writable or not recover(path, engines)):
        if not writable:
            what = "the projections in this folder were made from another ledger."
            remedy = "Run `theworld sync`, which makes them anew, or wait until the process that does it has finished."
            raise StoreError(what, where=str(path), remedy=remedy)
        for name in DERIVED:  # made anew from this ledger
            shutil.rmtree(path / name, ignore_errors=True)
        remember(path, ledger)
    try:
        projections = Projections(path, ledger, engines, writable=writable)
    except StoreError:  # a reader found damaged files: whoever may write builds them anew
        if writable or not recover(path, engines):
            raise
        projections = Projections(path, ledger, engines, writable=writable)
    with ExitStack() as stack:
        stack.callback(projections.close)
        if writable or not projections.behind():
            stack.pop_all()
            return projections
        recovered = recover(path, engines)
        unwritable = engines.graph.url is None and not os.access(path, os.W_OK)
        in_memory = not recovered and unwritable and projections.graph.applied != ledger.sequence()
    if in_memory:
        _LOG.warning(
            "the graph of %s is missing or behind, and the folder cannot be written: it is built in memory, by every "
            "process anew, until a user who may write there runs `theworld sync`",
            path,
        )
    return Projections(path, ledger, engines, writable=False, graph_in_memory=in_memory)


def recover(path: Path, engines: Engines) -> bool:
    """Do what is left to do for the projections in the folder; False when a writer is at work or it cannot be written.

    A writer that died left it undone, or writers on other machines feed only their own folders.
    """
    try:
        with closing(open_folder(path, engines, writable=True, recovering=True)) as opened, collection_paused():
            opened.projections.catch_up(opened.ledger.sequence())
    except StoreError:
        return False
    return True


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the collector of cyclic garbage: reading many small objects, it takes half of the time of opening."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
