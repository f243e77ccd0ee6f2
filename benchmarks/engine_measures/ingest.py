"""Documents ingested the whole way, models included, into the embedded twins and into servers."""

from __future__ import annotations

from pathlib import Path

from engine_measures.common import Urls, engines_at, on_servers
from theworld.demo import corpus_dir
from theworld.ingestion import IngestReport, ingest
from theworld.models.bundle import load_models
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore

ROUNDS = 3


def ingest_both(path: Path, urls: Urls, documents: Path | None, *, grpc: bool) -> None:
    """Ingest the same in turns, after one round that loads the models, and compare the fastest of each."""
    source, settings = documents or corpus_dir(), Settings()
    models, engines = load_models(settings), engines_at(urls, grpc=grpc)

    def embedded(name: str) -> IngestReport:
        with KnowledgeStore.open(path / name, create=True) as store:
            return ingest([source], store, models, settings)

    def servers(name: str) -> IngestReport:
        KnowledgeStore.open(path / name, create=True)._release()
        with on_servers(path / name, engines) as store:
            report = ingest([source], store, models, settings)
            assert not store.troubles, store.troubles
            return report

    embedded("warm-up")
    best = {"embedded": 0.0, "servers": 0.0}
    for number in range(ROUNDS):
        for name, run in (("embedded", embedded), ("servers", servers)):
            report = run(f"{name}-{number}")
            best[name] = max(best[name], report.notes_per_second)
    ratio = best["servers"] / best["embedded"]
    print(f"\n{report.notes} notes, models included, best of {ROUNDS}: ", end="")
    print(f"{best['embedded']:.1f} notes/s embedded, {best['servers']:.1f} into {', '.join(urls)}: {ratio:.2f}")
