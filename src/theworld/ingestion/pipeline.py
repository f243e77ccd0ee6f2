"""From files to the store: read, split, embed, tag, link, write. Incremental, and safe to stop at any moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal, TypeVar

from theworld.ingestion.engines import BATCH_NOTES, FailedNote, LocalEngine, Outcome
from theworld.ingestion.names import Name, NameIndex, forget_names, join_mentions, names_of
from theworld.ingestion.plan import Plan, PlannedDocument, divided
from theworld.ingestion.readers import SourceDocument
from theworld.ingestion.report import (
    TIMED,
    FailedSource,
    IngestInterrupted,
    IngestProgress,
    IngestReport,
    Interruption,
    Stopped,
    Stopwatch,
)
from theworld.ingestion.sources import Sources, as_path, find_sources, root_of
from theworld.settings import Settings
from theworld.state import Mention
from theworld.stores.records import DocumentRecord, NoteRecord

if TYPE_CHECKING:
    from theworld.ingestion.ray_engine import RayEngine
    from theworld.models.registry import Models
    from theworld.stores.knowledge_store import KnowledgeStore

T = TypeVar("T")
WRITE_NOTES = 500
"""Notes whose mentions are read and written at once."""


def ingest(
    paths: Sequence[Path | str] | Path | str,
    store: KnowledgeStore,
    models: Models,
    settings: Settings,
    *,
    tenant: str = "default",
    progress: IngestProgress | None = None,
    reembed: bool = False,
    prune: bool = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
) -> IngestReport:
    """Bring a store up to date with files, folders and URLs, and return what was done.

    Documents that are in the store as they are now cost only their reading. Each batch of some hundred notes is
    committed by itself, so a rerun goes on where a run was cut short. The texts of changed documents are held in
    memory until they are written.

    `reembed` makes every document anew. `prune` deletes documents that came from one of the folders and are there
    no longer. A bad source is reported in `failed`.

    The engine `ray` reads and runs the models in the workers of Ray, started here or running at `address`; this
    process alone writes. The store is the same either way.

    Raises IngestionError for a path that does not exist, ModelMismatchError when the embedder is another than the
    store's and `reembed` is not set, ModelError and StoreError as they come, and IngestInterrupted (a
    KeyboardInterrupt with the report) after Ctrl-C, when the batch in hand is written.
    """
    given = [as_path(path) for path in ([paths] if isinstance(paths, Path | str) else paths)]
    with Interruption(progress) as interruption:
        run = _Run(store, models, settings, tenant, interruption, reembed=reembed)
        with suppress(Stopped), ExitStack() as stack:
            if engine == "ray":
                from theworld.ingestion.ray_engine import RayEngine

                ray = RayEngine(models, settings, run.watch, interruption, address)
                run.engine = stack.enter_context(ray)
            run.execute(given, prune=prune)
    report = run.report(interrupted=interruption.asked)
    if interruption.asked:
        raise IngestInterrupted(report)
    return report


def ingest_given(
    documents: Sequence[tuple[SourceDocument, str]],
    store: KnowledgeStore,
    models: Models,
    settings: Settings,
    *,
    tenant: str = "default",
) -> IngestReport:
    """Bring a store up to date with documents that are in memory, each with its id and the source it names.

    They are processed as if they had been read from files; a document that is given twice is reported in `failed`.
    Raises what `ingest` raises, but for paths and interruptions.
    """
    run = _Run(store, models, settings, tenant, Interruption())
    with run.watch("read"):
        for document, source in documents:
            run.plan.add(document, divided(document, settings.notes), document.id or "", source, given=True)
    run.bring_up_to_date([])
    return run.report()


class _Run:
    """One ingestion under way."""

    def __init__(
        self,
        store: KnowledgeStore,
        models: Models,
        settings: Settings,
        tenant: str,
        interruption: Interruption,
        *,
        reembed: bool = False,
    ) -> None:
        self._store, self._models, self._settings, self._tenant = store, models, settings, tenant
        self._interruption, self._reembed = interruption, reembed
        self._started, self._spent_before = perf_counter(), dict(store.spent)
        self.watch = Stopwatch()
        self.engine: LocalEngine | RayEngine = LocalEngine(models, settings, self.watch, interruption)
        known = store.document_hashes(tenant)

        self.plan = Plan(settings.notes, models, known, reembed)
        self._sources = Sources()
        self._documents = self._notes = self._remade = self._linked = self._pruned = self._gone = 0

    def execute(self, paths: Sequence[Path], *, prune: bool) -> None:
        """Do everything; raises Stopped after Ctrl-C, or ends early when the batch in hand is written."""
        with self.watch("read"), self._interruption.at_once():
            self._sources = find_sources(paths)
            self.plan.sources = self._store.document_sources(self._tenant)
            readings = self.engine.read(self._sources.files, self._settings.notes)
            self.plan.read(self._sources, readings, self._interruption)
            gone = self.plan.gone([root_of(path) for path in paths])
        self._gone = 0 if prune else len(gone)
        self.bring_up_to_date(gone if prune else [])

    def bring_up_to_date(self, gone: Sequence[str]) -> None:
        """Link, make and write what the plan says, without the documents that are gone."""
        changed = self.plan.changed
        if not self._reembed:
            languages = sorted({span.language for document in changed for span in document.spans})
            self._store.check_embedders({one: self._models.embedders[one].name for one in languages})
        with self.watch("link"):
            with self._interruption.at_once():
                rows = self._store.titles(self._tenant)
                replaced = {document.id for document in changed}.union(gone)
                coming = [(document.id, document.document.title, document.aliases) for document in changed]
                before, after = names_of(rows), names_of([*(row for row in rows if row[0] not in replaced), *coming])
                no_more = {name.pattern for name in before} - {name.pattern for name in after}
                index = NameIndex(after)
            # What is linked when Ctrl-C comes is written, the rest found again.
            self._interruption.between_steps = True
            self._linked = self._relink(index, after - before, no_more, replaced)
        if gone:
            with self.watch("write"):
                self._pruned = self._store.delete(gone, tenant=self._tenant)
        if not self._interruption.asked:
            self._make(index)
        self._interruption.between_steps = False
        indexed: int | None = None

        def index_progress(applied: int, total: int) -> None:
            nonlocal indexed
            if indexed is None:
                self._interruption.start("index", total)
            self._interruption.advance("index", applied - (indexed or 0))
            indexed = applied

        with self.watch("write"):
            self._store.catch_up(index_progress)

    def _relink(
        self, index: NameIndex, added: Collection[Name], no_more: Collection[str], replaced: Collection[str]
    ) -> int:
        """Bring the mentions of stored notes up to date, but for `replaced` documents; return how many changed.

        `added` are the names that no document went by, `no_more` the patterns that none goes by from now on. Safe to
        repeat: run before new documents are written, so that a run cut short does it again.
        """
        if not added and not no_more:
            return 0
        store, tenant = self._store, self._tenant
        self._interruption.start("link", 0)
        coming, changed = NameIndex(added), 0
        coming_or_going = NameIndex([*added, *(Name(pattern, pattern, "") for pattern in no_more)])

        def concerned() -> Iterator[str]:
            """Yield the ids of notes that hold the letters of such a name.

            One document more in a large store changes few notes, and mentions are most of what reading a note takes.
            """
            for note in store.iter_notes(tenant, mentions=False):
                if note.document_id not in replaced:
                    self._interruption.advance("link", 1)
                    if coming_or_going.may_occur(note.text):
                        yield note.id

        noted = concerned()
        while ids := list(islice(noted, WRITE_NOTES)):
            linked_anew: dict[str, tuple[Mention, ...]] = {}
            for note in store.notes(ids, tenant=tenant):
                mentions = forget_names(note.mentions, no_more)
                if coming.find(note.text, mentions):
                    mentions = join_mentions(note.text, mentions, index.find(note.text, mentions))
                if mentions != note.mentions:
                    linked_anew[note.id] = mentions
            if linked_anew:
                store.set_mentions(tenant, linked_anew)
            changed += len(linked_anew)
        return changed

    def _make(self, index: NameIndex) -> None:
        """Make and write the changed documents, batch by batch."""
        self._interruption.start("notes", sum(len(document.spans) for document in self.plan.changed))
        with closing(self.engine.model(self.plan.changed)) as modelled:
            for batch, outcomes in modelled:
                # A single document above the usual size would keep Ctrl-C waiting.
                self._interruption.between_steps = sum(len(document.spans) for document in batch) > BATCH_NOTES
                if self._interruption.asked:
                    break
                with suppress(Stopped):
                    made = iter(outcomes())
                    with self.watch("link"):
                        found = [
                            self._record(planned, list(islice(made, len(planned.spans))), index) for planned in batch
                        ]
                    self._write([record for record in found if record is not None])

    def _record(self, planned: PlannedDocument, made: Sequence[Outcome], index: NameIndex) -> DocumentRecord | None:
        """Return a document with its notes and links; None where a model failed."""
        notes: list[NoteRecord] = []
        for ordinal, (span, one) in enumerate(zip(planned.spans, made, strict=True)):
            if isinstance(one, FailedNote):
                self.plan.failed.append(FailedSource(planned.called or planned.source, one.reason))
                return None
            mentions = join_mentions(span.text, one.mentions, index.find(span.text, one.mentions))
            note = NoteRecord(
                f"{planned.id}#{ordinal}", ordinal, *span, mentions=mentions, vectors=one.vectors, codes=one.codes
            )
            notes.append(note)
        return DocumentRecord(
            id=planned.id,
            title=planned.document.title,
            text=planned.document.text,
            source=planned.source,
            content_hash=planned.content_hash,
            aliases=planned.aliases,
            metadata=planned.document.metadata,
            notes=tuple(notes),
            tenant=self._tenant,
        )

    def _write(self, records: Sequence[DocumentRecord]) -> None:
        with self.watch("write"), self.watch("ledger"):
            if self._reembed:
                # The store passes over documents whose content hash it knows.
                self._store.delete([record.id for record in records], tenant=self._tenant)
            self._store.put(records)
        self._documents += len(records)
        self._remade += sum(record.id in self.plan.remade for record in records)
        self._notes += sum(len(record.notes) for record in records)

    def report(self, *, interrupted: bool = False) -> IngestReport:
        """Return what was done so far."""
        spent = {part: self._store.spent.get(part, 0.0) - before for part, before in self._spent_before.items()}
        seconds = {part: self.watch.seconds.get(part, 0.0) for part in TIMED} | spent
        return IngestReport(
            documents=self._documents,
            unchanged=self.plan.unchanged,
            remade=self._remade,
            notes=self._notes,
            linked=self._linked,
            pruned=self._pruned,
            gone=self._gone,
            kinds=dict(Counter(file.path.suffix.lower() for file in self._sources.files).most_common()),
            skipped=self._sources.skipped.total(),
            skipped_kinds=dict(sorted(self._sources.skipped.items())),
            failed=self.plan.failed,
            seconds={**seconds, "total": perf_counter() - self._started},
            processes=self.engine.processes,
            interrupted=interrupted,
        )
