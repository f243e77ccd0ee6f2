"""The projections of one ledger, in the store's folder or on servers: opened, fed and compared together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import perf_counter

from theworld.errors import StoreError
from theworld.settings import DenseSettings, GraphSettings, LedgerSettings, ServerSettings, Settings, SparseSettings
from theworld.stores import dense, graph, sparse
from theworld.stores.engine_access import RemoteProjection, Sum
from theworld.stores.files import DELETE, is_damage
from theworld.stores.graph import MemoryGraph
from theworld.stores.ledger import Ledger, NoteParts
from theworld.stores.ontology_links import OntologyLinks
from theworld.stores.protocols import DenseStore, GraphStore, NoteChange, Projection, SparseStore
from theworld.stores.sparse import TantivySparse


@dataclass(frozen=True)
class Engines:
    """The servers to use; a section without an address means the embedded twin. Clients are made once per store."""

    sparse: SparseSettings = field(default_factory=SparseSettings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    graph: GraphSettings = field(default_factory=GraphSettings)
    ledger: LedgerSettings = field(default_factory=LedgerSettings)

    @classmethod
    def of(cls, settings: Settings) -> Engines:
        """Return what the settings name."""
        servers, graph = settings.servers, GraphSettings.of(settings.graph, settings.servers)
        sparse, dense = SparseSettings.of(settings.sparse, servers), DenseSettings.of(settings.dense, servers)
        return cls(sparse, dense, graph, settings.ledger_server)

    def remote(self) -> dict[str, ServerSettings]:
        """Return the settings of the servers, by projection."""
        named = (("sparse", self.sparse), ("dense", self.dense), ("graph", self.graph))
        return {name: one for name, one in named if one.url is not None}

    def open_sparse(self, folder: Path, ledger: str, *, writable: bool) -> SparseStore:
        """Return the sparse projection; nothing is sent to a server yet."""
        if self.sparse.url is None:
            return sparse.TantivySparse(folder / "sparse", writable=writable)
        from theworld.stores.sparse.opensearch import OpenSearchSparse

        return OpenSearchSparse(self.sparse, ledger, writable=writable)

    def open_dense(self, folder: Path, ledger: str, *, writable: bool) -> DenseStore:
        """Return the dense projection; nothing is sent to a server yet."""
        if self.dense.url is None:
            return dense.NumpyDense(folder / "dense", writable=writable)
        from theworld.stores.dense.qdrant import QdrantDense

        return QdrantDense(self.dense, ledger, writable=writable)

    def open_graph(self, folder: Path, ledger: str, *, writable: bool) -> GraphStore:
        """Return the graph projection; nothing is sent to a server yet."""
        if self.graph.url is None:
            return graph.MappedGraph(folder / "graph", writable=writable)
        from theworld.stores.graph.neo4j import Neo4jGraph

        return Neo4jGraph(self.graph, ledger, writable=writable)


_LOG = logging.getLogger(__name__)
Progress = Callable[[int, int], None]
"""Called with (what is done, of how much): changes applied, pages or rows copied."""

_REBUILD = "{} It is built anew once the store can be written to: run `theworld sync --store {}`."


@dataclass(frozen=True, slots=True)
class ProjectionFeeder:
    """A projection and what it wants of the ledger."""

    name: str
    projection: Projection
    parts: NoteParts
    batch: int
    least_share: float = 0.0
    """A batch is at least so large beside what is there: of one whose batches rewrite a part of that."""
    durable: bool = True
    """False for a projection in memory, which every process builds for itself."""

    @property
    def remote(self) -> bool:
        """True for one on a server, which may be out of reach: it is then out of date, and catches up later."""
        return isinstance(self.projection, RemoteProjection)

    def feed(self, ledger: Ledger, last: int) -> Iterator[int]:
        """Apply batches until the projection has seen `last`; yield how far each went."""
        projection = self.projection
        if projection.applied > max(last, ledger.sequence()):
            # The ledger is older than what was derived from it: it was restored from a backup.
            projection.clear()
        while projection.applied < last:
            before = projection.applied
            changes, upto = ledger.changes(before, max(self.batch, int(self.least_share * before)), self.parts)
            projection.apply(changes, upto)
            yield upto - before
        getattr(projection, "settle", lambda: None)()  # part of the work of some, once for all batches

    def lag(self, last: int) -> int | None:
        """Return how many changes it has not seen; None when the server cannot be asked."""
        try:
            return last - self.projection.applied
        except StoreError:
            if not self.remote:
                raise
            return None


class Projections:
    """The sparse, dense and graph projection, and the ontology's links."""

    def __init__(
        self, path: Path, ledger: Ledger, engines: Engines, *, writable: bool, graph_in_memory: bool = False
    ) -> None:
        """Open them; nothing is sent to a server yet. The graph may be built in memory, and not in the folder."""
        self._path, self._ledger, self._writable = path, ledger, writable
        servers = engines.remote()
        identity = ledger.identity() if servers else ""
        self.sparse = engines.open_sparse(path, identity, writable=writable)
        self.dense = engines.open_dense(path, identity, writable=writable)
        self.graph = MemoryGraph() if graph_in_memory else engines.open_graph(path, identity, writable=writable)
        words, vectors = NoteParts(mentions=False, vectors=False), NoteParts(text=False, mentions=False)
        names, large = NoteParts(text=False, vectors=False), 1000 if "graph" in servers else 5000
        self.feeders = (
            ProjectionFeeder("sparse", self.sparse, words, 2000 if "sparse" in servers else 8192),
            ProjectionFeeder("dense", self.dense, vectors, 4096, 0.0 if "dense" in servers else 1 / 16),
            ProjectionFeeder("graph", self.graph, names, large, durable=not graph_in_memory),
            ProjectionFeeder("ontology", OntologyLinks(ledger), words, 2000),
        )
        self.remote = bool(servers)
        """Whether any lies on a server."""
        self.spent: dict[str, float] = {feeder.name: 0.0 for feeder in self.feeders}
        """Seconds that bringing each up to date has taken."""
        self._waited_for: dict[str, str] = {}

    @property
    def asked(self) -> str:
        """Whose answer is being waited for."""
        return ", ".join(tuple(self._waited_for.values())) or self._ledger.where

    def behind(self) -> bool:
        """Return whether one in the folder has not seen all of the ledger."""
        last = self._ledger.sequence()
        here = (feeder for feeder in self.feeders if feeder.durable and not feeder.remote)
        return any(feeder.projection.applied != last for feeder in here)

    def catch_up(self, last: int, progress: Progress | None = None) -> dict[str, str]:
        """Let each apply what it has not seen up to `last`; a reader only looks at what the writer has applied.

        Return why one on a server is out of date, by name.
        """
        for feeder in self.feeders:
            if feeder.remote or not self._writable:
                feeder.projection.refresh()
        feeders = [feeder for feeder in self.feeders if self._writable or not feeder.durable]
        troubles = self._feed(feeders, last, progress)
        for feeder in self.feeders:
            wrong = getattr(feeder.projection, "outdated", "")  # a reader found another format
            if wrong:
                troubles[feeder.name] = _REBUILD.format(wrong, self._path)
        if self._writable and isinstance(self.sparse, TantivySparse) and self.sparse.worth_renewing:
            self.renew_sparse(last)
        return troubles

    def _feed(self, feeders: list[ProjectionFeeder], last: int, progress: Progress | None) -> dict[str, str]:
        """Feed those on servers side by side: most of their time is waiting."""
        lags: dict[str, int | None] = {}
        for feeder in feeders:
            with self._waiting_for(feeder):
                lags[feeder.name] = feeder.lag(last)
        total = sum(last if lag is not None and lag < 0 else lag or 0 for lag in lags.values())
        lock, done, failed = Lock(), 0, False

        def go_on(applied: int) -> bool:
            """Count changes that were applied; False where another has failed, to end with the batch in hand."""
            nonlocal done
            with lock:
                done += applied
                if progress is not None:
                    progress(min(done, total), total)
            return not failed

        far = [feeder for feeder in feeders if feeder.remote and lags[feeder.name] != 0]
        near = [feeder for feeder in feeders if feeder not in far]
        with ThreadPoolExecutor(max(1, len(far)), "feed") as threads:
            fed = {feeder.name: threads.submit(self._feed_one, feeder, last, go_on) for feeder in far}
            try:
                found = {feeder.name: self._feed_one(feeder, last, go_on) for feeder in near}
                found |= {name: one.result() for name, one in fed.items()}
            except BaseException:
                failed = True
                raise
        return {feeder.name: why for feeder in feeders if (why := found[feeder.name])}

    def _feed_one(self, feeder: ProjectionFeeder, last: int, go_on: Callable[[int], bool]) -> str:
        """Return why one on a server is out of date; empty when it was not."""
        begun = perf_counter()
        try:
            with self._waiting_for(feeder):
                for applied in feeder.feed(self._ledger, last):
                    if not go_on(applied):
                        break
        except StoreError as error:
            if not feeder.remote:
                raise
            return str(error)
        except BaseException as error:
            if feeder.remote or not is_damage(error):
                raise
            self._feed_anew(feeder, last, error)
        finally:
            self.spent[feeder.name] += perf_counter() - begun
        return ""

    def _feed_anew(self, feeder: ProjectionFeeder, last: int, error: BaseException) -> None:
        """Build a projection in the folder anew whose files turned out to be damaged: the ledger has everything."""
        _LOG.warning("the %s index of %s is damaged (%s) and is built anew", feeder.name, self._path, error)
        try:
            feeder.projection.clear()
            for _ in feeder.feed(self._ledger, last):
                pass
        except BaseException as again:
            if isinstance(again, StoreError) or not is_damage(again):
                raise
            what = f"the {feeder.name} index cannot be built anew: {again}."
            raise StoreError(what, where=str(self._path / feeder.name), remedy=DELETE) from again

    @contextmanager
    def _waiting_for(self, feeder: ProjectionFeeder) -> Iterator[None]:
        self._waited_for[feeder.name] = str(getattr(feeder.projection, "where", feeder.name))
        try:
            yield
        finally:
            del self._waited_for[feeder.name]

    def renew_sparse(self, last: int) -> None:
        """Build the sparse index in the folder anew where it counts replaced notes, so that it scores as if it never
        had them; a server merges its segments by itself.
        """
        if isinstance(self.sparse, TantivySparse) and self.sparse.replaced:
            feeder = self.feeders[0]
            self.sparse.renew(self._all_changes(feeder.batch, feeder.parts, last), last)

    def _all_changes(self, batch: int, parts: NoteParts, last: int) -> Iterator[NoteChange]:
        after = 0
        while after < last:
            changes, after = self._ledger.changes(after, batch, parts)
            yield from changes

    def check_files(self, last: int) -> list[str]:
        """Read all files of those in the folder; return the names of those that were damaged and are built anew."""
        damaged = []
        for feeder in self.feeders:
            check = getattr(feeder.projection, "check", None)
            if feeder.remote or check is None or not self._writable:
                continue
            try:
                check()
            except BaseException as error:
                if not is_damage(error):
                    raise
                self._feed_anew(feeder, last, error)
                damaged.append(feeder.name)
        return damaged

    def verify(self) -> dict[str, tuple[Sum, Sum]]:
        """Return for each on a server what the ledger holds and what the server holds; equal when right.

        Raises EngineUnavailableError when a server cannot be asked.
        """
        last, bare = self._ledger.sequence(), NoteParts(text=False, mentions=False, vectors=False)
        found: dict[str, tuple[Sum, Sum]] = {}
        for feeder in self.feeders:
            projection = feeder.projection
            if isinstance(projection, RemoteProjection):
                changes = (c for c in self._all_changes(feeder.batch, bare, last) if c.note is not None)
                expected = Sum.of((projection.key_of(change), change.sequence) for change in changes)
                found[feeder.name] = expected, Sum.of(projection.held())
        return found

    def close(self) -> None:
        """Release files and clients, of each even where another cannot be closed as it should."""
        with ExitStack() as stack:
            for feeder in reversed(self.feeders):
                stack.callback(feeder.projection.close)
