"""What making a set's store took, and that it holds the set's documents and nothing else."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from theworld.errors import IngestionError
from theworld.evaluation.documents.question_set import QuestionSet

if TYPE_CHECKING:
    from theworld.ingestion import IngestReport
    from theworld.stores.knowledge_store import KnowledgeStore


def ingest_facts(report: IngestReport) -> dict[str, Any]:
    """Return what the `ingest` part of the figures says; nothing written means that the store was reused."""
    return {
        "documents": report.documents,
        "unchanged": report.unchanged,
        "notes": report.notes,
        "passed_over": report.skipped,
        "failed": len(report.failed),
        "seconds": round(report.seconds.get("total", 0.0), 3),
        "notes_per_second": round(report.notes_per_second, 2),
    }


def check_only_corpus(store: KnowledgeStore, questions: QuestionSet, tenant: str = "default") -> None:
    """Raise IngestionError when the store holds documents of other folders, which would distort every figure.

    A document named like a file of the corpus is none: ingestion replaces it, as when the set has moved.
    """
    corpus = questions.corpus
    sources = {note.document_id: note.source for note in store.iter_notes(tenant)}
    foreign = sorted(
        name
        for name, source in sources.items()
        if not PurePath(source).is_relative_to(corpus) and not (corpus / name).is_file()
    )
    if foreign:
        raise IngestionError(
            f"{len(foreign)} of its documents are not in {corpus}, {foreign[0]!r} for instance.",
            where=str(store.path),
            remedy="Give a new folder as --store.",
        )


def check_something_read(report: IngestReport, questions: QuestionSet) -> None:
    """Raise IngestionError when no document of the corpus could be read."""
    if not report.documents and not report.unchanged:
        raise IngestionError(
            "holds no file that can be read.", where=str(questions.corpus), remedy="Put the documents there."
        )
