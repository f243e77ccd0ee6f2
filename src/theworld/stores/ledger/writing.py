"""Writing to the ledger; every function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from theworld.errors import StoreError
from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.ledger import models
from theworld.stores.ledger.columns import Base
from theworld.stores.ledger.statements import batches
from theworld.stores.records import DocumentRecord, NoteRecord
from theworld.stores.token_codes import TokenCodes, encode_tokens, pack_tokens
from theworld.text import entity_key

LONGEST_NAME = 500
"""Characters of an entity's key: databases index no more than some 2,700 bytes, and no name is so long."""
NoteKey = tuple[str, str]
"""(note id, document id)."""


@dataclass(slots=True)
class _Named:
    """An entity about to be written."""

    label: str
    type: str = "other"
    qid: str | None = None
    title: bool = False


@dataclass(slots=True)
class NoteChanges:
    """What a transaction did to the notes of one tenant."""

    put: list[NoteKey] = field(default_factory=list)
    removed: list[NoteKey] = field(default_factory=list)


def document_rows(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return (row id, content hash) by document id, unknown ids left out."""
    found: dict[str, tuple[int, str]] = {}
    document = models.Document
    for some in batches(ids):
        query = select(document.document_id, document.id, document.content_hash).where(
            document.tenant == tenant, document.document_id.in_(some)
        )
        found.update({row[0]: (row[1], row[2]) for row in connection.execute(query)})
    return found


def remove_documents(connection: Connection, rows: Mapping[str, int]) -> tuple[list[NoteKey], set[int]]:
    """Delete documents with all that hangs on them; return their notes and the entities they named."""
    removed: list[NoteKey] = []
    entities: set[int] = set()
    document_of = {row: document_id for document_id, row in rows.items()}
    for some in batches(list(document_of)):
        notes = connection.execute(
            select(models.Note.note_id, models.Note.document)
            .where(models.Note.document.in_(some))
            .order_by(models.Note.id)
        )
        removed.extend((note_id, document_of[row]) for note_id, row in notes)
        mentioned = select(models.Mention.entity).join(models.Note, models.Note.id == models.Mention.note)
        entities.update(connection.scalars(mentioned.where(models.Note.document.in_(some)).distinct()))
        entities.update(connection.scalars(select(models.Alias.entity).where(models.Alias.document.in_(some))))
        connection.execute(delete(models.Document).where(models.Document.id.in_(some)))
    return removed, entities


def remove_orphans(connection: Connection, entities: Iterable[int]) -> None:
    """Delete those of the entities that nothing names any more."""
    for some in batches(sorted(entities)):
        mentioned = select(models.Mention.id).where(models.Mention.entity == models.Entity.id).exists()
        named = select(models.Alias.document).where(models.Alias.entity == models.Entity.id).exists()
        connection.execute(delete(models.Entity).where(models.Entity.id.in_(some), ~mentioned, ~named))


def insert_documents(connection: Connection, tenant: str, documents: Sequence[DocumentRecord]) -> list[NoteKey]:
    """Insert new documents with notes, vectors, mentions and names; return the notes."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows = [
        {
            "tenant": tenant,
            "document_id": document.id,
            "title": document.title,
            "source": document.source,
            "content_hash": document.content_hash,
            "aliases": list(document.aliases),
            "properties": dict(document.metadata),
            "text": document.text,
            "written_at": now,
        }
        for document in documents
    ]
    ids = _insert_returning(connection, models.Document, rows)
    pairs = [(row, note) for row, document in zip(ids, documents, strict=True) for note in document.notes]
    note_rows = _insert_returning(connection, models.Note, [_note_row(tenant, row, note) for row, note in pairs])
    notes = [note for _, note in pairs]
    _insert(
        connection, models.NoteVector, [v for row, n in zip(note_rows, notes, strict=True) for v in _vectors(row, n)]
    )
    mentions = {row: note.mentions for row, note in zip(note_rows, notes, strict=True)}
    entities = put_entities(connection, tenant, _named(documents, mentions.values()))
    insert_mentions(connection, mentions, entities)
    names = [name for row, document in zip(ids, documents, strict=True) for name in _names(row, document, entities)]
    _insert(connection, models.Alias, names)
    return [(note.id, document.id) for document in documents for note in document.notes]


def _insert_returning(connection: Connection, table: type[Base], rows: list[dict[str, Any]]) -> list[int]:
    if not rows:
        return []
    statement = insert(table).returning(table.__table__.c.id, sort_by_parameter_order=True)
    return list(connection.scalars(statement, rows))


def _insert(connection: Connection, table: type[Base], rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _note_row(tenant: str, document: int, note: NoteRecord) -> dict[str, Any]:
    return {
        "document": document,
        "tenant": tenant,
        "note_id": note.id,
        "ordinal": note.ordinal,
        "start_offset": note.start,
        "end_offset": note.end,
        "language": note.language,
        "text": note.text,
        "section": list(note.section),
        "kind": note.kind,
        "lead": note.lead,
    }


def _vectors(note: int, record: NoteRecord) -> list[dict[str, Any]]:
    return [
        {"note": note, "space": space, **_vector_row(embedded, record.codes.get(space))}
        for space, embedded in record.vectors.items()
    ]


def _vector_row(embedded: Embedded, tokens: TokenCodes | None) -> dict[str, Any]:
    if tokens is None and embedded.tokens is not None:
        tokens = encode_tokens(embedded.tokens)
    ids, codes = (None, None) if tokens is None else pack_tokens(tokens)
    return {
        "dimension": embedded.vector.size,
        "vector": embedded.vector.astype("<f4").tobytes(),
        "token_ids": ids,
        "token_codes": codes,
    }


def _document_names(document: DocumentRecord) -> dict[str, str]:
    """Return the names of a document by key, the title winning over an alias with the same key."""
    names = {entity_key(name): name for name in (*reversed(document.aliases), document.title)}
    return {key: name for key, name in names.items() if 0 < len(key) <= LONGEST_NAME}


def _named(documents: Sequence[DocumentRecord], mentions: Iterable[Iterable[Mention]]) -> dict[str, _Named]:
    found = named_by_mentions(mentions)
    for document in documents:
        title = entity_key(document.title)
        for key, name in _document_names(document).items():
            entity = found.setdefault(key, _Named(label=name))
            if key == title:
                entity.label, entity.title = name, True
    return found


def named_by_mentions(mentions: Iterable[Iterable[Mention]]) -> dict[str, _Named]:
    """Return the entities that mentions name, by key."""
    found: dict[str, _Named] = {}
    for mention in (mention for some in mentions for mention in some):
        key = mention_key(mention)
        if not key:
            continue
        entity = found.setdefault(key, _Named(label=mention.surface))
        entity.qid = entity.qid or mention.qid
        if entity.type == "other":
            entity.type = mention.type
    return found


def mention_key(mention: Mention) -> str:
    """Return the identity of what a mention names; empty for what is too long to be a name."""
    key = mention.key or entity_key(mention.surface)
    return key if len(key) <= LONGEST_NAME else ""


def put_entities(connection: Connection, tenant: str, named: Mapping[str, _Named]) -> dict[str, int]:
    """Insert unknown entities, improve known ones, and return the row ids by key."""
    entity = models.Entity
    ids: dict[str, int] = {}
    for some in batches(list(named)):
        query = select(entity.id, entity.key, entity.label, entity.type, entity.qid).where(
            entity.tenant == tenant, entity.key.in_(some)
        )
        for row in connection.execute(query).all():
            ids[row.key] = row.id
            _improve(connection, row, named[row.key])
    new = [key for key in named if key not in ids]
    rows = [
        {"tenant": tenant, "key": key, "label": named[key].label, "type": named[key].type, "qid": named[key].qid}
        for key in new
    ]
    ids.update(zip(new, _insert_returning(connection, entity, rows), strict=True))
    return ids


def _improve(connection: Connection, row: Any, named: _Named) -> None:
    better = {
        "label": named.label if named.title else row.label,
        "type": named.type if row.type == "other" else row.type,
        "qid": row.qid or named.qid,
    }
    if better != {"label": row.label, "type": row.type, "qid": row.qid}:
        connection.execute(update(models.Entity).where(models.Entity.id == row.id).values(**better))


def insert_mentions(
    connection: Connection, mentions: Mapping[int, Sequence[Mention]], entities: Mapping[str, int]
) -> None:
    """Insert mentions by note row; one whose surface identifies nothing is left out."""
    rows = [
        {
            "note": note,
            "entity": entities[mention_key(mention)],
            "start_offset": mention.start,
            "end_offset": mention.end,
            "surface": mention.surface,
            "type": mention.type,
            "titled": mention.titled,
        }
        for note, some in mentions.items()
        for mention in some
        if mention_key(mention)
    ]
    _insert(connection, models.Mention, rows)


def _names(document: int, record: DocumentRecord, entities: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {"document": document, "entity": entities[key], "name": name} for key, name in _document_names(record).items()
    ]


def log_changes(connection: Connection, tenant: str, changes: NoteChanges) -> None:
    """Give every changed note the next sequence numbers, in place of the one it had."""
    latest = {note: (document, True) for note, document in changes.removed}
    latest.update({note: (document, False) for note, document in changes.put})
    if not latest:
        return
    first = _take_numbers(connection, len(latest))
    for some in batches(list(latest)):
        connection.execute(delete(models.Change).where(models.Change.tenant == tenant, models.Change.note_id.in_(some)))
    rows = [
        {"sequence": first + i, "tenant": tenant, "note_id": note, "document_id": document, "removed": removed}
        for i, (note, (document, removed)) in enumerate(latest.items())
    ]
    _insert(connection, models.Change, rows)


def _take_numbers(connection: Connection, count: int) -> int:
    """Return the first of `count` new numbers; the row stays locked, so numbers become visible in order."""
    statement = update(models.Meta).where(models.Meta.key == "sequence").values(number=models.Meta.number + count)
    last = connection.scalar(statement.returning(models.Meta.number))
    if last is None:
        raise StoreError("the ledger has no sequence number.", remedy="Delete the store and ingest again.")
    return int(last) - count + 1
