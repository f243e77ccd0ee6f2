"""Random operations of tenants with hostile names on each server: nothing of one may be shown to another."""

from __future__ import annotations

import secrets
import time

from engine_measures.common import Urls, engines_at
from theworld.stores.dense.qdrant import QdrantDense
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.stores.sparse.opensearch import OpenSearchSparse
from theworld.testing.conformance.leaks import leaks_of_dense, leaks_of_graph, leaks_of_sparse


def look_for_leaks(urls: Urls, operations: int) -> None:
    """Write and ask so many times on each, and print what was shown of other tenants."""
    engines, ledger = engines_at(urls), secrets.token_hex(8)
    print()
    for name in engines.remote():
        begun = time.perf_counter()
        if name == "sparse":
            sparse = OpenSearchSparse(engines.sparse, ledger, writable=True)
            tell(name, operations, leaks_of_sparse(sparse, operations=operations, seed=1), begun)
            sparse.drop()
            sparse.close()
        elif name == "dense":
            dense = QdrantDense(engines.dense, ledger, writable=True)
            tell(name, operations, leaks_of_dense(dense, operations=operations, seed=1), begun)
            dense.drop()
            dense.close()
        else:
            graph = Neo4jGraph(engines.graph, ledger, writable=True)
            tell(name, operations, leaks_of_graph(graph, operations=operations, seed=1), begun)
            graph.drop()
            graph.close()


def tell(name: str, operations: int, found: list[str], begun: float) -> None:
    print(
        f"{name}: {operations} operations of hostile tenants, {len(found)} leaks, {time.perf_counter() - begun:.0f} s"
    )
    for one in found[:5]:
        print(f"    {one}")
