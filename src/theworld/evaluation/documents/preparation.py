"""What making a set's store took, and that nothing else is in it."""

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
    """Raise IngestionError when the store holds documents of other folders, which would distort every figure."""
    sources = {note.document_id: note.source for note in store.iter_notes(tenant)}
    foreign = sorted(name for name, source in sources.items() if not PurePath(source).is_relative_to(questions.corpus))
    if foreign:
        raise IngestionError(
            f"{len(foreign)} of its documents are not in {questions.corpus}, {foreign[0]!r} for instance.",
            where=str(store.path),
            remedy="Give a new folder as --store.",
        )
