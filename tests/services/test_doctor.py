"""`theworld doctor` on real servers: what lags, what is gone, and what is well."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_documents import make_document
from services.faulty_proxy import FaultyProxy
from services.postgres_ledger import drop_schema, settings_for
from theworld.doctor import Finding, examine
from theworld.settings import Settings, SparseSettings
from theworld.stores.knowledge_store import open_store
from theworld.stores.ledger import Ledger
from theworld.stores.sparse.opensearch import OpenSearchSparse

pytestmark = pytest.mark.slow


def found(settings: Settings) -> dict[str, Finding]:
    return {finding.subject: finding for finding in examine(settings)}


def test_engines_are_asked_for_version_schema_and_lag(
    tmp_path: Path, postgres_url: str, opensearch_url: str, ledger: str
) -> None:
    proxy = FaultyProxy(postgres_url)
    near = settings_for(postgres_url, ledger, timeout_s=5.0)
    far = near.model_copy(update={"url": near.url.replace(near.url.split(":")[2].split("/")[0], str(proxy.port))})
    settings = Settings(store=tmp_path / "store", ledger=far, sparse=SparseSettings(url=opensearch_url, timeout_s=60))
    findings = found(settings)
    assert (findings["schema"].status, "--create" in findings["schema"].remedy) == ("failed", True)
    assert "sparse" not in findings
    with open_store(settings, create=True) as store:
        store.put([make_document(number) for number in range(3)])
    findings = found(settings)
    for name in ("folder", "ledger", "clock", "schema", "sparse", "dense", "graph"):
        assert findings[name].status == "ok", findings[name]
    assert int(findings["ledger"].facts["version"].split(".")[0]) >= 14
    assert findings["schema"].facts["sequence"] == findings["sparse"].facts["sequence"] == 6
    assert "." in findings["sparse"].facts["version"]
    with Ledger.open(tmp_path / "store", near, writable=True) as opened:
        opened.put([make_document(5)])
    findings = found(settings)
    assert [findings[name].facts["behind"] for name in ("sparse", "dense")] == [2, 2]
    proxy.refuse()
    findings = found(settings)
    assert (findings["ledger"].status, findings["wikidata"].status) == ("failed", "ok")
    assert "cannot be" in findings["ledger"].said
    assert findings["ledger"].remedy
    assert "sparse" not in findings
    proxy.heal()
    with open_store(settings, read_only=False) as store:
        assert isinstance(store.sparse, OpenSearchSparse)
        store.sparse.drop()
        store._release()
    proxy.close()
    drop_schema(near)


def test_a_server_that_is_too_old_is_told(tmp_path: Path, opensearch_url: str) -> None:
    proxy = FaultyProxy(opensearch_url)
    settings = Settings(
        store=tmp_path / "store", sparse=SparseSettings(url=f"http://127.0.0.1:{proxy.port}", timeout_s=60)
    )
    with open_store(settings, create=True) as store:
        store.put([make_document(0)])
    version = str(found(settings)["sparse"].facts["version"])
    proxy.change = lambda piece: piece.replace(version.encode(), b"0.0".ljust(len(version), b"0"))
    proxy.cut()
    finding = found(settings)["sparse"]
    assert (finding.status, "2.11 or newer" in finding.remedy) == ("warning", True), finding
    proxy.heal()
    proxy.cut()
    with open_store(settings, read_only=False) as store:
        assert isinstance(store.sparse, OpenSearchSparse)
        store.sparse.drop()
        store._release()
    proxy.close()
