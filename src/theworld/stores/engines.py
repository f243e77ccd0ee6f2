"""Which parts of a store lie on servers: read from the settings; projections are opened for one ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from theworld.settings import DenseSettings, GraphSettings, LedgerSettings, ServerSettings, Settings, SparseSettings
from theworld.stores import dense, graph, sparse
from theworld.stores.protocols import DenseStore, GraphStore, SparseStore


@dataclass(frozen=True)
class Engines:
    """The servers to use; a section without an address means the embedded twin. Clients are made once per store."""

    sparse: SparseSettings = field(default_factory=SparseSettings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    graph: GraphSettings = field(default_factory=GraphSettings)
    graph_in_memory: bool = False
    """Whether the embedded graph is built in memory, where the folder of the store cannot be written."""
    ledger: LedgerSettings = field(default_factory=LedgerSettings)

    @classmethod
    def of(cls, settings: Settings) -> Engines:
        """Return what the settings name."""
        servers = settings.servers
        return cls(
            sparse=SparseSettings.of(settings.sparse, servers),
            dense=DenseSettings.of(settings.dense, servers),
            graph=GraphSettings.of(settings.graph, servers),
            ledger=settings.ledger_server,
        )

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
            if self.graph_in_memory:
                return graph.MemoryGraph()
            return graph.MappedGraph(folder / "graph", writable=writable)
        from theworld.stores.graph.neo4j import Neo4jGraph

        return Neo4jGraph(self.graph, ledger, writable=writable)
