"""The graph projection on a real Neo4j."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j import GraphDatabase

from services.server_faults import HALF_OPEN
from theworld.settings import GraphSettings
from theworld.stores.graph import MemoryGraph
from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.testing.conformance import GraphConformance
from theworld.testing.conformance.documents import feed, put
from theworld.testing.conformance.leaks import leaks_of_graph
from theworld.testing.conformance.twins import assert_graph_twins

pytestmark = [pytest.mark.slow, HALF_OPEN]


@pytest.fixture
def make(neo4j_url: str, ledger: str) -> Iterator[Callable[[], Neo4jGraph]]:
    def opened() -> Neo4jGraph:
        return Neo4jGraph(GraphSettings(url=neo4j_url, timeout_s=20), ledger, writable=True)

    yield opened
    store = opened()
    store.drop()
    store.close()


class TestNeo4jGraph(GraphConformance):
    @pytest.fixture
    def make(self, make: Callable[[], Neo4jGraph]) -> Callable[[], Neo4jGraph]:
        return make


@pytest.mark.parametrize("seed", [1, 2])
def test_it_ranks_links_and_finds_paths_as_the_embedded_twin_does(make: Callable[[], Neo4jGraph], seed: int) -> None:
    store = make()
    assert_graph_twins(MemoryGraph(), store, seed=seed)
    store.close()


def test_nothing_of_a_tenant_is_shown_to_another(make: Callable[[], Neo4jGraph]) -> None:
    store = make()
    assert leaks_of_graph(store, operations=600, seed=3) == []
    assert len(list(store.held())) > 0
    store.close()


def test_stores_that_begin_on_a_new_server_at_the_same_moment_share_its_schema(neo4j_url: str) -> None:
    settings = GraphSettings(url=neo4j_url, timeout_s=60)
    stores = [Neo4jGraph(settings, secrets.token_hex(8), writable=True) for _ in range(6)]
    together = threading.Barrier(len(stores))

    def begin(store: Neo4jGraph) -> int:
        together.wait()
        feed(store, put("n#0", "river", names=["Shared Name"]))
        return len(list(store.held()))

    with GraphDatabase.driver(neo4j_url) as driver, ThreadPoolExecutor(len(stores)) as pool:
        for kind in ("CONSTRAINT", "INDEX"):
            for name in re.findall(rf"CREATE {kind} (\w+)", "\n".join(cypher.SCHEMA)):
                driver.execute_query(f"DROP {kind} {name} IF EXISTS")
        assert list(pool.map(begin, stores)) == [1] * len(stores)
        names = set(re.findall(r"CREATE \w+ (\w+)", "\n".join(cypher.SCHEMA)))
        assert names <= {record["name"] for record in driver.execute_query("SHOW INDEXES YIELD name").records}
    for store in stores:
        store.drop()
        store.close()
