"""What has to be done: sources read, split and compared with what the store holds. Writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from theworld.errors import IngestionError
from theworld.ingestion.notes import NoteSpan, iter_notes
from theworld.ingestion.readers import SourceDocument, read_source
from theworld.ingestion.report import FailedSource, IngestProgress
from theworld.ingestion.sources import SourceFile, Sources
from theworld.settings import NoteSettings
from theworld.stores.records import content_hash
from theworld.text import Language, without_qualifier

PROCESSING = "notes-4"
"""Changes whenever the same text would be processed in another way, so that everything is made anew. Hashes begin with
it: what was made by an earlier version is known by that."""

TOLD_BYTES = 100_000
"""Bytes of a file after which its progress is told."""

ModelNames = Callable[[Language], tuple[str, str]]
"""Language to the names of its embedder and tagger."""

Reading = tuple[SourceDocument, Iterable[NoteSpan]] | FailedSource
"""A document of a source with its notes, or what could not be read."""


def read_file(file: SourceFile, limits: NoteSettings) -> Iterator[Reading]:
    """Yield the documents of a file, each with its notes as they are found."""
    source = str(file.path)
    try:
        with file.local_copy() as (path, root):
            for found in read_source(path, root):
                if isinstance(found, FailedSource):
                    yield replace(found, path=found.path.replace(str(path), source))
                else:
                    yield found, divided(found, limits)
    except IngestionError as error:
        yield FailedSource(source, str(IngestionError(error.what, remedy=error.remedy)))


def divided(document: SourceDocument, limits: NoteSettings) -> Iterator[NoteSpan]:
    """Yield the notes of a document."""
    blocks = document.blocks
    return iter_notes(document.text, limits, start=document.body_start, passage=document.passage, blocks=blocks)


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """A document that is new or changed."""

    id: str
    source: str
    document: SourceDocument
    spans: tuple[NoteSpan, ...]
    content_hash: str

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its aliases, and its title without a bracketed qualifier."""
        title = self.document.title
        bare = (without_qualifier(title),) if without_qualifier(title) != title else ()
        return tuple(dict.fromkeys((*self.document.aliases, *bare)))


@dataclass(slots=True)
class Plan:
    """What reading has found."""

    changed: list[PlannedDocument] = field(default_factory=list)
    """Documents to write, in the order of their sources."""
    remade: set[str] = field(default_factory=set)
    """Ids of those in `changed` that an earlier version of the program has made in another way."""
    unchanged: int = 0
    failed: list[FailedSource] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    """Source by document id, of every document met."""
    complete: set[str] = field(default_factory=set)
    """Sources of which everything could be read."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Decides which documents have to be made."""

    limits: NoteSettings
    model_names: ModelNames
    known: Mapping[str, str]
    """Content hash by document id, of the documents in the store."""
    stop_on_error: bool = False
    remake: bool = False
    """True makes every document anew."""

    def plan(self, sources: Sources, readings: Iterable[Iterable[Reading]], progress: IngestProgress) -> Plan:
        """Take in what was read of each source, in order. Raises IngestionError at the first bad one if told to."""
        plan = Plan()
        for failure in sources.failed:
            self._fail(plan, failure)
        sizes = [file.size for file in sources.files]
        progress.start("read", sum(sizes))
        for file, size, found in zip(sources.files, sizes, readings, strict=True):
            meter = _Meter(progress, size)
            self._take(file, found, plan, meter)
            meter.finish()
        return plan

    def plan_given(self, documents: Iterable[tuple[SourceDocument, str]]) -> Plan:
        """Plan documents that are in memory already, each with the source it names; every one needs an id."""
        plan = Plan()
        for document, source in documents:
            notes = divided(document, self.limits)
            self._add(document, notes, document.id or "", source, plan)
        return plan

    def _take(self, file: SourceFile, readings: Iterable[Reading], plan: Plan, meter: _Meter) -> None:
        failures = len(plan.failed)
        for found in readings:
            if isinstance(found, FailedSource):
                self._fail(plan, found)
            else:
                document, notes = found
                self._add(document, meter.along(notes), document.id or file.id, str(file.path), plan)
        if len(plan.failed) == failures:
            plan.complete.add(str(file.path))

    def _add(self, document: SourceDocument, notes: Iterable[NoteSpan], identity: str, source: str, plan: Plan) -> None:
        if identity in plan.owners:
            reason = f"the document id {identity!r} is already taken by {plan.owners[identity]}"
            self._fail(plan, FailedSource(source, reason))
            return
        plan.owners[identity] = source
        spans = list(notes)
        digest = self._hash(document, source, spans)
        known = self.known.get(identity)
        if known == digest and not self.remake:
            plan.unchanged += 1
            return
        plan.changed.append(PlannedDocument(identity, source, document, tuple(spans), digest))
        if known is not None and not known.startswith(f"{PROCESSING}:"):
            plan.remade.add(identity)

    def _hash(self, document: SourceDocument, source: str, spans: Iterable[NoteSpan]) -> str:
        languages = sorted({span.language for span in spans})
        models = [name for language in languages for name in self.model_names(language)]
        plain = json.dumps([document.aliases, document.metadata], ensure_ascii=False, sort_keys=True)
        limits = self.limits.model_dump_json()
        return f"{PROCESSING}:{content_hash(source, document.title, document.text, plain, limits, *models)}"

    def _fail(self, plan: Plan, failure: FailedSource) -> None:
        if self.stop_on_error:
            raise IngestionError(failure.reason, where=failure.path)
        plan.failed.append(failure)


class _Meter:
    """Tells how far the reading of a file has come, in bytes, by the places in its text that notes have reached."""

    def __init__(self, progress: IngestProgress, size: int) -> None:
        self._progress, self._left = progress, size

    def along(self, notes: Iterable[NoteSpan]) -> Iterator[NoteSpan]:
        """Yield notes, telling that they are reached."""
        end = told = 0
        for note in notes:
            end += len(note.text.encode("utf-8", "surrogatepass"))
            if end - told >= TOLD_BYTES:
                self._advance(end - told)
                told = end
            yield note
        self._advance(end - told)

    def finish(self) -> None:
        """Tell that the file is read."""
        self._advance(self._left)

    def _advance(self, steps: int) -> None:
        steps = min(steps, self._left)
        self._left -= steps
        if steps:
            self._progress.advance("read", steps)
