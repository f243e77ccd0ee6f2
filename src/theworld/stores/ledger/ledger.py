"""The ledger as the rest of the project sees it: batches in, records out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import func, select, union
from sqlalchemy.orm import aliased

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import LedgerSettings
from theworld.state import Mention as MentionRecord
from theworld.stores.ledger import opening, reading, writing
from theworld.stores.ledger.database import Database, findable, found_in
from theworld.stores.ledger.graph_tables import GraphTables
from theworld.stores.ledger.models import Alias, Base, Document, Entity, Mention, Meta, Note, NoteVector, row_sum
from theworld.stores.protocols import NoteChange
from theworld.stores.records import DocumentRecord, StoredNote

_SEQUENCE = select(Meta.number).where(Meta.key == "sequence")
_IDENTITY = select(Meta.number).where(Meta.key == "identity")
_NAMES = ("note_id", "document_id", "key", "surface", "name", "space", "kind")
"""Columns by the first of which a message names a row."""
_PAGE = 1000


class Ledger(AbstractContextManager["Ledger"]):
    """Documents, notes, vectors, mentions and their changes in a relational database.

    Thread-safe. Every write is one transaction; a failed one leaves nothing. Errors of the database come as StoreError.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._writing, self._reading = database.writing, database.reading
        self.graph = GraphTables(database)
        self.where, self.remote = database.where, database.remote
        """File or address, and whether it lies on a server, with any number of writers."""

    @classmethod
    def open(
        cls, folder: Path, settings: LedgerSettings | None = None, *, create: bool = False, writable: bool = False
    ) -> Self:
        """Open the ledger of a store: a SQLite file in its folder, or the server that the settings name.

        Raises StoreError when it is damaged or incomplete, StoreVersionError when its schema is another,
        EngineUnavailableError when the server cannot be reached.
        """
        return cls(opening.open_database(folder, settings, create=create, writable=writable))

    def sequence(self) -> int:
        """Return the number of the last change (about 0.1 ms: asked at the start of every query)."""
        return self.database.glance(_SEQUENCE) or 0

    def identity(self) -> str:
        """Return 16 hex digits that no other ledger has: what is derived from it elsewhere is kept under this name."""
        return f"{self.database.glance(_IDENTITY):016x}"

    def put(self, documents: Sequence[DocumentRecord]) -> int:
        """Write documents whose content hash is new, each replaced as a whole; return how many."""
        by_tenant: dict[str, list[DocumentRecord]] = {}
        for document in documents:
            by_tenant.setdefault(document.tenant, []).append(document)
        spaces = sorted({space for document in documents for note in document.notes for space in note.vectors})
        with self._writing(list(by_tenant)) as connection:
            query = select(NoteVector.dimension).limit(1)
            known = {space: connection.scalar(query.where(NoteVector.space == space)) for space in spaces}
            writing.check_documents(documents, known)
            return sum(writing.put_documents(connection, tenant, some) for tenant, some in by_tenant.items())

    def delete(self, document_ids: Sequence[str], *, tenant: str) -> int:
        """Delete documents with their notes, vectors, mentions, edges and orphaned entities; return how many."""
        with self._writing([tenant]) as connection:
            return writing.delete_documents(connection, findable(tenant), [findable(id_) for id_ in document_ids])

    def set_mentions(self, tenant: str, mentions: Mapping[str, Sequence[MentionRecord]]) -> int:
        """Replace the mentions of notes; return how many of the notes were known."""
        sought = {findable(note_id): some for note_id, some in mentions.items()}
        with self._writing([tenant]) as connection:
            return writing.replace_mentions(connection, findable(tenant), sought)

    def document_hashes(self, tenant: str) -> dict[str, str]:
        """Return the content hash by document id."""
        query = select(Document.document_id, Document.content_hash).where(Document.tenant == findable(tenant))
        return dict(self.database.rows(query.order_by(Document.document_id)))

    def document_sources(self, tenant: str) -> dict[str, str]:
        """Return where each document was read from, by its id."""
        query = select(Document.document_id, Document.source).where(Document.tenant == findable(tenant))
        return dict(self.database.rows(query.order_by(Document.document_id)))

    def titles(self, tenant: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return (document id, title, aliases), ordered by document id."""
        query = select(Document.document_id, Document.title, Document.aliases)
        rows = self.database.rows(query.where(Document.tenant == findable(tenant)).order_by(Document.document_id))
        return [(id_, title, tuple(aliases)) for id_, title, aliases in rows]

    def notes(self, ids: Sequence[str], *, tenant: str, mentions: bool = True) -> dict[str, StoredNote]:
        """Return notes by id, unknown ones left out; without mentions, most of the time it takes is saved."""
        wanted = [findable(id_) for id_ in dict.fromkeys(ids)]
        with self._reading(patient=False) as connection:
            mine = reading.NOTES.where(Note.tenant == findable(tenant))
            rows = list(found_in(connection, mine, Note.note_id, wanted))
            found = {note.id: note for note in reading.stored(connection, rows, mentions=mentions)}
        if not found.keys() <= set(wanted):
            raise EngineUnavailableError("the ledger answered with a note that was not asked for.", where=self.where)
        return found

    def has_notes(self, tenant: str) -> bool:
        """Return whether the tenant has any note (about 0.1 ms)."""
        query = select(Note.id).where(Note.tenant == findable(tenant)).limit(1)
        with self._reading(patient=False) as connection:
            return connection.scalar(query) is not None

    def text(self, document_id: str, start: int, end: int, *, tenant: str) -> str:
        """Return document.text[start:end], empty for a document that is unknown."""
        query = select(func.substr(Document.text, start + 1, end - start))
        query = query.where(Document.tenant == findable(tenant), Document.document_id == findable(document_id))
        with self._reading(patient=False) as connection:
            return connection.scalar(query) or ""

    def iter_notes(self, tenant: str, *, mentions: bool = True) -> Iterator[StoredNote]:
        """Yield all notes in the order they were written, without holding a transaction open.

        Without `mentions` they have none, which takes a fraction of the time.
        """
        query, last = reading.NOTES.where(Note.tenant == findable(tenant)).order_by(Note.id).limit(500), 0
        while True:
            with self._reading() as connection:
                rows = connection.execute(query.where(Note.id > last)).all()
                notes = reading.stored(connection, rows, mentions=mentions)
            yield from notes
            if not rows:
                return
            last = rows[-1].id

    def known_names(self, tenant: str) -> dict[str, tuple[str, str, int]]:
        """Return (label, type, number of notes naming it) by entity key, titles and aliases included."""
        tenant = findable(tenant)
        mentioned = select(Mention.entity.label("entity"), Mention.note.label("note"))
        titled = select(Alias.entity.label("entity"), Note.id.label("note"))
        naming = union(
            mentioned.join(Note, Note.id == Mention.note).where(Note.tenant == tenant),
            titled.join(Note, Note.document == Alias.document).where(Note.tenant == tenant),
        ).subquery()
        counts = select(naming.c.entity, func.count().label("notes")).group_by(naming.c.entity).subquery()
        query = select(Entity.key, Entity.label, Entity.type, func.coalesce(counts.c.notes, 0))
        query = query.outerjoin(counts, counts.c.entity == Entity.id).where(Entity.tenant == tenant)
        return {key: (label, kind, notes) for key, label, kind, notes in self.database.rows(query.order_by(Entity.key))}

    def changes(
        self, after: int, limit: int, parts: reading.NoteParts = reading.EVERY_PART
    ) -> tuple[list[NoteChange], int]:
        """Return the next changes after a sequence number, and the number a projection that applied them stands at."""
        with self._reading() as connection:
            last = connection.scalar(_SEQUENCE) or 0
            found = reading.read_changes(connection, after, last, limit, parts)
        return found, found[-1].sequence if len(found) == limit else last

    def counts(self) -> dict[str, dict[str, Any]]:
        """Return by tenant the numbers of `documents` and `notes`, and of notes by `languages` and by `spaces`."""
        documents = select(Document.tenant, func.count()).group_by(Document.tenant).order_by(Document.tenant)
        languages = select(Note.tenant, Note.language, func.count()).group_by(Note.tenant, Note.language)
        spaces = select(Note.tenant, NoteVector.space, func.count()).join(Note, Note.id == NoteVector.note)
        spaces = spaces.group_by(Note.tenant, NoteVector.space).order_by(NoteVector.space)
        found: dict[str, dict[str, Any]] = {}
        with self._reading() as connection:
            for tenant, count in connection.execute(documents):
                found[tenant] = {"documents": count, "notes": 0, "languages": {}, "spaces": {}}
            for tenant, language, count in connection.execute(languages.order_by(Note.language)):
                found[tenant]["notes"] += count
                found[tenant]["languages"][language] = count
            for tenant, space, count in connection.execute(spaces):
                found[tenant]["spaces"][space] = count
        return found

    def other_spaces(self, language: str, space: str) -> dict[str, int]:
        """Return how many notes of a language have vectors, but none in this space, by the space they have."""
        wanted = aliased(NoteVector)
        has_it = select(wanted.note).where(wanted.note == Note.id, wanted.space == space).exists()
        query = select(NoteVector.space, func.count()).join(Note, Note.id == NoteVector.note)
        query = query.where(Note.language == language, NoteVector.space != space, ~has_it)
        return dict(self.database.rows(query.group_by(NoteVector.space).order_by(NoteVector.space)))

    def check(self) -> None:
        """Read everything; raises StoreError naming the first row that is not as it was written."""
        self.database.check(whole=True)
        with self._reading() as connection:
            for table in (table for table in Base.metadata.sorted_tables if "checksum" in table.columns):
                for row in connection.execution_options(yield_per=_PAGE).execute(select(table)).mappings():
                    if row["checksum"] not in (None, row_sum(table, row)):
                        name = next(row[key] for key in _NAMES if key in row)
                        what = f"the ledger is damaged: {table.name} {name!r} is not as it was written."
                        raise StoreError(what, where=self.where, remedy="Restore a backup, or ingest into a new store.")

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def __exit__(self, *_error: object) -> None:
        self.close()
