"""The graph projection on a real Neo4j."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from theworld.settings import GraphSettings
from theworld.stores.graph import MemoryGraph
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.testing.conformance import GraphConformance
from theworld.testing.conformance.leaks import leaks_of_graph
from theworld.testing.conformance.twins import assert_graph_twins

pytestmark = pytest.mark.slow


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
    assert store.count() > 0
    store.close()
