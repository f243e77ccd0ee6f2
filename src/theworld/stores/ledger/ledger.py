"""The ledger as the rest of the project sees it: batches in, records out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, delete, func, insert, select

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import LedgerSettings
from theworld.state import Mention
from theworld.stores.ledger import catalog, models, reading, schema, surroundings, writing
from theworld.stores.ledger.checking import check_documents, is_storable
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.graph_tables import GraphTables
from theworld.stores.ledger.opening import open_database
from theworld.stores.ledger.statements import batches, read_number
from theworld.stores.protocols import NoteChange
from theworld.stores.records import DocumentRecord, Filters, StoredNote

_SEQUENCE = select(models.Meta.number).where(models.Meta.key == "sequence")


@dataclass(frozen=True, slots=True)
class NoteParts:
    """Which parts of a note a reader of changes wants; the others come empty."""

    text: bool = True
    """The text, with section, kind and lead."""
    mentions: bool = True
    """The mentions."""
    vectors: bool = True
    """Vectors and token codes, by far the largest part."""


class Ledger:
    """Documents, notes, vectors, mentions and their changes in a relational database.

    Thread-safe. Every write is one transaction; a failed one leaves nothing. Errors of the database come as StoreError.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writing, self._reading = database.writing, database.reading
        self.graph = GraphTables(database)
        """The ontology graph."""

    @classmethod
    def open(
        cls, folder: Path, settings: LedgerSettings | None = None, *, create: bool = False, writable: bool = False
    ) -> Self:
        """Open the ledger of a store: a SQLite file in its folder, or the server that the settings name.

        Raises StoreError when it is damaged or incomplete, StoreVersionError when its schema is another,
        EngineUnavailableError when the server cannot be reached.
        """
        return cls(open_database(folder, settings, create=create, writable=writable))

    @property
    def where(self) -> str:
        """File or address."""
        return self._database.where

    @property
    def remote(self) -> bool:
        """Whether it lies on a server, with any number of writers."""
        return self._database.remote

    def sequence(self) -> int:
        """Return the number of the last change (about 0.1 ms: asked at the start of every query)."""
        return self._database.glance(_SEQUENCE) or 0

    def identity(self) -> str:
        """Return 16 hex digits that no other ledger has: what is derived from it elsewhere is kept under this name.

        Raises StoreError when a ledger of an older program has none yet and is open for reading only.
        """
        with self._reading() as connection:
            number = read_number(connection, "identity")
        if number is None:
            number = schema.new_identity()
            with self._writing() as connection:
                connection.execute(insert(models.Meta), [{"key": "identity", "number": number}])
        return f"{number:016x}"

    def put(self, documents: Sequence[DocumentRecord]) -> int:
        """Write documents whose content hash is new, each replaced as a whole; return how many."""
        tenants = list(dict.fromkeys(document.tenant for document in documents))
        with self._writing(tenants) as connection:
            check_documents(documents, reading.read_dimensions(connection, _spaces(documents)))
            changed = 0
            for tenant in tenants:
                # Of several documents with one id, the last stands, as if they had been put one after the other.
                latest = {document.id: document for document in documents if document.tenant == tenant}
                changed += _put_tenant(connection, tenant, list(latest.values()))
            return changed

    def delete(self, document_ids: Sequence[str], *, tenant: str) -> int:
        """Delete documents with their notes, vectors, mentions, edges and orphaned entities; return how many."""
        wanted = _storable(document_ids, tenant)
        with self._writing([tenant]) as connection:
            rows = writing.document_rows(connection, tenant, wanted)
            removed, entities = writing.remove_documents(connection, {id_: row for id_, (row, _) in rows.items()})
            writing.remove_orphans(connection, entities)
            writing.log_changes(connection, tenant, writing.NoteChanges(removed=removed))
            return len(rows)

    def set_mentions(self, tenant: str, mentions: Mapping[str, Sequence[Mention]]) -> int:
        """Replace the mentions of notes; return how many of the notes were known."""
        with self._writing([tenant]) as connection:
            rows = _note_rows(connection, tenant, _storable(list(mentions), tenant))
            by_row = {row: mentions[note_id] for note_id, (row, _) in rows.items()}
            old: set[int] = set()
            for some in batches(list(by_row)):
                old.update(connection.scalars(select(models.Mention.entity).where(models.Mention.note.in_(some))))
                connection.execute(delete(models.Mention).where(models.Mention.note.in_(some)))
            entities = writing.put_entities(connection, tenant, writing.named_by_mentions(by_row.values()))
            writing.insert_mentions(connection, by_row, entities)
            writing.remove_orphans(connection, old)
            put = [(note_id, document_id) for note_id, (_, document_id) in rows.items()]
            writing.log_changes(connection, tenant, writing.NoteChanges(put=put))
            return len(rows)

    def document_hashes(self, tenant: str) -> dict[str, str]:
        """Return the content hash by document id."""
        if not is_storable(tenant):
            return {}
        document = models.Document
        query = select(document.document_id, document.content_hash).where(document.tenant == tenant)
        with self._reading() as connection:
            return dict(connection.execute(query.order_by(document.document_id)).all())

    def titles(self, tenant: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return (document id, title, aliases), ordered by document id."""
        if not is_storable(tenant):
            return []
        document = models.Document
        query = select(document.document_id, document.title, document.aliases).where(document.tenant == tenant)
        with self._reading() as connection:
            rows = connection.execute(query.order_by(document.document_id)).all()
        return [(id_, title, tuple(aliases)) for id_, title, aliases in rows]

    def documents(self, tenant: str, search: str, filters: Filters, after: str, limit: int) -> catalog.DocumentPage:
        """Return a page of the documents; see catalog.list_documents."""
        if not is_storable(tenant):
            return catalog.DocumentPage((), 0, None)
        with self._reading() as connection:
            return catalog.list_documents(connection, tenant, search=search, filters=filters, after=after, limit=limit)

    def document(self, document_id: str, *, tenant: str) -> catalog.StoredDocument | None:
        """Return a document whole, None when the tenant has none of that id."""
        if not _storable([document_id], tenant):
            return None
        with self._reading() as connection:
            return catalog.read_document(connection, tenant, document_id)

    def notes(self, ids: Sequence[str], *, tenant: str, mentions: bool = True) -> dict[str, StoredNote]:
        """Return notes by id, unknown ones left out; without mentions, most of the time it takes is saved."""
        wanted = _storable(ids, tenant)
        if not wanted:
            return {}
        with self._reading(patient=False) as connection:
            found = reading.read_notes(connection, tenant, wanted, mentions=mentions)
        if not found.keys() <= set(wanted):
            raise EngineUnavailableError("the ledger answered with a note that was not asked for.", where=self.where)
        return found

    def has_notes(self, tenant: str) -> bool:
        """Return whether the tenant has any note (about 0.1 ms)."""
        if not is_storable(tenant):
            return False
        with self._reading(patient=False) as connection:
            return connection.scalar(select(models.Note.id).where(models.Note.tenant == tenant).limit(1)) is not None

    def text(self, document_id: str, start: int, end: int, *, tenant: str) -> str:
        """Return document.text[start:end], empty for a document that is unknown."""
        if not _storable([document_id], tenant):
            return ""
        piece = func.substr(models.Document.text, start + 1, end - start)
        query = select(piece).where(models.Document.tenant == tenant, models.Document.document_id == document_id)
        with self._reading(patient=False) as connection:
            return connection.scalar(query) or ""

    def iter_notes(self, tenant: str, *, mentions: bool = True) -> Iterator[StoredNote]:
        """Yield all notes in the order they were written, without holding a transaction open.

        Without `mentions` they have none, which takes a fraction of the time.
        """
        row = 0
        while is_storable(tenant):
            with self._reading() as connection:
                notes, row = reading.read_notes_after(connection, tenant, row, 500, mentions=mentions)
            if not notes:
                return
            yield from notes

    def known_names(self, tenant: str) -> dict[str, tuple[str, str, int]]:
        """Return (label, type, number of notes naming it) by entity key, titles and aliases included."""
        if not is_storable(tenant):
            return {}
        with self._reading() as connection:
            return reading.read_names(connection, tenant)

    def surroundings(self, key: str, *, tenant: str, limit: int) -> surroundings.Surroundings | None:
        """Return what stands around an entity key, None when the tenant has no such entity."""
        if not _storable([key], tenant):
            return None
        with self._reading() as connection:
            return surroundings.read_surroundings(connection, tenant, key, limit)

    def near_names(self, key: str, *, tenant: str, limit: int) -> list[str]:
        """Return names of entities most like a key, best first; for an empty key the most named ones."""
        if not is_storable(tenant) or not is_storable(key):
            return []
        with self._reading() as connection:
            if not key:
                return surroundings.read_most_named(connection, tenant, limit)
            return surroundings.read_near_names(connection, tenant, key, limit)

    def changes(self, after: int, limit: int, parts: NoteParts = NoteParts()) -> tuple[list[NoteChange], int]:
        """Return the next changes after a sequence number, and the number a projection that applied them stands at."""
        with self._reading() as connection:
            last = read_number(connection, "sequence") or 0
            found = reading.read_changes(
                connection, after, last, limit, text=parts.text, mentions=parts.mentions, vectors=parts.vectors
            )
        return found, found[-1].sequence if len(found) == limit else last

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return by tenant the numbers of `documents` (key `all`), of notes by `languages` and of notes by `spaces`."""
        with self._reading() as connection:
            return reading.read_counts(connection)

    def other_spaces(self, language: str, space: str) -> dict[str, int]:
        """Return how many notes of a language have vectors, but none in this space, by the space they have."""
        with self._reading() as connection:
            return reading.read_other_spaces(connection, language, space)

    def check(self) -> None:
        """Raise StoreError when the file of the ledger is damaged; a server checks its own."""
        self._database.check()

    def bytes(self) -> int:
        """Return the space that the ledger takes."""
        return self._database.bytes()

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _spaces(documents: Sequence[DocumentRecord]) -> list[str]:
    return sorted({space for document in documents for note in document.notes for space in note.vectors})


def _storable(ids: Sequence[str], tenant: str) -> list[str]:
    """Return the ids once each, without those under which nothing can be stored."""
    return [id_ for id_ in dict.fromkeys(ids) if is_storable(id_)] if is_storable(tenant) else []


def _put_tenant(connection: Connection, tenant: str, documents: list[DocumentRecord]) -> int:
    known = writing.document_rows(connection, tenant, [document.id for document in documents])
    changed = [d for d in documents if d.id not in known or known[d.id][1] != d.content_hash]
    replaced = {document.id: known[document.id][0] for document in changed if document.id in known}
    removed, entities = writing.remove_documents(connection, replaced)
    _refuse_foreign_notes(connection, tenant, changed)
    put = writing.insert_documents(connection, tenant, changed)
    writing.remove_orphans(connection, entities)
    writing.log_changes(connection, tenant, writing.NoteChanges(put=put, removed=removed))
    return len(changed)


def _refuse_foreign_notes(connection: Connection, tenant: str, documents: Sequence[DocumentRecord]) -> None:
    """Raise StoreError when a note id already belongs to another document."""
    ids = [note.id for document in documents for note in document.notes]
    taken = _note_rows(connection, tenant, ids)
    if taken or len(set(ids)) != len(ids):
        name = next(iter(taken), None) or next(id_ for id_ in ids if ids.count(id_) > 1)
        raise StoreError(
            "the note id belongs to another document already.",
            where=f"note {name!r}",
            remedy="Note ids are `{document id}#{ordinal}`.",
        )


def _note_rows(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return (row id, document id) by note id, unknown ids left out."""
    found: dict[str, tuple[int, str]] = {}
    note, document = models.Note, models.Document
    for some in batches(ids):
        query = (
            select(note.note_id, note.id, document.document_id)
            .join(document, document.id == note.document)
            .where(note.tenant == tenant, note.note_id.in_(some))
        )
        found.update({row[0]: (row[1], row[2]) for row in connection.execute(query)})
    return found
