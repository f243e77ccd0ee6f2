"""The store of a dataset: where it lies, and what making it took."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_cache_path

from theworld import __version__
from theworld.errors import IngestionError
from theworld.evaluation.datasets import Dataset
from theworld.settings import Settings
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.records import content_hash

if TYPE_CHECKING:
    from theworld.ingestion import IngestReport
    from theworld.stores.knowledge_store import KnowledgeStore


def store_path(dataset: Dataset, settings: Settings) -> Path:
    """Return the folder of the dataset's store in the user's cache, one for each corpus and way of making notes."""
    neutral = {"batch_size", "threads", "api_key"}
    processing = [settings.embedding.model_dump_json(exclude=neutral), settings.tagger.model_dump_json()]
    versions = (__version__, str(SCHEMA_VERSION))
    key = content_hash(*versions, dataset.fingerprint, *processing, settings.notes.model_dump_json())
    return user_cache_path("theworld") / "evaluation" / f"{dataset.name}-{key}.store"


def ingest_facts(report: IngestReport, dataset: Dataset, settings: Settings) -> dict[str, Any]:
    """Return what the `ingest` part of the figures says; nothing written means that the store was reused."""
    return {
        "corpus_documents": len(dataset.document_ids),
        "documents": report.documents,
        "unchanged": report.unchanged,
        "notes": report.notes,
        "failed": len(report.failed),
        "seconds": {part: round(seconds, 3) for part, seconds in report.seconds.items()},
        "notes_per_second": round(report.notes_per_second, 2),
        "overhead": round(report.overhead, 4),
        "store": str(settings.store),
    }


def check_store_holds_only(store: KnowledgeStore, dataset: Dataset, tenant: str = "default") -> None:
    """Raise IngestionError when the store holds documents of another corpus, which would distort every figure."""
    foreign = sorted(store.document_hashes(tenant).keys() - dataset.document_ids)
    if foreign:
        raise IngestionError(
            f"{len(foreign)} of the documents in the store are not in {dataset.name}, {foreign[0]!r} for instance.",
            where=str(store.path),
            remedy="Give a new folder as --store.",
        )
