"""From files to the store: read, split, embed, tag, link, write. Incremental, and safe to stop at any moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from theworld.ingestion.engines import Engine, LocalEngine
from theworld.ingestion.interruption import Interruption, Stopped
from theworld.ingestion.making import BATCH_NOTES, RecordMaker
from theworld.ingestion.names import NameIndex
from theworld.ingestion.plan import Plan, Planner
from theworld.ingestion.pruning import gone_documents
from theworld.ingestion.readers import SourceDocument
from theworld.ingestion.relinking import name_change, relink
from theworld.ingestion.report import (
    TIMED,
    FailedSource,
    IngestInterrupted,
    IngestProgress,
    IngestReport,
    SilentProgress,
)
from theworld.ingestion.sources import Sources, as_path, find_sources, root_of
from theworld.ingestion.stopwatch import Stopwatch
from theworld.settings import Settings
from theworld.stores.records import DocumentRecord
from theworld.text import Language

if TYPE_CHECKING:
    from theworld.models.registry import Models
    from theworld.stores.knowledge_store import KnowledgeStore


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
    on_error: Literal["continue", "stop"] = "continue",
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
) -> IngestReport:
    """Bring a store up to date with files, folders and URLs, and return what was done.

    Documents that are in the store as they are now cost only their reading. Each batch of some hundred notes is
    committed by itself, so a rerun goes on where a run was cut short. The texts of changed documents are held in
    memory until they are written.

    `reembed` makes every document anew. `prune` deletes documents that came from one of the folders and are there
    no longer. With `on_error="stop"` the first bad source raises IngestionError before anything is written, else
    it is reported in `failed`.

    The engine `ray` reads and runs the models in the workers of Ray, started here or running at `address`; this
    process alone writes. The store is the same either way.

    Raises IngestionError for a path that does not exist, ModelMismatchError when the embedder is another than the
    store's and `reembed` is not set, ModelError and StoreError as they come, and IngestInterrupted (a
    KeyboardInterrupt with the report) after Ctrl-C, when the batch in hand is written.
    """
    given = [as_path(path) for path in ([paths] if isinstance(paths, Path | str) else paths)]
    with Interruption(progress or SilentProgress()) as interruption:
        run = _Run(store, models, settings, tenant, interruption, on_error == "stop")
        with suppress(Stopped), run.open_engine(engine, address):
            run.execute(given, reembed=reembed, prune=prune)
    if interruption.is_asked():
        raise IngestInterrupted(run.report(interrupted=True))
    return run.report()


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
    run = _Run(store, models, settings, tenant, Interruption(SilentProgress()), False)
    run.execute_given(documents)
    return run.report()


class _IndexProgress:
    """Hands the store's progress, (applied, in all), on as steps."""

    def __init__(self, progress: IngestProgress) -> None:
        self._progress, self._applied, self._started = progress, 0, False

    def __call__(self, applied: int, total: int) -> None:
        if not self._started:
            self._progress.start("index", total)
            self._started = True
        self._progress.advance("index", applied - self._applied)
        self._applied = applied


@dataclass(slots=True)
class _Run:
    """One ingestion under way."""

    store: KnowledgeStore
    models: Models
    settings: Settings
    tenant: str
    interruption: Interruption
    stop_on_error: bool
    watch: Stopwatch = field(default_factory=Stopwatch)
    started: float = field(default_factory=perf_counter)
    sources: Sources = field(default_factory=Sources)
    plan: Plan = field(default_factory=Plan)
    failed: list[FailedSource] = field(default_factory=list)
    spent_before: dict[str, float] = field(default_factory=dict)
    progress: IngestProgress = field(init=False)
    engine: Engine = field(init=False)
    documents: int = 0
    notes: int = 0
    remade: int = 0
    linked: int = 0
    pruned: int = 0

    def __post_init__(self) -> None:
        self.progress = self.interruption.watching()
        self.spent_before = dict(self.store.spent)
        self.engine = LocalEngine(self.models, self.settings, self.watch, self.progress)

    @contextmanager
    def open_engine(self, name: str, address: str | None) -> Iterator[None]:
        """Enter what reads and runs the models."""
        if name == "local":
            yield
            return
        from theworld.ingestion.ray_engine import RayEngine

        with RayEngine(self.models, self.settings, self.watch, self.progress, address) as self.engine:
            yield

    def execute(self, paths: Sequence[Path], *, reembed: bool, prune: bool) -> None:
        """Do everything; raises Stopped after Ctrl-C, or ends early when the batch in hand is written."""
        with self.watch("read"), self.interruption.at_once():
            self.sources = find_sources(paths)
            self._read(remake=reembed)
            gone = self._gone(paths) if prune else []
        self._bring_up_to_date(gone, reembed=reembed)

    def execute_given(self, documents: Sequence[tuple[SourceDocument, str]]) -> None:
        """Do everything for documents that need no reading."""
        with self.watch("read"):
            self.plan = self._planner(remake=False).plan_given(documents)
            self.failed.extend(self.plan.failed)
        self._bring_up_to_date([], reembed=False)

    def _bring_up_to_date(self, gone: Sequence[str], *, reembed: bool) -> None:
        if not reembed:
            self.store.check_embedders(self._spaces())
        index = self._relink(gone)
        if gone:
            with self.watch("write"):
                self.pruned = self.store.delete(gone, tenant=self.tenant)
        self._make(index, replace=reembed)
        self.interruption.leave(between_steps=False)
        with self.watch("write"):
            self.store.catch_up(_IndexProgress(self.progress))

    def _make(self, index: NameIndex, *, replace: bool) -> None:
        """Make and write the changed documents, batch by batch."""
        number = sum(len(document.spans) for document in self.plan.changed)
        if self.interruption.is_asked():
            return
        records = RecordMaker(index, self.tenant, stop_on_error=self.stop_on_error)
        self.progress.start("notes", number)
        with closing(self.engine.model(self.plan.changed)) as modelled:
            for batch, outcomes in modelled:
                # A single document above the usual size would keep Ctrl-C waiting.
                self.interruption.leave(between_steps=sum(len(document.spans) for document in batch) > BATCH_NOTES)
                if self.interruption.is_asked():
                    break
                with suppress(Stopped):
                    made = outcomes()
                    with self.watch("link"):
                        some = records.records(batch, made)
                    self._write(some, replace=replace)
        self.failed.extend(records.failed)

    def _read(self, *, remake: bool) -> None:
        readings = self.engine.read(self.sources.files, self.settings.notes)
        self.plan = self._planner(remake=remake).plan(self.sources, readings, self.progress)
        self.failed.extend(self.plan.failed)

    def _planner(self, *, remake: bool) -> Planner:
        known = self.store.document_hashes(self.tenant)
        return Planner(self.settings.notes, self._model_names, known, self.stop_on_error, remake)

    def _model_names(self, language: Language) -> tuple[str, str]:
        return self.models.embedder_for(language).name, self.models.tagger_for(language).name

    def _spaces(self) -> dict[str, str]:
        """Return the space by language, for the languages about to be written."""
        languages = {span.language for document in self.plan.changed for span in document.spans}
        return {language: self.models.embedder_for(language).name for language in sorted(languages)}

    def _gone(self, paths: Sequence[Path]) -> list[str]:
        roots = [root_of(path) for path in paths]
        return gone_documents(self.store.iter_notes(self.tenant, mentions=False), roots, self.plan)

    def _relink(self, gone: Sequence[str]) -> NameIndex:
        """Link older notes to the coming titles; return the index of all names."""
        with self.watch("link"):
            with self.interruption.at_once():
                change = name_change(self.store, self.tenant, self.plan.changed, gone)
            self.interruption.leave(between_steps=True)  # what is linked by then is written, the rest found again
            leave = {document.id for document in self.plan.changed}.union(gone)
            self.linked = relink(self.store, self.tenant, change, leave, self.progress)
            return change.index

    def _write(self, records: Sequence[DocumentRecord], *, replace: bool) -> None:
        with self.watch("write"), self.watch("ledger"):
            if replace:
                # The store passes over documents whose content hash it knows.
                self.store.delete([record.id for record in records], tenant=self.tenant)
            self.store.put(records)
        self.documents += len(records)
        self.remade += sum(record.id in self.plan.remade for record in records)
        self.notes += sum(len(record.notes) for record in records)

    def report(self, *, interrupted: bool = False) -> IngestReport:
        """Return what was done so far."""
        spent = {part: self.store.spent.get(part, 0.0) - before for part, before in self.spent_before.items()}
        seconds = {part: self.watch.seconds.get(part, 0.0) for part in TIMED} | spent
        return IngestReport(
            documents=self.documents,
            unchanged=self.plan.unchanged,
            remade=self.remade,
            notes=self.notes,
            linked=self.linked,
            pruned=self.pruned,
            skipped=self.sources.skipped.total(),
            skipped_kinds=dict(sorted(self.sources.skipped.items())),
            failed=self.failed,
            seconds={**seconds, "total": perf_counter() - self.started},
            processes=self.engine.processes,
            interrupted=interrupted,
        )
