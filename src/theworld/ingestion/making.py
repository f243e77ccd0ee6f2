"""Planned documents to records: what the models make of their notes, titles linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from theworld.errors import IngestionError
from theworld.ingestion.modelling import FailedNote, MadeNote, NoteText, Outcome
from theworld.ingestion.names import NameIndex, join_mentions
from theworld.ingestion.notes import NoteSpan
from theworld.ingestion.plan import PlannedDocument
from theworld.ingestion.report import FailedSource
from theworld.state import Mention
from theworld.stores.records import DocumentRecord, NoteRecord

BATCH_NOTES = 256
"""Notes written at once, and so lost at most when the process is killed."""
Batch = list[PlannedDocument]


def note_texts(document: PlannedDocument) -> list[NoteText]:
    """Return what the models see of a document's notes."""
    title = document.document.title
    return [NoteText(title, span.text, span.language, span.section, span.lead) for span in document.spans]


def batches(documents: Sequence[PlannedDocument], size: int = BATCH_NOTES) -> Iterator[list[PlannedDocument]]:
    """Yield documents in their order, in batches of about `size` notes; a document is never divided."""
    batch: list[PlannedDocument] = []
    notes = 0
    for document in documents:
        if batch and notes + len(document.spans) > size:
            yield batch
            batch, notes = [], 0
        batch.append(document)
        notes += len(document.spans)
    if batch:
        yield batch


class RecordMaker:
    """Makes records of what the models made; `index` holds the names of all documents."""

    def __init__(self, index: NameIndex, tenant: str, *, stop_on_error: bool) -> None:
        self._index, self._tenant, self._stop_on_error = index, tenant, stop_on_error
        self.failed: list[FailedSource] = []
        """Documents that a model failed on."""

    def records(self, batch: Batch, outcomes: Sequence[Outcome]) -> list[DocumentRecord]:
        """Return the records of a batch, in order, without the documents of which a note failed.

        Raises IngestionError for such a document when told to stop on errors.
        """
        rest = iter(outcomes)
        found = []
        for document in batch:
            own = [next(rest) for _ in document.spans]
            failures = [one for one in own if isinstance(one, FailedNote)]
            if failures:
                self._fail(document, failures[0])
            else:
                found.append(self._record(document, [one for one in own if isinstance(one, MadeNote)]))
        return found

    def _fail(self, document: PlannedDocument, failure: FailedNote) -> None:
        if self._stop_on_error:
            raise IngestionError(failure.reason, where=document.source) from failure.error
        self.failed.append(FailedSource(document.source, failure.reason))

    def _link(self, span: NoteSpan, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
        return join_mentions(span.text, mentions, self._index.find(span.text, mentions))

    def _record(self, planned: PlannedDocument, made: Sequence[MadeNote]) -> DocumentRecord:
        notes = tuple(
            NoteRecord(
                f"{planned.id}#{ordinal}",
                ordinal,
                *span,
                mentions=self._link(span, one.mentions),
                vectors=one.vectors,
                codes=one.codes,
            )
            for ordinal, (span, one) in enumerate(zip(planned.spans, made, strict=True))
        )
        return DocumentRecord(
            id=planned.id,
            title=planned.document.title,
            text=planned.document.text,
            source=planned.source,
            content_hash=planned.content_hash,
            aliases=planned.aliases,
            metadata=planned.document.metadata,
            notes=notes,
            tenant=self._tenant,
        )
