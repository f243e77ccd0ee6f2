"""A store: the ledger and its projections in one folder, kept congruent."""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from theworld.errors import ModelMismatchError, StoreError
from theworld.settings import Settings
from theworld.state import Mention
from theworld.stores import dense, graph, sparse
from theworld.stores.engines import Engines
from theworld.stores.files import bytes_under
from theworld.stores.following import Follower
from theworld.stores.ledger import Ledger, NoteParts
from theworld.stores.ledger.copying import copy_ledger
from theworld.stores.ledger.graph_rows import GraphEdgeRecord, GraphNodeRecord
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.ledger.opening import open_database
from theworld.stores.ontology_links import OntologyLinks
from theworld.stores.protocols import NoteChange
from theworld.stores.records import DocumentRecord, StoredNote
from theworld.stores.store_folder import check_folder, follow, follows, remember
from theworld.stores.verifying import Sum, Verifiable
from theworld.stores.writer_lock import WriterLock

Progress = Callable[[int, int], None]
"""Called with (changes applied, changes in all)."""

_LOG = logging.getLogger(__name__)
_CACHED_NOTES = 20_000
_REBUILD = "{} It is built anew once the store can be written to: run `theworld sync --store {}`."
_LONGEST_FEEDING_S = 10.0
_MOST_REPLACED = 0.2
"""Share of replaced notes in the sparse index at which it is built anew."""


class KnowledgeStore:
    """The ledger of one folder and its three projections, each embedded in the folder or on a server.

    One writer and any number of readers, also in other processes; thread-safe. What was put is found by searches after
    `catch_up` (which `refresh`, `close` and the next `open` also do for a writer).
    """

    def __init__(
        self,
        path: Path,
        ledger: Ledger,
        lock: WriterLock | None,
        ranking: graph.RankingParameters | None,
        engines: Engines,
    ) -> None:
        """Use `open` instead."""
        self.path, self.ledger, self._lock = path, ledger, lock
        self._engines = engines
        remote = engines.remote()
        identity = ledger.identity() if remote else ""
        writable = lock is not None
        self.sparse = engines.open_sparse(path, identity, writable=writable)
        self.dense = engines.open_dense(path, identity, writable=writable)
        self.graph = engines.open_graph(path, identity, ranking, writable=writable)
        far = {name: name in remote for name in ("sparse", "dense", "graph")}
        self._followers = (
            Follower(
                "sparse",
                self.sparse,
                NoteParts(mentions=False, vectors=False),
                2000 if far["sparse"] else 8192,
                remote=far["sparse"],
            ),
            Follower("dense", self.dense, NoteParts(text=False, mentions=False), 4096, remote=far["dense"]),
            Follower(
                "graph",
                self.graph,
                NoteParts(text=False, vectors=False),
                1000 if far["graph"] else 5000,
                durable=far["graph"] or not engines.graph_in_memory,
                remote=far["graph"],
            ),
            Follower("ontology", OntologyLinks(self.ledger), NoteParts(mentions=False, vectors=False), 2000),
        )
        self.troubles: Mapping[str, str] = {}
        """Why a projection on a server was left behind by the last `catch_up`, by name; empty when none was."""
        self.spent: dict[str, float] = {follower.name: 0.0 for follower in self._followers}
        """Seconds that bringing each projection up to date has taken since the store was opened."""
        self._writing = threading.RLock()
        self._refreshing = threading.Lock()
        self._notes: dict[tuple[str, str], StoredNote] = {}
        self._seen = -1
        self._lagging = False
        self._feeding: threading.Thread | None = None

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        create: bool = False,
        read_only: bool = True,
        ranking: graph.RankingParameters | None = None,
        engines: Engines | None = None,
        durable_only: bool = False,
    ) -> Self:
        """Open a store for reading, or for writing with `read_only=False`; `create` makes it and implies writing.

        Projections that lag behind the ledger, after a crash for instance, are brought up to date; one on a server that
        cannot be reached is left behind, and `troubles` says why. Raises StoreError
        when there is no store or it is damaged, StoreVersionError when it is newer than this program, StoreLockedError
        when another process is writing. With `durable_only` projections in memory are left empty.
        """
        folder, writable = Path(path), create or not read_only
        engines = engines or Engines()
        check_folder(folder, create=create, has_ledger=engines.ledger.url is None)
        lock = WriterLock(folder) if writable else None
        if lock is not None:
            # Whoever feeds a folder whose ledger has writers elsewhere is soon done.
            lock.acquire(wait_s=_LONGEST_FEEDING_S if engines.ledger.url is not None and not durable_only else 0)
        try:
            return cls._opened(folder, create, lock, ranking, engines, durable_only=durable_only)
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    @classmethod
    def _opened(
        cls,
        folder: Path,
        create: bool,
        lock: WriterLock | None,
        ranking: graph.RankingParameters | None,
        engines: Engines,
        *,
        durable_only: bool,
    ) -> Self:
        ledger = Ledger.open(folder, engines.ledger, create=create, writable=lock is not None)
        try:
            if not follows(folder, ledger) and (lock is not None or not _recovered(folder, engines)):
                follow(folder, ledger, writable=lock is not None)
            store = cls(folder, ledger, lock, ranking, engines)
            if lock is None and store._behind():
                if not _recovered(folder, engines):
                    engines = store._with_graph_in_memory(engines)
                store._close_projections()
                store = cls(folder, ledger, lock, ranking, engines)
            with _collection_paused():
                store.catch_up(durable_only=durable_only)
        except BaseException:
            ledger.close()
            raise
        return store

    def _behind(self) -> bool:
        last = self.ledger.sequence()
        here = (follower for follower in self._followers if follower.durable and not follower.remote)
        return any(follower.projection.applied != last for follower in here)

    def _with_graph_in_memory(self, engines: Engines) -> Engines:
        """Return the engines for a folder that cannot be written: without its file the graph is built in memory."""
        if (
            engines.graph.url is not None
            or os.access(self.path, os.W_OK)
            or self.graph.applied == self.ledger.sequence()
        ):
            return engines
        _LOG.warning(
            "the graph of %s is missing or behind, and the folder cannot be written: it is built in memory, by every "
            "process anew, until a user who may write there runs `theworld sync`",
            self.path,
        )
        return replace(engines, graph_in_memory=True)

    @property
    def read_only(self) -> bool:
        """Whether the store was opened for reading only."""
        return self._lock is None

    def _check_writable(self) -> None:
        if self._lock is None:
            raise StoreError(
                "the store was opened for reading.", where=str(self.path), remedy="Open it with read_only=False."
            )

    def put(self, documents: Sequence[DocumentRecord]) -> int:
        """Write documents in one transaction, each replaced as a whole; return how many were new or changed.

        A document whose content hash is the stored one is left as it is.
        """
        self._check_writable()
        with self._writing:
            changed = self.ledger.put(documents)
            self._notes = {}
            return changed

    def delete(self, document_ids: Sequence[str], *, tenant: str) -> int:
        """Delete documents with all that hangs on them in one transaction; return how many there were."""
        self._check_writable()
        with self._writing:
            removed = self.ledger.delete(document_ids, tenant=tenant)
            self._notes = {}
            return removed

    def set_mentions(self, tenant: str, mentions: Mapping[str, Sequence[Mention]]) -> int:
        """Replace the mentions of notes, leaving text and vectors; return how many of the notes were known."""
        self._check_writable()
        with self._writing:
            changed = self.ledger.set_mentions(tenant, mentions)
            self._notes = {}
            return changed

    def put_graph(self, tenant: str, nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord]) -> None:
        """Put an ontology's graph in place of the tenant's old one; the next `catch_up` links the notes to it."""
        self._check_writable()
        with self._writing:
            self.ledger.graph.replace(tenant, nodes, edges)

    def document_hashes(self, tenant: str) -> dict[str, str]:
        """Return the content hash by document id."""
        return self.ledger.document_hashes(tenant)

    def titles(self, tenant: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return (document id, title, aliases), ordered by document id."""
        return self.ledger.titles(tenant)

    def known_names(self, tenant: str) -> dict[str, tuple[str, str, int]]:
        """Return (label, type, number of notes naming it) by entity key, titles and aliases included."""
        return self.ledger.known_names(tenant)

    def iter_notes(self, tenant: str) -> Iterator[StoredNote]:
        """Yield all notes in the order they were written."""
        return self.ledger.iter_notes(tenant)

    def notes(self, ids: Sequence[str], *, tenant: str) -> list[StoredNote]:
        """Return notes in the order asked for, unknown ones left out; those read once are kept in memory."""
        cache = self._notes
        missing = [id_ for id_ in ids if (tenant, id_) not in cache]
        if missing:
            read = self.ledger.notes(missing, tenant=tenant)
            if len(cache) + len(read) > _CACHED_NOTES:
                self._notes = cache = {key: cache[key] for id_ in ids if (key := (tenant, id_)) in cache}
            cache.update(((tenant, id_), note) for id_, note in read.items())
        return [cache[tenant, id_] for id_ in ids if (tenant, id_) in cache]

    def remembered(self, ids: Sequence[str], *, tenant: str) -> list[StoredNote]:
        """Return those of the notes that are in memory: what is left when the ledger cannot be asked."""
        cache = self._notes
        return [cache[tenant, id_] for id_ in ids if (tenant, id_) in cache]

    def catch_up(self, progress: Progress | None = None, *, durable_only: bool = False) -> None:
        """Let the projections apply what they have not seen; a reader only looks at what the writer has applied.

        With `durable_only` those in memory are left as they are.

        One on a server that cannot be reached, or refuses, is left behind: `troubles` says why.
        """
        with self._writing:
            last = self.ledger.sequence()
            for follower in self._followers:
                if follower.remote or self._lock is None:
                    follower.projection.refresh()
            followers = [f for f in self._followers if self._lock is not None or not f.durable]
            followers = [f for f in followers if f.durable or not durable_only]
            lags = {follower.name: follower.lag(last) for follower in followers}
            total = sum(last if lag is not None and lag < 0 else lag or 0 for lag in lags.values())
            done = 0
            troubles: dict[str, str] = {}
            for follower in followers:
                begun = perf_counter()
                try:
                    for applied in follower.feed(self.ledger, last):
                        done += applied
                        if progress is not None:
                            progress(min(done, total), total)
                except StoreError as error:
                    if not follower.remote:
                        raise
                    troubles[follower.name] = str(error)
                self.spent[follower.name] += perf_counter() - begun
            troubles |= {f.name: _REBUILD.format(f.outdated, self.path) for f in self._followers if f.outdated}
            self._renew_sparse(last)
            self._notes = {}
            self.troubles = troubles
            self._seen, self._lagging = last, self._behind() if self._lock is None else bool(troubles)

    def _renew_sparse(self, last: int) -> None:
        """Build the sparse index anew when too many replaced notes distort its document frequencies."""
        # A server merges its segments by itself.
        if self._lock is None or not isinstance(self.sparse, sparse.TantivySparse):
            return
        if self.sparse.replaced <= _MOST_REPLACED:
            return
        follower = next(follower for follower in self._followers if follower.projection is self.sparse)
        self.sparse.renew(self._all_changes(follower, last), last)

    def _all_changes(self, follower: Follower, last: int) -> Iterator[NoteChange]:
        after = 0
        while after < last:
            changes, after = self.ledger.changes(after, follower.batch, follower.parts)
            yield from changes

    def refresh(self) -> None:
        """See what was written since the last look; cheap when nothing was (call it at the start of every query).

        While one thread refreshes, others go on with what they have.
        """
        if self.ledger.sequence() == self._seen and not self._lagging:
            return
        if self._refreshing.acquire(blocking=False):
            try:
                self.catch_up()
                if self._lagging and self._lock is None and self.ledger.remote:
                    self._feed_in_background()
            finally:
                self._refreshing.release()

    def _feed_in_background(self) -> None:
        """Bring the projections in the folder up to date: writers on other machines feed only their own."""
        if self._feeding is None or not self._feeding.is_alive():
            work = (self.path, self._engines)
            self._feeding = threading.Thread(target=_recovered, args=work, name="feed projections", daemon=True)
            self._feeding.start()

    def rebuild(self, name: str) -> None:
        """Empty a projection (`sparse`, `dense` or `graph`), so that the next `catch_up` builds it anew."""
        self._check_writable()
        with self._writing:
            next(follower for follower in self._followers if follower.name == name).projection.clear()

    def verify(self) -> dict[str, tuple[Sum, Sum]]:
        """Return for each projection on a server what the ledger holds and what the server holds; equal when right.

        Raises EngineUnavailableError when a server cannot be asked.
        """
        last = self.ledger.sequence()
        found: dict[str, tuple[Sum, Sum]] = {}
        for follower in self._followers:
            projection = follower.projection
            if follower.remote and isinstance(projection, Verifiable):
                bare = replace(follower, parts=NoteParts(text=False, mentions=False, vectors=False))
                changes = (change for change in self._all_changes(bare, last) if change.note is not None)
                expected = Sum.of((projection.key_of(change), change.sequence) for change in changes)
                found[follower.name] = expected, Sum.of(projection.held())
        return found

    def check_embedders(self, spaces: Mapping[str, str]) -> None:
        """Raise ModelMismatchError when notes of a language (key) have vectors, but none in the space named for it."""
        for language, space in spaces.items():
            other = self.ledger.other_spaces(language, space)
            if other:
                found = ", ".join(f"{count} notes in {name!r}" for name, count in other.items())
                raise ModelMismatchError(
                    f"the vectors for language {language!r} were made by another model: {found}, none in {space!r}.",
                    where=str(self.path),
                    remedy=f"Configure that model, or run `theworld ingest PATH --store {self.path} --reembed`.",
                )

    def info(self) -> dict[str, Any]:
        """Return counts by tenant, bytes on disk, versions, the sequence number and each projection's lag."""
        last = self.ledger.sequence()
        tenants = {
            tenant: {
                "documents": counts["documents"]["all"],
                "notes": sum(counts["languages"].values()),
                "languages": counts["languages"],
                "spaces": counts["spaces"],
            }
            for tenant, counts in sorted(self.ledger.counts().items())
        }
        size = {name: bytes_under(self.path / name) for name in ("sparse", "dense", "graph")}
        size["ledger"] = self.ledger.bytes()
        return {
            "path": str(self.path),
            "tenants": tenants,
            "bytes": size,
            "versions": {
                "schema": SCHEMA_VERSION,
                "sparse": sparse.FORMAT,
                "dense": dense.FORMAT,
                "graph": graph.FORMAT,
            },
            "sequence": last,
            "lag": {follower.name: follower.lag(last) for follower in self._followers},
            "read_only": self.read_only,
        }

    def close(self) -> None:
        """Bring the projections up to date (as a writer) and let go of files and lock."""
        try:
            if self._lock is not None:
                self.catch_up()
        finally:
            self._release()

    def _release(self) -> None:
        if self._feeding is not None:
            self._feeding.join()
        self._close_projections()
        self.ledger.close()
        if self._lock is not None:
            self._lock.release()

    def _close_projections(self) -> None:
        for follower in self._followers:
            follower.projection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._release()


def open_store(settings: Settings, *, create: bool = False, read_only: bool = True) -> KnowledgeStore:
    """Open the store that the settings name, with the servers they name; see KnowledgeStore.open."""
    return KnowledgeStore.open(settings.store, create=create, read_only=read_only, engines=Engines.of(settings))


def move_ledger(settings: Settings, progress: Progress | None = None) -> int:
    """Copy the ledger in the store's folder to the server that the settings name; return the number of rows.

    The projections of the folder go on where they are. Raises StoreError when the folder has no ledger or the server's
    has documents, StoreLockedError while another process writes.
    """
    check_folder(settings.store, create=False)
    lock = WriterLock(settings.store)
    lock.acquire()
    try:
        with (
            closing(open_database(settings.store, writable=True)) as source,
            closing(open_database(settings.store, settings.ledger, create=True)) as target,
        ):
            Ledger(source).identity()
            rows = copy_ledger(source, target, progress)
            remember(settings.store, Ledger(target))
            return rows
    finally:
        lock.release()


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Pause the collector of cyclic garbage: reading many small objects, it takes half of the time of opening."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _recovered(folder: Path, engines: Engines) -> bool:
    """Do what is left to do for the projections in the folder; False when a writer is at work or it cannot be written.

    A writer that died left it undone, or writers on other machines feed only their own folders.
    """
    try:
        KnowledgeStore.open(folder, read_only=False, engines=engines, durable_only=True)._release()
    except StoreError:
        return False
    return True
