"""What has to be done: sources read, split and compared with what the store holds. Writes nothing."""

from __future__ import annotations

import filecmp
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING

from theworld.errors import IngestionError
from theworld.ingestion.notes import NoteSpan, iter_notes
from theworld.ingestion.readers import SourceDocument, read_source
from theworld.ingestion.report import FailedSource, IngestProgress
from theworld.ingestion.sources import SourceFile, Sources, as_path, is_url
from theworld.settings import NoteSettings
from theworld.state.answers import is_of_its_folder
from theworld.stores.records import content_hash
from theworld.text import without_qualifier

if TYPE_CHECKING:
    from theworld.models.registry import Models

PROCESSING = "notes-28"
"""Changes whenever the same text would be processed in another way, so that everything is made anew. Hashes begin with
it: what was made by an earlier version is known by that."""

Reading = tuple[SourceDocument, Iterable[NoteSpan]] | FailedSource
"""A document of a source with its notes, or what could not be read."""
_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_Namesake = tuple[SourceDocument, tuple[NoteSpan, ...], SourceFile]
"""A document with its notes, of a file whose name another one has too."""


def read_file(file: SourceFile, limits: NoteSettings) -> Iterator[Reading]:
    """Yield the documents of a file, each with its notes as they are found."""
    source = str(file.path)
    try:
        with file.local_copy() as (path, root):
            for found in read_source(path, root, file.walked):
                if isinstance(found, FailedSource):
                    yield replace(found, path=found.path.replace(str(path), source))
                else:
                    yield found, divided(found, limits)
    except IngestionError as error:
        yield FailedSource(source, str(IngestionError(error.what, remedy=error.remedy)))


def divided(document: SourceDocument, limits: NoteSettings) -> Iterator[NoteSpan]:
    """Yield the notes of a document."""
    start, title = document.body_start, document.title
    kind = {"passage": document.passage, "apart": document.apart}
    return iter_notes(document.text, limits, start=start, blocks=document.blocks, title=title, **kind)


def folders_of_namesakes(files: Iterable[str]) -> dict[str, str]:
    """Return, by the path of each file that shares its name with others, as much of its folder as tells it from them.

    Pages of a manual for several platforms or versions share titles and most of their words. What stands for its folder
    (`index.md`) has the folder's name with its own.
    """
    alike: dict[str, list[PurePosixPath]] = defaultdict(list)
    for path in map(PurePosixPath, files):
        alike["/".join(path.parts[-2 if is_of_its_folder(path.name) else -1 :])].append(path)
    found: dict[str, str] = {}
    for paths in alike.values():
        if len(paths) > 1:
            ends = {path: ["/".join(path.parts[-n:-1]) for n in range(2, len(path.parts) + 1)] for path in paths}
            often = Counter(end for some in ends.values() for end in some)
            for path in paths:
                found[str(path)] = next((end for end in ends[path] if often[end] == 1), "/".join(path.parts[:-1]))
    return found


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """A document that is new or changed."""

    id: str
    source: str
    document: SourceDocument
    spans: tuple[NoteSpan, ...]
    content_hash: str
    called: str = ""
    """What messages call it, where that is not its source."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its aliases, and its title without a bracketed qualifier."""
        title = self.document.title
        bare = (without_qualifier(title),) if without_qualifier(title) != title else ()
        return tuple(dict.fromkeys((*self.document.aliases, *bare)))


@dataclass(slots=True)
class Plan:
    """Decides which documents have to be made, and keeps what reading has found."""

    limits: NoteSettings
    models: Models
    """Those that make the notes: their names are part of what a document was made with."""
    known: Mapping[str, str]
    """Content hash by document id, of the documents in the store."""
    remake: bool = False
    """True makes every document anew."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Source by document id, of the documents in the store."""
    changed: list[PlannedDocument] = field(default_factory=list)
    """Documents to write, in the order of their sources."""
    remade: set[str] = field(default_factory=set)
    """Ids of those in `changed` that an earlier version of the program has made in another way."""
    unchanged: int = 0
    failed: list[FailedSource] = field(default_factory=list)
    _owners: dict[str, str] = field(default_factory=dict)
    """Source by document id, of every document met."""
    _complete: set[str] = field(default_factory=set)
    """Sources of which everything could be read."""

    def read(self, sources: Sources, readings: Iterable[Iterable[Reading]], progress: IngestProgress) -> None:
        """Take in what was read of each source, in order."""
        self.failed += sources.failed
        self._complete |= sources.included
        progress.start("read", sum(file.size for file in sources.files))
        left = 0

        def reached(notes: Iterable[NoteSpan]) -> Iterator[NoteSpan]:
            """Yield notes, telling how many more bytes of their file have been read with them."""
            nonlocal left
            for note in notes:
                if steps := min(len(note.text.encode("utf-8", "surrogatepass")), left):
                    left -= steps
                    progress.advance("read", steps)
                yield note

        folders, namesakes = folders_of_namesakes([file.id for file in sources.files]), list[_Namesake]()
        for file, found in zip(sources.files, readings, strict=True):
            failures, left = len(self.failed), file.size
            try:
                for one in found:
                    if isinstance(one, FailedSource):
                        self.failed.append(one)
                        continue
                    document, notes = one
                    if document.id or not folders.get(file.id):
                        self.add(document, reached(notes), document.id or file.id, str(file.path))
                    else:
                        namesakes.append((document, tuple(reached(notes)), file))
            except _MISTAKES as error:  # in what reads this file; the others are read all the same
                reason = f"it could not be read: an unexpected {type(error).__name__} ({error})"
                self.failed.append(FailedSource(str(file.path), reason))
            if len(self.failed) == failures:
                self._complete.add(str(file.path))
            if left:
                progress.advance("read", left)
        # Only where the title comes again, too: `en/ada.md` and `zh/ada.md` may be named in two languages.
        often = Counter(document.title for document, *_ in namesakes)
        for document, notes, file in namesakes:
            named = f"{document.title} ({folders[file.id]})" if often[document.title] > 1 else document.title
            self.add(replace(document, title=named), notes, file.id, str(file.path))

    def add(
        self, document: SourceDocument, notes: Iterable[NoteSpan], identity: str, source: str, *, given: bool = False
    ) -> None:
        """Take in one document with its notes; one `given` in memory goes by its id, and its form may be another."""
        called = identity if given else source
        if identity in self._owners:
            taken = "given more than once" if given else f"already taken by {self._owners[identity]}"
            self.failed.append(FailedSource(called, f"the document id {identity!r} is {taken}"))
            return
        kept = self.sources.get(identity, source)
        if kept != source and not document.id and _is_another(kept, source):
            how = f"to keep both, ingest a folder above them; to replace it, theworld delete {quote(identity)} first"
            self.failed.append(FailedSource(called, f"the document id {identity!r} is already taken by {kept}; {how}"))
            return
        self._owners[identity] = source
        spans = tuple(notes)
        languages = sorted({span.language for span in spans})
        pairs = ((self.models.embedders[language], self.models.taggers[language]) for language in languages)
        models = [model.name for pair in pairs for model in pair]
        plain = json.dumps([document.aliases, document.metadata], ensure_ascii=False, sort_keys=True)
        limits = self.limits.model_dump_json()
        form = ("blocks",) if given and document.blocks else ()
        digest = f"{PROCESSING}:{content_hash(source, document.title, document.text, plain, limits, *models, *form)}"
        known = self.known.get(identity)
        if known == digest and not self.remake:
            self.unchanged += 1
            return
        self.changed.append(PlannedDocument(identity, source, document, spans, digest, called))
        if known is not None and not known.startswith(f"{PROCESSING}:"):
            self.remade.add(identity)

    def gone(self, roots: Sequence[Path]) -> list[str]:
        """Return those of the stored documents' ids that came from one of the roots and are there no longer, ordered.

        A document is gone when its file is, or when its corpus file was read without a failure and lacks it. Files that
        are there but could not be read keep their documents.
        """
        return sorted(
            identity
            for identity, source in self.sources.items()
            if identity not in self._owners
            and any(PurePath(source).is_relative_to(PurePath(str(root))) for root in roots)
            and (source in self._complete or not _is_there(source))
        )


def _is_another(kept: str, source: str) -> bool:
    """Return whether a stored document's file is still there, on this machine, and holds something else."""
    both = os.path.isabs(kept) and os.path.isfile(kept) and os.path.isfile(source)
    return both and not filecmp.cmp(kept, source, shallow=False)


def _is_there(source: str) -> bool:
    """Return whether a file, or a link that leads nowhere, is there, or may be: its folder cannot be looked into."""
    try:
        return as_path(source).exists() if is_url(source) else bool(os.lstat(source))
    except OSError as error:
        return not isinstance(error, FileNotFoundError | NotADirectoryError)
