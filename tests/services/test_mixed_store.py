"""One store whose projections lie partly on servers: written, read, left behind, and caught up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from made_documents import assert_congruent, make_document
from services.launching import free_port
from theworld.errors import EngineUnavailableError
from theworld.settings import DenseSettings, GraphSettings, SparseSettings
from theworld.stores.dense.qdrant import QdrantDense
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.projections import Engines
from theworld.stores.protocols import NoteChange
from theworld.stores.sparse.opensearch import OpenSearchSparse
from theworld.testing.conformance.documents import put

pytestmark = pytest.mark.slow


def make_change() -> NoteChange:
    """A note that the ledger does not have."""
    return put("stray#0", "river")


@pytest.fixture
def engines(opensearch_url: str, neo4j_url: str, qdrant_url_if_any: str | None) -> Engines:
    """With Qdrant where there is one."""
    return Engines(
        sparse=SparseSettings(url=opensearch_url, timeout_s=30),
        dense=DenseSettings(url=qdrant_url_if_any, timeout_s=30),
        graph=GraphSettings(url=neo4j_url, timeout_s=30),
    )


@pytest.fixture
def path(tmp_path: Path, engines: Engines) -> Iterator[Path]:
    folder = tmp_path / "store"
    yield folder
    with KnowledgeStore.open(folder, read_only=False, engines=engines) as store:
        assert isinstance(store.sparse, OpenSearchSparse)
        assert isinstance(store.graph, Neo4jGraph)
        store.sparse.drop()
        store.graph.drop()
        if isinstance(store.dense, QdrantDense):
            store.dense.drop()
        store._release()


def test_a_store_on_servers_is_the_same_store(path: Path, engines: Engines) -> None:
    with KnowledgeStore.open(path, create=True, engines=engines) as store:
        store.put([make_document(number) for number in range(9)])
        store.catch_up()
        assert store.troubles == {}
        assert_congruent(store)
        store.put([make_document(number, version=1) for number in range(4)])
        store.delete(["doc-00006", "doc-00007"], tenant="default")
        store.catch_up()
        assert_congruent(store)
        for expected, held in store.verify().values():
            assert expected == held
        assert set(store.verify()) == set(engines.remote())
        store.sparse.apply([replace(make_change(), sequence=99)], store.sparse.applied)
        expected, held = store.verify()["sparse"]
        assert (expected.notes + 1, expected.checksum != held.checksum) == (held.notes, True)
        store.rebuild("sparse")
        store.catch_up()
        assert store.verify()["sparse"][0] == store.verify()["sparse"][1]
    assert not (path / "sparse").exists()
    with KnowledgeStore.open(path, engines=engines) as reader:
        notes = assert_congruent(reader)
    with KnowledgeStore.open(path) as embedded:  # moving back is a replay as well
        assert assert_congruent(embedded) == notes
    with KnowledgeStore.open(path, engines=replace(engines, graph=GraphSettings())) as half:
        assert assert_congruent(half) == notes


def test_a_server_out_of_reach_is_left_behind_and_catches_up(path: Path, engines: Engines) -> None:
    nowhere = SparseSettings(url=f"http://127.0.0.1:{free_port()}")
    with KnowledgeStore.open(path, create=True, engines=replace(engines, sparse=nowhere)) as store:
        store.put([make_document(number) for number in range(3)])
        store.catch_up()
        assert list(store.troubles) == ["sparse"]
        assert "cannot be reached" in store.troubles["sparse"]
        lag = store.info()["lag"]
        assert (lag["sparse"], lag["dense"], lag["graph"]) == (None, 0, 0)
    with KnowledgeStore.open(path, engines=replace(engines, sparse=nowhere)) as reader:
        with pytest.raises(EngineUnavailableError, match="cannot be reached"):
            reader.sparse.search("river", tenant="default", filters={}, limit=3)
        assert reader.notes(["doc-00001#0"], tenant="default")
    with KnowledgeStore.open(path, read_only=False, engines=engines) as store:
        assert store.troubles == {}
        assert_congruent(store)
