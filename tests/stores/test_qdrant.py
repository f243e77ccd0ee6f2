"""The Qdrant twin in the client's local mode: the same requests, answered without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient

from theworld.errors import EngineUnavailableError
from theworld.settings import DenseSettings
from theworld.stores.dense import NumpyDense
from theworld.stores.dense.qdrant import QdrantDense
from theworld.testing.conformance import DenseConformance
from theworld.testing.conformance.documents import TENANT, embedded, feed, put
from theworld.testing.conformance.leaks import leaks_of_dense
from theworld.testing.conformance.twins import assert_dense_twins

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
]


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], QdrantDense]:
    settings = DenseSettings(url="http://localhost")
    return lambda: QdrantDense(settings, "ledger", writable=True, client=QdrantClient(path=str(tmp_path / "qdrant")))


@pytest.fixture
def store() -> Iterator[QdrantDense]:
    opened = QdrantDense(
        DenseSettings(url="http://localhost"), "ledger", writable=True, client=QdrantClient(":memory:")
    )
    yield opened
    opened.close()


class TestQdrantDense(DenseConformance):
    @pytest.fixture
    def make(self, make: Callable[[], QdrantDense]) -> Callable[[], QdrantDense]:
        return make


@pytest.mark.parametrize("seed", [1, 2])
def test_it_ranks_as_the_embedded_twin_does(store: QdrantDense, tmp_path: Path, seed: int) -> None:
    embedded = NumpyDense(tmp_path / "dense", writable=True)
    assert_dense_twins(embedded, store, seed=seed)
    embedded.close()


def test_nothing_of_a_tenant_is_shown_to_another(store: QdrantDense) -> None:
    assert leaks_of_dense(store, operations=1000, seed=3) == []
    assert len(list(store.held())) > 0


def test_a_score_that_is_no_number_is_a_failure_of_the_engine() -> None:
    class Lying(QdrantClient):
        def query_batch_points(self, *args: Any, **kwargs: Any) -> Any:
            answers = super().query_batch_points(*args, **kwargs)
            for point in answers[0].points:
                point.score = float("nan")
            return answers

    settings = DenseSettings(url="http://localhost")
    store = QdrantDense(settings, "ledger", writable=True, client=Lying(":memory:"))
    feed(store, put("n1#0", "river", vectors={"space": embedded(1, 0)}))
    with pytest.raises(EngineUnavailableError, match="score nan"):
        store.search("space", np.array([1, 0], np.float32), tenant=TENANT, filters={}, limit=1)
    store.close()
