"""Opening the folder of a store: lock, ledger and projections, and what a writer that died left to be done."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from theworld.errors import StoreError
from theworld.stores.ledger import Ledger
from theworld.stores.projections import Engines, Projections
from theworld.stores.store_folder import WriterLock, check_folder, follow, follows

_LOG = logging.getLogger(__name__)
_LONGEST_FEEDING_S = 10.0


@dataclass
class OpenFolder:
    """The folder of a store, in use."""

    path: Path
    engines: Engines
    ledger: Ledger
    projections: Projections
    lock: WriterLock | None
    """None: opened for reading."""

    def release(self) -> None:
        """Let go of files, clients and lock, of each even where another cannot be closed as it should."""
        with ExitStack() as stack:
            if self.lock is not None:
                stack.callback(self.lock.release)
            stack.callback(self.ledger.close)
            stack.callback(self.projections.close)


def open_folder(
    path: Path, engines: Engines, *, create: bool = False, writable: bool = False, in_turn: bool = False
) -> OpenFolder:
    """Open a store's folder; its projections may still lag. For errors see KnowledgeStore.open.

    `in_turn` waits for whoever feeds a folder whose ledger has writers elsewhere, which is soon done.
    """
    check_folder(path, create=create, has_ledger=engines.ledger.url is None)
    with ExitStack() as stack:
        lock = WriterLock(path) if writable else None
        if lock is not None:
            lock.acquire(wait_s=_LONGEST_FEEDING_S if in_turn and engines.ledger.url is not None else 0.0)
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
        follow(path, ledger, writable=writable)
    try:
        projections = Projections(path, ledger, engines, writable=writable)
    except StoreError:  # a reader found damaged files: whoever may write builds them anew
        if writable or not recover(path, engines):
            raise
        projections = Projections(path, ledger, engines, writable=writable)
    if writable:
        return projections
    with ExitStack() as stack:
        stack.callback(projections.close)
        if not projections.behind():
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
        opened = open_folder(path, engines, writable=True)
        try:
            with collection_paused():
                opened.projections.catch_up(opened.ledger.sequence())
        finally:
            opened.release()
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
