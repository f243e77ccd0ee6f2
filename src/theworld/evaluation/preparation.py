"""The store of a dataset or document set: where it lies, what making it took, and that it holds nothing else."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from theworld import __version__
from theworld.data_files import cache_folder
from theworld.errors import IngestionError
from theworld.evaluation.datasets import Dataset
from theworld.evaluation.documents.question_set import QuestionSet
from theworld.settings import Settings
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.records import content_hash

if TYPE_CHECKING:
    from theworld.ingestion import IngestReport
    from theworld.stores.knowledge_store import KnowledgeStore

TENANT = "default"
"""Whose notes are measured."""


def store_path(dataset: Dataset, settings: Settings) -> Path:
    """Return the folder of the dataset's store in the user's cache, one for each corpus and way of making notes."""
    neutral = {"threads", "api_key"}
    processing = [settings.embedding.model_dump_json(exclude=neutral), settings.tagger.model_dump_json()]
    versions = (__version__, str(SCHEMA_VERSION))
    key = content_hash(*versions, dataset.fingerprint, *processing, settings.notes.model_dump_json())
    return cache_folder() / "evaluation" / f"{dataset.name}-{key}.store"


def ingest_facts(report: IngestReport, dataset: Dataset, settings: Settings) -> dict[str, Any]:
    """Return what the `ingest` part of the figures says; nothing written means that the store was reused."""
    return {
        "corpus_documents": len(dataset.document_ids),
        **_counts(report),
        "seconds": {part: round(seconds, 3) for part, seconds in report.seconds.items()},
        "overhead": round(report.overhead, 4),
        "store": str(settings.store),
    }


def document_facts(report: IngestReport) -> dict[str, Any]:
    """Return the same for a set of documents."""
    return {**_counts(report), "passed_over": report.skipped, "seconds": round(report.seconds.get("total", 0.0), 3)}


def _counts(report: IngestReport) -> dict[str, Any]:
    return {
        "documents": report.documents,
        "unchanged": report.unchanged,
        "notes": report.notes,
        "failed": len(report.failed),
        "notes_per_second": round(report.rates.get("total", 0.0), 2),
    }


def check_store_holds_only(store: KnowledgeStore, dataset: Dataset) -> None:
    """Raise IngestionError when the store holds documents of another corpus, which would distort every figure."""
    _refuse(store.document_hashes(TENANT).keys() - dataset.document_ids, store, dataset.name)


def check_only_corpus(store: KnowledgeStore, questions: QuestionSet) -> None:
    """Raise IngestionError when the store holds documents of other folders, which would distort every figure.

    A document named like a file of the corpus is none: ingestion replaces it, as when the set has moved.
    """
    corpus = questions.corpus
    sources = {note.document_id: note.source for note in store.iter_notes(TENANT)}
    foreign = {name for name, source in sources.items() if not PurePath(source).is_relative_to(corpus)}
    _refuse({name for name in foreign if not (corpus / name).is_file()}, store, str(corpus))


def _refuse(foreign: Collection[str], store: KnowledgeStore, corpus: str) -> None:
    if foreign:
        raise IngestionError(
            f"{len(foreign)} of the documents in the store are not in {corpus}, {min(foreign)!r} for instance.",
            where=str(store.path),
            remedy="Give a new folder as --store.",
        )
