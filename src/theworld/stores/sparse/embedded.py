"""The sparse projection in a tantivy index on disk."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tantivy
from tantivy import Occur, Query

from theworld.errors import StoreError
from theworld.stores.engine_access import sendable_terms
from theworld.stores.files import DELETE, REREAD, Sums, check_sums, is_damage, read_json, sums_of, write_atomically
from theworld.stores.protocols import Hit, NoteChange, best_hits
from theworld.stores.records import Filters, filter_terms, indexed_words, is_text, query_words

FORMAT = 5
"""Raised whenever the schema, the filter terms or the tokens change, so that old indexes are built anew."""

_HEAP_BYTES = 50_000_000
_NOT_SCORED = 0.0
RENEWED_ANYWAY, RENEWED_FOR_EACH = 1000, 200
"""Notes that are indexed anew to be rid of replaced ones: so many (a fifth of a second), and more for each replaced
one, which took its models about as long."""
_EVERY = "\x1f"
"""A tenant that every note has besides its own: its document frequency counts replaced notes too."""


class TantivySparse:
    """BM25 (k1 = 1.2, b = 0.75) over title, headings, lead and text; document frequencies are those of the whole index.

    `applied.json` names the folder of the index and the last change applied; it is replaced atomically after tantivy's
    commit. A crash in between only repeats changes, and each note is deleted before it is added. Thread-safe; readers
    in other processes see a commit after `refresh`.
    """

    def __init__(self, folder: Path, *, writable: bool = False) -> None:
        """Open the index in a folder; a reader of a folder without index sees an empty store until `refresh`."""
        self._folder, self._writable = folder, writable
        self._state = folder / "applied.json"
        builder = tantivy.SchemaBuilder()
        for name in ("key", "tenant", "terms", "note"):
            builder.add_text_field(name, stored=name == "note", tokenizer_name="raw", index_option="basic")
        builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.build()
        self._opened: OpenIndex | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._sums: Sums = {}
        self.applied = 0
        """Sequence number of the last change applied durably."""
        self._lock = threading.RLock()
        self.outdated = ""
        """What is wrong when the folder holds another format, which a reader cannot build anew."""
        self.refresh()
        if writable:
            self._remove_unused()

    @property
    def replaced(self) -> int:
        """How many notes were replaced or removed and still count in the document frequencies."""
        if self._opened is None:
            return 0
        searcher = self._opened.index.searcher()
        return int(searcher.doc_freq("tenant", _EVERY) - searcher.num_docs)

    @property
    def worth_renewing(self) -> bool:
        """Whether replaced notes count in the scores and indexing all notes anew is cheap beside what replaced them."""
        if self._opened is None or not (replaced := self.replaced):
            return False
        return bool(self._opened.index.searcher().num_docs <= RENEWED_ANYWAY + RENEWED_FOR_EACH * replaced)

    def refresh(self) -> None:
        """See what has been committed since, by this process or another."""
        with self._lock:
            try:
                if REREAD(self._read):
                    return
            except BaseException as error:
                if not is_damage(error):
                    raise
                if not self._writable:
                    raise self._broken(error) from error
            self._switch(None)
            self.applied = 0
            if self._writable:
                self.renew([], 0)

    def _read(self) -> bool:
        """Open the index that the state names; False when there is none that this program can use."""
        state, self.outdated = read_json(self._state), ""
        if state is not None and state["format"] != FORMAT:
            self.outdated = f"the sparse index has format {state['format']}, this program {FORMAT}."
        if state is None or self.outdated:
            return False
        folder, sums = self._folder / str(state["index"]), state["files"]
        _check_described(folder, state["described"])
        if self._opened is None or folder != self._opened.folder:
            check_sums(folder, _of_segments(folder, sums), whole=False)
            self._switch(OpenIndex(folder))
        self._there().reload()
        self.applied, self._sums = int(state["applied"]), sums
        return True

    def _broken(self, error: BaseException) -> StoreError:
        return StoreError(f"the sparse index is damaged: {error}.", where=str(self._folder), remedy=DELETE)

    def _there(self) -> OpenIndex:
        if self._opened is None:
            raise self._broken(ValueError("there is no index"))
        return self._opened

    def _remember(self, sequence: int) -> None:
        folder = self._there().folder
        self._sums = _sums_in(folder, self._sums)
        state = {"format": FORMAT, "applied": sequence, "index": folder.name, "files": self._sums}
        write_atomically(self._state, {**state, "described": _described(folder)})
        self.applied = sequence

    def _remove_unused(self) -> None:
        for folder in self._folder.iterdir():
            if folder.is_dir() and folder != self._there().folder:
                shutil.rmtree(folder, ignore_errors=True)

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Apply changes, commit, and remember `upto`; on failure everything is as before."""
        with self._lock:
            latest = {(change.tenant, change.note_id): change for change in changes}
            self._check_writable()
            if self._writer is None:
                self._writer = self._there().index.writer(_HEAP_BYTES, 1)
            _write(self._writer, latest.values())
            self._remember(upto)
            if latest:
                self._there().index.reload()

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreError("the sparse index was opened for reading.", where=str(self._folder))

    def renew(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Put a new index of just these notes in place of the old one, which is searched until the new one is there."""
        with self._lock:
            self._check_writable()
            folder = self._folder / f"index-{secrets.token_hex(6)}"
            folder.mkdir(parents=True)
            opened = OpenIndex(folder, tantivy.Index(self._schema, str(folder)))
            writer = opened.index.writer(_HEAP_BYTES, 1)
            _write(writer, changes)
            opened.reload()
            self._switch(opened, writer)
            self.outdated = ""
            self._remember(upto)
            self._remove_unused()

    def check(self) -> None:
        """Read every file; raises ValueError naming one whose content has changed."""
        folder, state = self._there().folder, read_json(self._state)
        if state is None:
            raise ValueError(f"{self._state.name} has changed")
        _check_described(folder, state["described"])
        check_sums(folder, _of_segments(folder, self._sums), whole=True)

    def clear(self) -> None:
        """Forget everything; nothing of a damaged index is read for it."""
        with self._lock:
            self._writer = None
            self.renew([], 0)

    def search(self, query: str, *, tenant: str, filters: Filters, limit: int) -> list[Hit]:
        """Return the best notes by the BM25 of any query token; a token asked twice counts twice."""
        if limit < 1 or (opened := self._opened) is None or not is_text(tenant):
            return []
        searcher = opened.index.searcher()
        alone = searcher.doc_freq("tenant", tenant) == searcher.doc_freq("tenant", _EVERY)
        words = []
        for token, count in query_words(query).items():
            term = Query.term_query(self._schema, "body", token, index_option="freq")
            words.append((Occur.Should, term if count == 1 else Query.boost_query(term, float(count))))
        required = [] if alone else [("tenant", [tenant])]
        required += [("terms", some) for some in sendable_terms(filters)]
        if not words or not all(values for _, values in required):
            return []
        parts = [(Occur.Must, Query.boolean_query(words))]
        for field, values in required:
            terms = [Query.term_query(self._schema, field, value, index_option="basic") for value in values]
            any_of_them = Query.boolean_query([(Occur.Should, term) for term in terms])
            parts.append((Occur.Must, Query.const_score_query(any_of_them, _NOT_SCORED)))
        # Of words alone where every note is the tenant's: tantivy then leaves out what cannot be among the best.
        built = Query.boolean_query(parts if required else words)

        def search(size: int) -> list[Hit]:
            found = searcher.search(built, size, count=False).hits
            return [Hit(searcher.doc(address).get_first("note") or "", round(score, 5)) for score, address in found]

        return best_hits(search, limit)

    def _switch(self, opened: OpenIndex | None, writer: tantivy.IndexWriter | None = None) -> None:
        """Search another index from now on; then wait for merges of the one before, and let go of its files."""
        old, old_writer = self._opened, self._writer
        self._opened, self._writer = opened, writer
        if old_writer is not None:
            old_writer.wait_merging_threads()
        if old is not None:
            old.close()

    def close(self) -> None:
        """Wait for merges and let go of the files."""
        with self._lock:
            if self._writer is not None:
                self._writer.wait_merging_threads()
                self._writer = None
                with suppress(OSError, ValueError):  # what was merged has sums now
                    self._remember(self.applied)
            self._switch(None)


class OpenIndex:
    """An index opened in its own folder, or in a temporary one of links where that may not be written to.

    tantivy makes a lock file even to read.
    """

    def __init__(self, folder: Path, made: tantivy.Index | None = None) -> None:
        self.folder = folder
        self._links = None if os.access(folder, os.W_OK) else TemporaryDirectory(prefix="theworld-index-")
        self.index = made or tantivy.Index.open(str(self._place()))
        self.index.config_reader("manual")  # it sees a commit when told to

    def _place(self) -> Path:
        """Return the folder to open, in which all files are that the index has now."""
        if self._links is None:
            return self.folder
        place = Path(self._links.name)
        for file in self.folder.iterdir():
            link = place / file.name
            if file.suffix != ".lock" and not link.is_symlink():
                link.symlink_to(file.absolute())
        return place

    def reload(self) -> None:
        """See the last commit; raises ValueError when the files are damaged."""
        self._place()
        try:
            self.index.reload()
        except ValueError:
            if self._links is None:
                raise
            # Another process committed after the files were linked, and no lock keeps it from that.
            self._place()
            self.index.reload()

    def close(self) -> None:
        """Remove the links."""
        if self._links is not None:
            self._links.cleanup()


def _described(folder: Path) -> dict[str, Any]:
    """Return what of tantivy's own description of an index must not change: schema, settings, sizes of segments."""
    described = json.loads((folder / "meta.json").read_text("utf-8"))
    sizes = {segment["segment_id"]: segment["max_doc"] for segment in described["segments"]}
    return {"schema": described["schema"], "settings": described["index_settings"], "sizes": sizes}


def _check_described(folder: Path, known: Mapping[str, Any]) -> None:
    """Raise ValueError where tantivy's description has changed; segments may have come and gone by merging."""
    found = _described(folder)
    same = all(known["sizes"].get(segment, size) == size for segment, size in found["sizes"].items())
    if not same or any(found[part] != known[part] for part in ("schema", "settings")):
        raise ValueError("the content of meta.json has changed")


def _of_segments(folder: Path, sums: Sums) -> Sums:
    """Return those of the sums that are of files of segments in use.

    A segment that was merged away since the sums were made has no files any more; one that it was merged into has no
    sums yet.
    """
    used = {segment.replace("-", "") for segment in _described(folder)["sizes"]}
    return {name: found for name, found in sums.items() if name.partition(".")[0] in used}


@REREAD.wraps
def _sums_in(folder: Path, known: Sums) -> Sums:
    """Return the sums of the files of segments in use; tantivy may merge segments away meanwhile, then look again."""
    names = _of_segments(folder, {file.name: () for file in sorted(folder.iterdir())})
    return sums_of((folder / name for name in names), known)


def _write(writer: tantivy.IndexWriter, changes: Iterable[NoteChange]) -> None:
    """Write changes and commit, or nothing."""
    try:
        for change in changes:
            key = f"{change.tenant}\x1f{change.note_id}"
            writer.delete_documents_by_term("key", key)
            if change.note is None:
                continue
            document = tantivy.Document()
            for field, text in (("key", key), ("tenant", change.tenant), ("tenant", _EVERY), ("note", change.note_id)):
                document.add_text(field, text)
            for term in sorted(filter_terms(change.metadata, change.document_id)):
                document.add_text("terms", term)
            document.add_text("body", " ".join(indexed_words(change.title, change.note)))
            writer.add_document(document)
        writer.commit()
    except BaseException:
        writer.rollback()
        raise
