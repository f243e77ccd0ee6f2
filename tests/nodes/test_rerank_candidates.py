"""The node: which version of a document a year in words means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from theworld.graph import build_graph
from theworld.graph.resources import make_resources
from theworld.ingestion import ingest
from theworld.models.registry import Models
from theworld.settings import Settings
from theworld.state import Context
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeEmbedder, FakeTagger

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "now", "year"),
    [
        ("单人间每晚多少钱？", NOW, 2026),
        ("去年单人间每晚多少钱？", NOW, 2025),
        ("What did a single room cost last year?", NOW, 2025),
        ("What does a single room cost this year?", NOW.replace(year=2025), 2025),
    ],
)
def test_last_year_names_a_version(tmp_path, question, now, year):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for price, written in ((300, 2025), (360, 2026)):
        (corpus / f"price list {written}.md").write_text(f"A single room costs {price} a night.\n", encoding="utf-8")
        (corpus / f"价目表{written}.md").write_text(f"单人间每晚{price}元。\n", encoding="utf-8")
    settings = Settings(store=tmp_path / "store", retrieval={"deadline_ms": 60_000})
    models = Models({"en": FakeEmbedder(), "zh": FakeEmbedder()}, {"en": FakeTagger({}), "zh": FakeTagger({})})
    with KnowledgeStore.open(settings.store, create=True, read_only=False) as store:
        assert not ingest([corpus], store, models, settings).failed
        graph = build_graph(make_resources(settings, store, models))
        candidates = graph.invoke({"question": question}, context=Context(now=now))["candidates"]
    assert f"{year}.md" in candidates[0].source
