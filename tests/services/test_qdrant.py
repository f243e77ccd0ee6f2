"""The dense projection on a real Qdrant, over REST and over gRPC."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from services.faulty_proxy import FaultyProxy
from services.launching import grpc_port
from theworld.errors import EngineUnavailableError, SettingsError
from theworld.settings import DenseSettings
from theworld.stores.dense import NumpyDense
from theworld.stores.dense.qdrant import QdrantDense
from theworld.testing.conformance import DenseConformance
from theworld.testing.conformance.leaks import leaks_of_dense
from theworld.testing.conformance.twins import assert_dense_twins

pytestmark = pytest.mark.slow


@pytest.fixture(params=[False, True], ids=["rest", "grpc"])
def make(request: pytest.FixtureRequest, qdrant_url: str, ledger: str) -> Iterator[Callable[[], QdrantDense]]:
    settings = DenseSettings(url=qdrant_url, grpc_port=grpc_port(qdrant_url), timeout_s=20, prefer_grpc=request.param)

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
    assert store.count() > 0
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


def test_over_grpc_certificates_are_checked(qdrant_url: str, certificate: tuple[Path, Path], ledger: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    context.set_alpn_protocols(["h2"])
    proxy = FaultyProxy(f"http://{urlsplit(qdrant_url).hostname}:{grpc_port(qdrant_url)}", tls=context)
    given = {"url": f"https://127.0.0.1:{proxy.port}", "grpc_port": proxy.port, "prefer_grpc": True, "timeout_s": 20}
    given |= {"api_key": "hunter2"}

    def opened(**further: object) -> QdrantDense:
        return QdrantDense(DenseSettings.model_validate({**given, **further}), ledger)

    store = opened()
    with pytest.raises(EngineUnavailableError, match=r"(?i)certificate"):
        store.version()
    store.close()
    store = opened(ca_file=certificate[0])
    assert store.version()[0].isdigit()
    assert store.applied == 0
    store.close()
    with pytest.raises(SettingsError, match=r"dense\.verify"):
        opened(verify=False)
    proxy.close()
