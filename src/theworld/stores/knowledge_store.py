"""A store: the ledger and its projections in one folder, kept congruent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from theworld.deadline import Deadline
from theworld.errors import ModelMismatchError, StoreClosedError, StoreError
from theworld.settings import Settings
from theworld.state import Mention
from theworld.stores import dense, graph, sparse
from theworld.stores.engine_access import TimeoutGuard
from theworld.stores.files import bytes_under
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.catalog import Catalog
from theworld.stores.ledger.graph_tables import GraphEdgeRecord, GraphNodeRecord
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.opening import OpenFolder, collection_paused, open_folder, recover
from theworld.stores.projections import Engines, Progress
from theworld.stores.records import DocumentRecord, StoredNote

T = TypeVar("T")


class KnowledgeStore(AbstractContextManager["KnowledgeStore"]):
    """The ledger of one folder and its three projections, each embedded in the folder or on a server.

    One writer and any number of readers, also in other processes; thread-safe. What was put is found by searches after
    `catch_up` (which `refresh`, `close` and the next `open` also do for a writer).
    """

    def __init__(self, opened: OpenFolder) -> None:
        """Use `open` instead."""
        self.path, ledger, projections = opened.path, opened.ledger, opened.projections
        self.ledger, self.projections = ledger, projections
        self.sparse, self.dense, self.graph = projections.sparse, projections.dense, projections.graph
        self.read_only = opened.lock is None
        self.document_hashes, self.document_sources = ledger.document_hashes, ledger.document_sources
        self.titles, self.known_names = ledger.titles, ledger.known_names
        self.iter_notes = ledger.iter_notes
        """What of the ledger needs nothing of the projections."""
        catalog = Catalog(ledger.database)
        self.documents, self.document = catalog.documents, catalog.document
        self.surroundings, self.near_names = catalog.surroundings, catalog.near_names
        self.spent: Mapping[str, float] = projections.spent
        """Seconds that bringing each projection up to date has taken since the store was opened."""
        self._opened = opened
        self.troubles: Mapping[str, str] = {}
        """Why a projection on a server is out of date by the last `catch_up`, by name; empty when none was."""
        self._writing = threading.RLock()
        self._refreshing = threading.Lock()
        self._notes = RecentNotes(self.ledger)
        self.remembered, self.verify = self._notes.kept, projections.verify
        self._looks = TimeoutGuard("refresh the store", lambda: self.projections.asked)
        self._reads = TimeoutGuard("read notes", lambda: self.ledger.where)
        self._seen = -1
        self._lagging = False
        self._feeding: threading.Thread | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        create: bool = False,
        read_only: bool = True,
        engines: Engines | None = None,
        wait_s: float = 0.0,
    ) -> Self:
        """Open a store for reading, or for writing with `read_only=False`; `create` makes it and implies writing.

        Another writer is waited for as long as `wait_s`.

        Projections that lag behind the ledger, after a crash for instance, are brought up to date; one on a server that
        cannot be reached stays out of date, and `troubles` says why. Raises StoreError
        when there is no store or it is damaged, StoreVersionError when it is newer than this program, StoreLockedError
        when another process is writing.
        """
        writable = create or not read_only
        opened = open_folder(Path(path), engines or Engines(), create=create, writable=writable, wait_s=wait_s)
        try:
            store = cls(opened)
            with collection_paused():
                store.catch_up()
        except BaseException:
            opened.close()
            raise
        return store

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Enter as the one who changes the store; afterwards notes are read again."""
        if self.read_only:
            remedy = "Open it with read_only=False."
            raise StoreError("the store was opened for reading.", where=str(self.path), remedy=remedy)
        with self._writing:
            yield
            self._notes.forget()

    def put(self, documents: Sequence[DocumentRecord]) -> int:
        """Write documents in one transaction, each replaced as a whole; return how many were new or changed.

        A document whose content hash is the stored one is left as it is.
        """
        with self._changing():
            return self.ledger.put(documents)

    def delete(self, document_ids: Sequence[str], *, tenant: str) -> int:
        """Delete documents with all that hangs on them in one transaction; return how many there were.

        An id that no document has is passed over.
        """
        with self._changing():
            return self.ledger.delete(document_ids, tenant=tenant)

    def set_mentions(self, tenant: str, mentions: Mapping[str, Sequence[Mention]]) -> int:
        """Replace the mentions of notes, leaving text and vectors; return how many of the notes were known."""
        with self._changing():
            return self.ledger.set_mentions(tenant, mentions)

    def put_graph(self, tenant: str, nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord]) -> None:
        """Put an ontology's graph in place of the tenant's old one; the next `catch_up` links the notes to it."""
        with self._changing():
            self.ledger.graph.replace(tenant, nodes, edges)

    def notes(
        self, ids: Sequence[str], *, tenant: str, mentions: bool = True, within: Deadline | None = None
    ) -> list[StoredNote]:
        """Return notes in the order asked for, unknown ones left out; those read once are kept in memory.

        Without `mentions` they have none, which saves most of the time it takes. Raises EngineUnavailableError when a
        ledger on a server does not answer, `within` the deadline if one is given.
        """
        asks = within is not None and self.ledger.remote
        if asks and len(kept := self.remembered(ids, tenant=tenant, mentions=mentions)) == len(ids):
            return kept
        return self._in_time(lambda: self._notes.read(ids, tenant, mentions=mentions), within)

    def text(self, document_id: str, start: int, end: int, *, tenant: str, within: Deadline | None = None) -> str:
        """Return document.text[start:end]; EngineUnavailableError when a ledger on a server does not answer."""
        return self._in_time(lambda: self.ledger.text(document_id, start, end, tenant=tenant), within)

    def has_notes(self, *, tenant: str, within: Deadline | None = None) -> bool:
        """Return whether the tenant has any note; EngineUnavailableError when a ledger on a server does not answer."""
        return self._in_time(lambda: self.ledger.has_notes(tenant), within)

    def _in_time(self, work: Callable[[], T], within: Deadline | None) -> T:
        if within is None or not self.ledger.remote:
            return work()
        return self._reads.run(work, within)

    def catch_up(self, progress: Progress | None = None) -> None:
        """Let the projections apply what they have not seen; a reader only looks at what the writer has applied.

        One on a server that cannot be reached, or refuses, stays out of date: `troubles` says why.
        """
        with self._writing:
            last = self.ledger.sequence()
            self.troubles = self.projections.catch_up(last, progress)
            self._notes.forget()
            self._seen = last
            self._lagging = self.projections.behind() if self.read_only else bool(self.troubles)

    def refresh(self, within: Deadline | None = None) -> None:
        """See what was written since the last look; cheap when nothing was (call it at the start of every query).

        While one thread refreshes, others go on with what they have. Servers are waited for until the deadline, if one
        is given: EngineUnavailableError then names the one that is late, and the look goes on by itself. Raises
        StoreClosedError after `close`.
        """
        if self._closed:
            remedy = "Ask within `with open_resources(...)`, or whatever opened it."
            raise StoreClosedError("the store is closed.", where=str(self.path), remedy=remedy)
        if within is None or not (self.ledger.remote or self.projections.remote):
            self._look()
        else:
            self._looks.run(self._look, within)

    def _look(self) -> None:
        if self.ledger.sequence() == self._seen and not self._lagging:
            return
        if self._refreshing.acquire(blocking=False):
            try:
                self.catch_up()
                fed = self._feeding is not None and self._feeding.is_alive()
                if self._lagging and self.read_only and self.ledger.remote and not fed:
                    # Writers on other machines feed only their own folders: those in this one are fed behind.
                    work = (self.path, self._opened.engines)
                    self._feeding = threading.Thread(target=recover, args=work, name="feed projections", daemon=True)
                    self._feeding.start()
            finally:
                self._refreshing.release()

    def rebuild(self, name: str) -> None:
        """Empty a projection (`sparse`, `dense` or `graph`), so that the next `catch_up` builds it anew."""
        with self._changing():
            next(feeder for feeder in self.projections.feeders if feeder.name == name).projection.clear()

    def renew_sparse(self) -> None:
        """Let the BM25 index in the folder score as if made in one go, whatever was replaced or deleted since.

        `catch_up` does so by itself where that is cheap beside what was replaced.
        """
        with self._changing():
            self.projections.renew_sparse(self.ledger.sequence())

    def check_files(self) -> list[str]:
        """Read the ledger and all files of the projections in the folder; return the names of those that were damaged.

        These are built anew from the ledger. Opening looks only at sizes and both ends of each file. Raises StoreError
        when the ledger itself is damaged.
        """
        with self._changing():
            self.ledger.check()
            return self.projections.check_files(self.ledger.sequence())

    def check_embedders(self, spaces: Mapping[str, str]) -> None:
        """Raise ModelMismatchError when notes of a language (key) have vectors, but none in the space named for it."""
        for language, space in spaces.items():
            other = self.ledger.other_spaces(language, space)
            if other:
                found = ", ".join(f"{count} notes in {name!r}" for name, count in other.items())
                what = f"the vectors for language {language!r} were made by another model: {found}, none in {space!r}."
                remedy = f"Configure that model, or run `theworld ingest PATH --store {self.path} --reembed`."
                raise ModelMismatchError(what, where=str(self.path), remedy=remedy)

    def info(self) -> dict[str, Any]:
        """Return counts by tenant, bytes on disk, versions, the sequence number and each projection's lag."""
        last = self.ledger.sequence()
        size = {name: bytes_under(self.path / name) for name in ("sparse", "dense", "graph")}
        size["ledger"] = self.ledger.database.bytes()
        formats = {"sparse": sparse.FORMAT, "dense": dense.FORMAT, "graph": graph.FORMAT}
        return {
            "path": str(self.path),
            "tenants": self.ledger.counts(),
            "bytes": size,
            "versions": {"schema": SCHEMA_VERSION, **formats},
            "sequence": last,
            "lag": {feeder.name: feeder.lag(last) for feeder in self.projections.feeders},
            "read_only": self.read_only,
        }

    def close(self) -> None:
        """Bring the projections up to date (as a writer) and let go of files and lock."""
        try:
            if not self.read_only:
                self.catch_up()
        finally:
            self._release()

    def _release(self) -> None:
        self._closed = True
        if self._feeding is not None:
            self._feeding.join()
        self._opened.close()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            self.close()
        else:
            self._release()


def open_store(
    settings: Settings, *, create: bool = False, read_only: bool = True, wait_s: float = 0.0
) -> KnowledgeStore:
    """Open the store that the settings name, with the servers they name; see KnowledgeStore.open."""
    engines = Engines.of(settings)
    return KnowledgeStore.open(settings.store, create=create, read_only=read_only, engines=engines, wait_s=wait_s)


_MOST_KEPT = (20_000, 2_000)
"""Notes kept without and with mentions, some twenty objects a note."""


@dataclass
class RecentNotes:
    """Reads each note once without and once with mentions; thread-safe: tables are only ever replaced or added to."""

    _ledger: Ledger
    _notes: list[dict[tuple[str, str], StoredNote]] = field(default_factory=lambda: [{}, {}])
    """Without and with mentions."""

    def read(self, ids: Sequence[str], tenant: str, *, mentions: bool) -> list[StoredNote]:
        """Return notes in the order asked for, unknown ones left out."""
        tables = self._notes
        kept = tables[mentions]
        missing = [id_ for id_ in ids if (tenant, id_) not in kept]
        if missing:
            found = self._ledger.notes(missing, tenant=tenant, mentions=mentions)
            if len(kept) + len(found) > _MOST_KEPT[mentions]:
                tables[mentions] = kept = {key: kept[key] for id_ in ids if (key := (tenant, id_)) in kept}
            kept.update(((tenant, id_), note) for id_, note in found.items())
        return [kept[tenant, id_] for id_ in ids if (tenant, id_) in kept]

    def kept(self, ids: Sequence[str], *, tenant: str, mentions: bool = True) -> list[StoredNote]:
        """Return those that were read so and are in memory: what is left when the ledger cannot be asked."""
        kept = self._notes[mentions]
        return [kept[tenant, id_] for id_ in ids if (tenant, id_) in kept]

    def forget(self) -> None:
        """Read all of them again when they are asked for."""
        self._notes = [{}, {}]
