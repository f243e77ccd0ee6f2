"""A few demo documents through the real models."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from theworld.demo import corpus_dir
from theworld.ingestion import ingest
from theworld.models.registry import load_models
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.text import Language

CHAIN = [
    "en/metropolis-film.md",
    "en/fritz-lang.md",
    "en/vienna.md",
    "zh/red-sorghum.md",
    "zh/mo-yan.md",
    "zh/gaomi.md",
]

QUERIES: list[tuple[Language, str, str]] = [
    ("en", "capital of Austria", "en/vienna.md"),
    ("zh", "诺贝尔文学奖得主", "zh/mo-yan.md"),
]


@pytest.mark.slow
def test_chains_are_linked_typed_and_found(folder: Path, store: KnowledgeStore, settings: Settings) -> None:
    for name in CHAIN:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(corpus_dir() / name, folder / name)
    models = load_models(settings)
    report = ingest([folder], store, models, settings)
    assert (report.documents, report.failed) == (6, [])

    named = {note.id: {m.surface: m for m in note.mentions} for note in store.iter_notes("default")}
    assert named["en/metropolis-film.md#0"]["Fritz Lang"].titled
    assert (named["en/fritz-lang.md#0"]["Vienna"].type, named["en/fritz-lang.md#0"]["Vienna"].titled) == ("place", True)
    assert (named["zh/red-sorghum.md#0"]["莫言"].type, named["zh/red-sorghum.md#0"]["莫言"].titled) == ("person", True)
    assert named["zh/mo-yan.md#0"]["高密"].titled

    for language, question, expected in QUERIES:
        embedder = models.embedders[language]
        vector = embedder.embed_query(question).vector
        hits = store.dense.search(embedder.name, vector, tenant="default", filters={}, limit=1).hits
        assert hits[0].note_id.startswith(expected)
