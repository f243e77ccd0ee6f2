"""Documents ingested the whole way, models included, into the embedded twins and into servers."""

from __future__ import annotations

from pathlib import Path

from engine_measures.common import Urls, engines_at, on_servers
from theworld.demo import corpus_dir
from theworld.ingestion import IngestReport, ingest
from theworld.models.registry import load_models
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore

MODELS = ("read", "models", "link")


def ingest_both(path: Path, urls: Urls, documents: Path | None, rounds: int) -> None:
    """Ingest the same in turns, after one round of the demo that loads the models, and compare the fastest of each.

    What other processes take of this machine falls on the models, which are the same in both: so the ratio is also
    told with the models' fastest time in place of each run's own.
    """
    source, settings = documents or corpus_dir(), Settings()
    models, engines = load_models(settings), engines_at(urls)

    def embedded(name: str) -> IngestReport:
        with KnowledgeStore.open(path / name, create=True) as store:
            return ingest([source], store, models, settings)

    def servers(name: str) -> IngestReport:
        KnowledgeStore.open(path / name, create=True)._release()
        with on_servers(path / name, engines) as store:
            report = ingest([source], store, models, settings)
            assert not store.troubles, store.troubles
            return report

    with KnowledgeStore.open(path / "warm-up", create=True) as store:
        ingest([corpus_dir()], store, models, settings)
    reports: dict[str, list[IngestReport]] = {"embedded": [], "servers": []}
    for number in range(rounds):
        for name, run in (("embedded", embedded), ("servers", servers)):
            reports[name].append(run(f"{name}-{number}"))
    best = {name: max(one.rates["total"] for one in some) for name, some in reports.items()}
    made = min(sum(one.seconds[part] for part in MODELS) for some in reports.values() for one in some)
    written = {name: min(one.seconds["write"] for one in some) for name, some in reports.items()}
    notes = reports["servers"][0].notes
    print(f"\n{notes} notes, models included, best of {rounds}: ", end="")
    print(f"{best['embedded']:.1f} notes/s embedded, {best['servers']:.1f} into {', '.join(urls)}: ", end="")
    print(f"{best['servers'] / best['embedded']:.2f}")
    print(f"read, models and links {made:.1f} s; ledger and projections ", end="")
    print(", ".join(f"{name} {seconds:.1f} s" for name, seconds in written.items()), end="")
    print(f"; with the same models {(made + written['embedded']) / (made + written['servers']):.2f}")
