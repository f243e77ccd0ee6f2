"""The dense projection on a real Qdrant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from theworld.settings import DenseSettings
from theworld.stores.dense import NumpyDense
from theworld.stores.dense.qdrant import QdrantDense
from theworld.testing.conformance import DenseConformance
from theworld.testing.conformance.leaks import leaks_of_dense
from theworld.testing.conformance.twins import assert_dense_twins

pytestmark = pytest.mark.slow


@pytest.fixture
def make(qdrant_url: str, ledger: str) -> Iterator[Callable[[], QdrantDense]]:
    settings = DenseSettings(url=qdrant_url, timeout_s=20)

    def opened() -> QdrantDense:
        return QdrantDense(settings, ledger, writable=True)

    yield opened
    store = opened()
    store.drop()
    store.close()


class TestQdrantDense(DenseConformance):
    @pytest.fixture
    def make(self, make: Callable[[], QdrantDense]) -> Callable[[], QdrantDense]:
        return make


@pytest.mark.parametrize("seed", [1, 2])
def test_it_ranks_as_the_embedded_twin_does(make: Callable[[], QdrantDense], tmp_path: Path, seed: int) -> None:
    embedded, store = NumpyDense(tmp_path / "dense", writable=True), make()
    assert_dense_twins(embedded, store, seed=seed)
    embedded.close()
    store.close()


def test_nothing_of_a_tenant_is_shown_to_another(make: Callable[[], QdrantDense]) -> None:
    store = make()
    assert leaks_of_dense(store, operations=1000, seed=3) == []
    assert len(list(store.held())) > 0
    store.close()


@pytest.mark.parametrize("quantization", ["scalar", "binary"])
def test_quantised_and_on_disk_it_finds_the_same(
    qdrant_url: str, ledger: str, tmp_path: Path, quantization: str
) -> None:
    given = {"url": qdrant_url, "timeout_s": 20, "quantization": quantization, "on_disk": True, "shards": 2}
    embedded = NumpyDense(tmp_path / "dense", writable=True)
    store = QdrantDense(DenseSettings.model_validate(given), ledger, writable=True)
    try:
        assert_dense_twins(embedded, store, seed=3)
    finally:
        store.drop()
        store.close()
        embedded.close()
