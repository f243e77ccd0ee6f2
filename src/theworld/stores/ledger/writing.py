"""Writing to the ledger inside the caller's transaction, of records that are checked before: what could not be stored,
or would break a projection, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import get_args

import numpy as np
from sqlalchemy import Connection, delete, select, update

from theworld.errors import StoreError
from theworld.state import Mention
from theworld.stores.ledger.database import SEPARATOR, batches, found_in, insert_numbered, insert_rows, is_storable
from theworld.stores.ledger.models import Alias, Change, Document, Entity, Meta, Note, NoteVector, row_sum
from theworld.stores.ledger.models import Mention as MentionRow
from theworld.stores.records import DocumentRecord, NoteKind, NoteRecord, filter_terms
from theworld.stores.token_codes import encode_tokens, pack_tokens
from theworld.text import entity_key

LONGEST_NAME = 500
"""Characters of an entity's key: databases index no more than some 2,700 bytes, and no name is so long."""
_VOCABULARY = 1 << 24
"""Ids of tokens are below: how often each occurs is counted in an array over all of them, and models know 250,000."""
_KINDS = get_args(NoteKind)
NoteKey = tuple[str, str]
"""(note id, document id)."""


def check_documents(documents: Sequence[DocumentRecord], dimensions: Mapping[str, int | None]) -> None:
    """Raise StoreError for ids, texts or vectors that cannot be kept; `dimensions` are those of the known spaces."""
    known = {space: dimension for space, dimension in dimensions.items() if dimension is not None}
    for document in documents:
        refused = partial(StoreError, where=f"document {document.id!r}")
        names = {"document id": document.id, "tenant": document.tenant}
        terms = filter_terms(document.metadata, document.id)
        _check_texts(names, (document.title, document.text, document.source, *document.aliases, *terms), refused)
        for key, value in document.metadata.items():
            many = value if isinstance(value, list | tuple | set) else [value]
            if any(isinstance(one, float) and not math.isfinite(one) for one in many):
                what = f"its metadata has a number at {key!r} that is not finite, which databases cannot keep."
                raise refused(what, remedy="Leave it out, or give it as text.")
        ids = [note.id for note in document.notes]
        if len(set(ids)) != len(ids):
            raise refused("two of its notes have the same id.", remedy="Number the notes from 0.")
        for note in document.notes:
            _check_note(note, known)


def _check_note(note: NoteRecord, known: dict[str, int]) -> None:
    refused, surfaces = partial(StoreError, where=f"note {note.id!r}"), (mention.surface for mention in note.mentions)
    _check_texts({"note id": note.id}, (note.text, note.lead, *note.section, *surfaces), refused)
    if note.kind not in _KINDS:
        what = f"its kind {note.kind!r} is none of a note's kinds."
        raise refused(what, remedy=f"Give it one of {', '.join(_KINDS)}.")
    for space, embedded in note.vectors.items():
        vector, tokens, dimension = embedded.vector, embedded.tokens, known.setdefault(space, embedded.vector.size)
        if vector.ndim != 1 or vector.size != dimension or vector.size == 0 or not np.isfinite(vector).all():
            what = f"the vector of space {space!r} must be {dimension} finite numbers, not shape {vector.shape}."
            raise refused(what, remedy="Give a changed model another space name.")
        if tokens is None:
            continue
        if tokens.vectors.shape != (len(tokens.ids), dimension):
            wanted = f"token vectors of space {space!r} must have shape ({len(tokens.ids)}, {dimension})"
            raise refused(f"{wanted}, not {tokens.vectors.shape}.")
        if tokens.ids.size and not 0 <= int(tokens.ids.min()) <= int(tokens.ids.max()) < _VOCABULARY:
            raise refused(f"a token of space {space!r} has a vocabulary id outside 0-{_VOCABULARY - 1}.")


def _check_texts(names: Mapping[str, str], texts: Iterable[str], refused: Callable[..., StoreError]) -> None:
    for what, name in names.items():
        if not name or SEPARATOR in name:
            raise refused(f"the {what} {name!r} is empty or has a control character.")
    if not all(map(is_storable, (*names.values(), *texts))):
        what = "a text has NUL characters or lone surrogates, which databases cannot keep."
        raise refused(what, remedy="Decode the source with its right encoding, or drop these characters.")


def put_documents(connection: Connection, tenant: str, documents: Iterable[DocumentRecord]) -> int:
    """Write a tenant's documents whose content hash is new, each replaced as a whole; return how many."""
    # Of several documents with one id, the last stands, as if they had been put one after the other.
    latest = {document.id: document for document in documents}
    known = _document_rows(connection, tenant, list(latest))
    changed = [d for d in latest.values() if d.id not in known or known[d.id][1] != d.content_hash]
    replaced = {document.id: known[document.id][0] for document in changed if document.id in known}
    removed, entities = _remove_documents(connection, replaced)
    ids = [note.id for document in changed for note in document.notes]
    taken = _note_rows(connection, tenant, ids)
    if taken or len(set(ids)) != len(ids):
        name = next(iter(taken), None) or next(id_ for id_ in ids if ids.count(id_) > 1)
        what, remedy = "the note id belongs to another document already.", "Note ids are `{document id}#{ordinal}`."
        raise StoreError(what, where=f"note {name!r}", remedy=remedy)
    _insert_documents(connection, tenant, changed)
    _remove_orphans(connection, entities)
    put = [(note.id, document.id) for document in changed for note in document.notes]
    _log_changes(connection, tenant, put=put, removed=removed)
    return len(changed)


def delete_documents(connection: Connection, tenant: str, ids: Sequence[str]) -> int:
    """Delete documents with all that hangs on them, and entities that nothing names any more; return how many."""
    rows = _document_rows(connection, tenant, ids)
    removed, entities = _remove_documents(connection, {id_: row for id_, (row, _) in rows.items()})
    _remove_orphans(connection, entities)
    _log_changes(connection, tenant, removed=removed)
    return len(rows)


def replace_mentions(connection: Connection, tenant: str, mentions: Mapping[str, Sequence[Mention]]) -> int:
    """Put other mentions in place of those that notes have; return how many of the notes were known."""
    rows = _note_rows(connection, tenant, list(mentions))
    by_row = {row: mentions[note_id] for note_id, (row, _) in rows.items()}
    old: set[int] = set()
    for some in batches(list(by_row)):
        old.update(connection.scalars(select(MentionRow.entity).where(MentionRow.note.in_(some))))
        connection.execute(delete(MentionRow).where(MentionRow.note.in_(some)))
    _insert_mentions(connection, tenant, by_row)
    _remove_orphans(connection, old)
    _log_changes(connection, tenant, put=[(note_id, document_id) for note_id, (_, document_id) in rows.items()])
    return len(rows)


def _document_rows(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return (row id, content hash) by document id, unknown ids left out."""
    query = select(Document.document_id, Document.id, Document.content_hash).where(Document.tenant == tenant)
    return {row[0]: (row[1], row[2]) for row in found_in(connection, query, Document.document_id, ids)}


def _note_rows(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return (row id, document id) by note id, unknown ids left out."""
    query = select(Note.note_id, Note.id, Document.document_id).join(Document, Document.id == Note.document)
    rows = found_in(connection, query.where(Note.tenant == tenant), Note.note_id, ids)
    return {row[0]: (row[1], row[2]) for row in rows}


def _remove_documents(connection: Connection, rows: Mapping[str, int]) -> tuple[list[NoteKey], set[int]]:
    """Delete documents with all that hangs on them; return their notes and the entities they named."""
    removed: list[NoteKey] = []
    entities: set[int] = set()
    document_of = {row: document_id for document_id, row in rows.items()}
    for some in batches(list(document_of)):
        notes = select(Note.note_id, Note.document).where(Note.document.in_(some)).order_by(Note.id)
        removed.extend((note_id, document_of[row]) for note_id, row in connection.execute(notes))
        mentioned = select(MentionRow.entity).join(Note, Note.id == MentionRow.note)
        entities.update(connection.scalars(mentioned.where(Note.document.in_(some)).distinct()))
        entities.update(connection.scalars(select(Alias.entity).where(Alias.document.in_(some))))
        connection.execute(delete(Document).where(Document.id.in_(some)))
    return removed, entities


def _remove_orphans(connection: Connection, entities: Iterable[int]) -> None:
    """Delete those of the entities that nothing names any more."""
    for some in batches(sorted(entities)):
        mentioned = select(MentionRow.id).where(MentionRow.entity == Entity.id).exists()
        named = select(Alias.document).where(Alias.entity == Entity.id).exists()
        connection.execute(delete(Entity).where(Entity.id.in_(some), ~mentioned, ~named))


def _insert_documents(connection: Connection, tenant: str, documents: Sequence[DocumentRecord]) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows = [
        {name: getattr(document, name) for name in ("title", "source", "content_hash", "text")}
        | {"tenant": tenant, "document_id": document.id, "written_at": now}
        | {"aliases": list(document.aliases), "properties": dict(document.metadata)}
        for document in documents
    ]
    numbered = list(zip(insert_numbered(connection, Document, rows), documents, strict=True))
    same = ("ordinal", "language", "text", "kind", "lead")
    note_rows = [
        {name: getattr(note, name) for name in same}
        | {"document": row, "tenant": tenant, "note_id": note.id, "section": list(note.section)}
        | {"start_offset": note.start, "end_offset": note.end}
        for row, document in numbered
        for note in document.notes
    ]
    written = (note for document in documents for note in document.notes)
    notes = dict(zip(insert_numbered(connection, Note, note_rows), written, strict=True))
    vectors = []
    for row, note in notes.items():
        for space, embedded in note.vectors.items():
            tokens = note.codes.get(space)
            if tokens is None and embedded.tokens is not None:
                tokens = encode_tokens(embedded.tokens)
            ids, codes = (None, None) if tokens is None else pack_tokens(tokens)
            vector = {"dimension": embedded.vector.size, "vector": embedded.vector.astype("<f4").tobytes()}
            vectors.append({"note": row, "space": space, **vector, "token_ids": ids, "token_codes": codes})
    insert_rows(connection, NoteVector, vectors)
    entities = _insert_mentions(connection, tenant, {row: note.mentions for row, note in notes.items()}, documents)
    names = ((row, key, name) for row, document in numbered for key, name in _document_names(document).items())
    insert_rows(connection, Alias, [{"document": row, "entity": entities[k], "name": name} for row, k, name in names])


def _insert_mentions(
    connection: Connection,
    tenant: str,
    mentions: Mapping[int, Sequence[Mention]],
    documents: Sequence[DocumentRecord] = (),
) -> dict[str, int]:
    """Insert mentions by note row, and the entities that they and the documents name; return those by key.

    A mention whose surface identifies nothing, or is too long to be a name, is left out.
    """
    keyed = [
        (note, mention, key)
        for note, some in mentions.items()
        for mention in some
        if 0 < len(key := mention.key or entity_key(mention.surface)) <= LONGEST_NAME
    ]
    entities = _put_entities(connection, tenant, [(key, mention) for _, mention, key in keyed], documents)
    rows = [
        {name: getattr(mention, name) for name in ("surface", "type", "titled")}
        | {"note": note, "entity": entities[key], "start_offset": mention.start, "end_offset": mention.end}
        for note, mention, key in keyed
    ]
    insert_rows(connection, MentionRow, rows)
    return entities


def _document_names(document: DocumentRecord) -> dict[str, str]:
    """Return the names of a document by key, the title winning over an alias with the same key."""
    names = {entity_key(name): name for name in (*reversed(document.aliases), document.title)}
    return {key: name for key, name in names.items() if 0 < len(key) <= LONGEST_NAME}


@dataclass(slots=True)
class _Named:
    """An entity about to be written."""

    label: str
    type: str = "other"
    qid: str | None = None
    title: bool = False


def _put_entities(
    connection: Connection, tenant: str, mentions: Iterable[tuple[str, Mention]], documents: Sequence[DocumentRecord]
) -> dict[str, int]:
    """Insert the entities that mentions (by key) and documents name, improve known ones; return the row ids by key."""
    named: dict[str, _Named] = {}
    for key, mention in mentions:
        entity = named.setdefault(key, _Named(label=mention.surface))
        entity.qid = entity.qid or mention.qid
        if entity.type == "other":
            entity.type = mention.type
    for document in documents:
        title = entity_key(document.title)
        for key, name in _document_names(document).items():
            entity = named.setdefault(key, _Named(label=name))
            if key == title:
                entity.label, entity.title = name, True
    ids: dict[str, int] = {}
    query = select(Entity.id, Entity.key, Entity.label, Entity.type, Entity.qid).where(Entity.tenant == tenant)
    for row in found_in(connection, query, Entity.key, list(named)):
        ids[row.key], new = row.id, named[row.key]
        label, kind = new.label if new.title else row.label, new.type if row.type == "other" else row.type
        better = {"label": label, "type": kind, "qid": row.qid or new.qid}
        if tuple(better.values()) != (row.label, row.type, row.qid):
            better["checksum"] = row_sum(Entity.__table__, {"tenant": tenant, "key": row.key, **better})
            connection.execute(update(Entity).where(Entity.id == row.id).values(**better))
    new_keys = [key for key in named if key not in ids]
    same = ("label", "type", "qid")
    rows = [{"tenant": tenant, "key": key, **{n: getattr(named[key], n) for n in same}} for key in new_keys]
    return ids | dict(zip(new_keys, insert_numbered(connection, Entity, rows), strict=True))


def _log_changes(
    connection: Connection, tenant: str, *, put: Iterable[NoteKey] = (), removed: Iterable[NoteKey] = ()
) -> None:
    """Give every changed note the next sequence numbers, in place of the one it had."""
    latest = {note: (document, True) for note, document in removed}
    latest.update({note: (document, False) for note, document in put})
    if not latest:
        return
    # The row of the sequence stays locked, so that numbers become visible in order.
    taken = update(Meta).where(Meta.key == "sequence").values(number=Meta.number + len(latest))
    last = connection.scalar(taken.returning(Meta.number))
    if last is None:
        raise StoreError("the ledger has no sequence number.", remedy="Delete the store and ingest again.")
    for some in batches(list(latest)):
        connection.execute(delete(Change).where(Change.tenant == tenant, Change.note_id.in_(some)))
    rows = [
        {"sequence": sequence, "tenant": tenant, "note_id": note, "document_id": document, "removed": gone}
        for sequence, (note, (document, gone)) in enumerate(latest.items(), start=int(last) - len(latest) + 1)
    ]
    insert_rows(connection, Change, rows)
