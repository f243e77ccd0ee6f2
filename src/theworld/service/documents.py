"""Documents in and out over HTTP: one writer, opened when it is needed and let go when nothing more comes."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from theworld.errors import IngestionError, TheWorldError
from theworld.ingestion import IngestReport, SourceDocument, ingest, ingest_given
from theworld.ingestion.readers import read_source
from theworld.ingestion.readers.document import names_in, plain_metadata
from theworld.ingestion.readers.markdown import described, front_matter
from theworld.ingestion.report import FailedSource
from theworld.ingestion.sources import watch
from theworld.models.registry import Models
from theworld.native_memory import release_memory
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore, open_store

log = logging.getLogger(__name__)
IDLE_S = 10.0
"""How long the writer is kept after its last use, so that a series of uploads opens it once."""
WAIT_S, PAUSE_S = 30.0, 0.06
"""How long one process of several waits for the others to write, and at first leaves the store to those that wait."""
_UNTITLED = Path("\x00.md")
"""A document without a title takes its file's name, which is none here: no text has this character."""
_TENANT = "default"
"""Whose documents those of watched folders are."""
RELEASE_S = 60.0
"""How often freed memory is given back while writes come: what models and indexes leave lies between what is kept, and
the process would grow by some .2 MB a minute."""
REMEMBERED = 200
"""Of the last writes, how many are remembered to be shown."""


def as_markdown(plain: SourceDocument) -> SourceDocument:
    """Return a document divided at the Markdown in its text; one without any, or with broken front matter, as it is.

    The text is kept to the letter. Title, aliases and metadata that it lacks are those of the Markdown.
    """
    try:
        fields, start = front_matter(plain.text, _UNTITLED)
        named, others = str(fields.pop("title", None) or ""), names_in(fields.pop("aliases", None))
        named = plain.title or " ".join(named.split())
        found = described(plain.text, _UNTITLED, start=start, title=named, only_headings=True)
    except IngestionError:
        return plain
    title = "" if found.title == _UNTITLED.stem else found.title
    if not start and title == plain.title and all(block.kind == "paragraph" for block in found.blocks):
        return plain
    metadata = {**plain_metadata(fields), **plain.metadata}
    return replace(found, id=plain.id, title=title, aliases=plain.aliases or others, metadata=metadata)


@dataclass(frozen=True, slots=True)
class WriteRun:
    """One request's writing, or one round of a watched folder, as it ended."""

    tenant: str
    what: str
    """The file's name, or the first document's id."""
    report: IngestReport
    ended: datetime = field(default_factory=partial(datetime.now, UTC))


class DocumentWriter:
    """Writes to the store that the service reads, as another process would: with a store of its own, open for writing.

    The store that is read is never the one that writes: the lock has to be free between two uploads, for `theworld
    ingest` and for other workers, and questions under way must not see half of a batch. The second costs next to
    nothing, since both map the same files: measured over 3,112 documents, 24 ms of processor time and 0.3 MB.

    Raises StoreLockedError while some other process is writing. Processes of one service let go of the store after each
    write, and wait for each other.
    """

    def __init__(self, settings: Settings, models: Models) -> None:
        self._settings, self._models = settings, models
        self._wait_s = WAIT_S if settings.service.workers > 1 else 0.0
        self._store: KnowledgeStore | None = None
        self._using, self._release_at = threading.Lock(), 0.0
        self._timer = threading.Timer(IDLE_S, self.close)
        self.runs: deque[WriteRun] = deque(maxlen=REMEMBERED)
        """The last writes of this process, the latest last."""

    def put(
        self,
        documents: Sequence[tuple[SourceDocument, str]],
        *,
        tenant: str,
        what: str = "",
        unread: Sequence[FailedSource] = (),
    ) -> IngestReport:
        """Write documents, each with the source it names; they can be found when this returns."""
        with self._opened() as store:
            report = ingest_given(documents, store, self._models, self._settings, tenant=tenant)
        report = replace(report, failed=[*report.failed, *unread])
        what = what or next((document.id or document.title for document, _ in documents), "")
        self.runs.append(WriteRun(tenant, what, report))
        return report

    def follow(self, folders: Sequence[Path], *, stop: threading.Event) -> None:
        """Keep the default tenant's documents in step with folders until `stop` is set; what goes wrong is logged."""

        def bring_up_to_date() -> None:
            with self._opened() as store:
                report = ingest(list(folders), store, self._models, self._settings, prune=True)
            said.cache_clear()
            if report.documents + report.pruned + len(report.failed):
                self.runs.append(WriteRun(_TENANT, ", ".join(folder.name for folder in folders), report))
                log.info("%s: %d documents written, %d deleted", watched, report.documents, report.pruned)
                for failed in report.failed:
                    log.warning("left out: %s: %s", failed.path, failed.reason)

        watched, said = ", ".join(map(str, folders)), cache(partial(log.warning, "watching waits: %s"))
        log.info("watching %s", watched)
        try:
            busy = lambda error: said(str(error))  # noqa: E731 - once, until it is over
            watch(folders, bring_up_to_date, store=self._settings.store, stop=stop, on_busy=busy)
        except TheWorldError:
            log.exception("the folders are no longer watched")

    def put_file(self, name: str, content: bytes, *, tenant: str) -> IngestReport:
        """Read a file as an ingestion would, by the ending of its name, and write its documents.

        `name` is its path within what is uploaded: its id, unless the file names ids of its own. Raises IngestionError
        when nothing of it can be read.
        """
        file, ending = PurePosixPath(name).name, PurePosixPath(name).suffix[:32]
        stem = file.removesuffix(ending).encode()[: 255 - len(ending.encode())].decode(errors="ignore")  # as disks take
        with TemporaryDirectory(prefix="theworld-upload-") as folder:
            path = Path(folder) / (stem + ending)
            path.write_bytes(content)
            found = list(read_source(path))
        failed = [replace(it, path=it.path.replace(str(path), name)) for it in found if isinstance(it, FailedSource)]
        given = [replace(item, id=item.id or name) for item in found if isinstance(item, SourceDocument)]
        return self.put([(item, name) for item in given], tenant=tenant, what=name, unread=failed)

    def delete(self, document_ids: Sequence[str], *, tenant: str) -> int:
        """Delete those of the documents that the tenant has; return how many there were."""
        with self._opened() as store:
            deleted = store.delete(list(dict.fromkeys(document_ids)), tenant=tenant)
            store.catch_up()
        self.runs.append(WriteRun(tenant, document_ids[0], IngestReport(pruned=deleted)))
        return deleted

    @contextmanager
    def _opened(self) -> Iterator[KnowledgeStore]:
        """Yield the store, open for writing, to one thread at a time."""
        with self._using:
            self._timer.cancel()
            if self._store is None:
                time.sleep(min(self._wait_s, PAUSE_S))
                self._store = open_store(self._settings, read_only=False, wait_s=self._wait_s)
            try:
                yield self._store
            finally:
                if time.monotonic() > self._release_at:
                    release_memory()
                    self._release_at = time.monotonic() + RELEASE_S
                self._timer = threading.Timer(0 if self._wait_s else IDLE_S, self.close)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Let go of the store."""
        with self._using:
            self._timer.cancel()
            if self._store is not None:
                store, self._store = self._store, None
                store.close()
