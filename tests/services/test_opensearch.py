"""The sparse projection on a real OpenSearch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from theworld.settings import SparseSettings
from theworld.stores.sparse import TantivySparse
from theworld.stores.sparse.opensearch import OpenSearchSparse
from theworld.testing.conformance import SparseConformance
from theworld.testing.conformance.documents import TENANT, feed, put
from theworld.testing.conformance.leaks import leaks_of_sparse
from theworld.testing.conformance.twins import assert_sparse_twins

pytestmark = pytest.mark.slow


@pytest.fixture
def make(opensearch_url: str, ledger: str) -> Iterator[Callable[[], OpenSearchSparse]]:
    def opened() -> OpenSearchSparse:
        return OpenSearchSparse(SparseSettings(url=opensearch_url, timeout_s=20), ledger, writable=True)

    yield opened
    store = opened()
    store.drop()
    store.close()


class TestOpenSearchSparse(SparseConformance):
    @pytest.fixture
    def make(self, make: Callable[[], OpenSearchSparse]) -> Callable[[], OpenSearchSparse]:
        return make


@pytest.mark.parametrize("seed", [1, 2])
def test_it_ranks_as_the_embedded_twin_does(make: Callable[[], OpenSearchSparse], tmp_path: Path, seed: int) -> None:
    embedded, store = TantivySparse(tmp_path / "sparse", writable=True), make()
    assert_sparse_twins(embedded, store, seed=seed)
    embedded.close()
    store.close()


def test_nothing_of_a_tenant_is_shown_to_another(make: Callable[[], OpenSearchSparse]) -> None:
    store = make()
    assert leaks_of_sparse(store, operations=1000, seed=3) == []
    assert len(list(store.held())) > 0
    store.close()


def test_lists_longer_than_a_page_are_whole(make: Callable[[], OpenSearchSparse]) -> None:
    store = make()
    feed(store, *(put(f"n{number:05d}#0", "same words") for number in range(10_400)))
    hits = store.search("words", tenant=TENANT, filters={}, limit=10_300)
    assert [hit.note_id for hit in hits] == [f"n{number:05d}#0" for number in range(10_300)]
    store.close()
