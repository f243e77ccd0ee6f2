"""Reading from the ledger; every function works on the caller's connection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.ledger import models
from theworld.stores.ledger.database import found_in
from theworld.stores.protocols import NoteChange
from theworld.stores.records import NoteRecord, StoredNote
from theworld.stores.token_codes import TokenCodes, unpack_tokens


@dataclass(frozen=True, slots=True)
class NoteParts:
    """Which parts of a note a reader of changes wants; the others come empty."""

    text: bool = True
    """The text, with section, kind and lead."""
    mentions: bool = True
    vectors: bool = True
    """Vectors and token codes, by far the largest part."""


EVERY_PART = NoteParts()

_N, _D, _C = models.Note, models.Document, models.Change
NOTES = select(
    *(_N.id, _N.note_id, _D.document_id, _N.tenant, _D.title, _D.source, _N.ordinal, _N.text, _N.start_offset),
    *(_N.end_offset, _N.language, _D.properties, _N.section, _N.kind, _N.lead),
).join(_D, _D.id == _N.document)


def stored(connection: Connection, rows: Sequence[Any], *, mentions: bool) -> list[StoredNote]:
    """Return notes from rows of `NOTES`, whose columns are StoredNote's fields up to the mentions, after the row id."""
    named = read_mentions(connection, [row[0] for row in rows]) if mentions else {}
    # By position: a row's attributes are looked up by name at each access, which shows in every query's time.
    return [StoredNote(*(*row[1:12], tuple(row[12]), *row[13:], tuple(named.get(row[0], ())))) for row in rows]


def read_mentions(connection: Connection, rows: Sequence[int]) -> dict[int, list[Mention]]:
    """Return the mentions of notes by note row, in the order they were written."""
    found: defaultdict[int, list[Mention]] = defaultdict(list)
    mention, entity = models.Mention, models.Entity
    query = select(
        mention.note, mention.surface, mention.type, mention.start_offset, mention.end_offset, mention.titled
    )
    query = query.add_columns(entity.key, entity.qid).join(entity, entity.id == mention.entity)
    query = query.order_by(mention.note, mention.id)
    for note, surface, kind, start, end, titled, key, qid in found_in(connection, query, mention.note, rows):
        read = Mention(surface=surface, type=kind, start=start, end=end, key=key, qid=qid, titled=titled)
        found[note].append(read)
    return found


_CHANGE = (
    select(
        *(_C.sequence, _C.tenant, _C.note_id, _C.document_id, _C.removed, _N.id, _N.ordinal, _N.start_offset),
        *(_N.end_offset, _N.language, _D.title, _D.aliases, _D.properties),
    )
    .outerjoin(_N, (_N.tenant == _C.tenant) & (_N.note_id == _C.note_id))
    .outerjoin(_D, _D.id == _N.document)
    .order_by(_C.sequence)
)
_CHANGE_WITH_TEXT = _CHANGE.add_columns(_N.text, _N.section, _N.kind, _N.lead)


def read_changes(connection: Connection, after: int, upto: int, limit: int, parts: NoteParts) -> list[NoteChange]:
    """Return the next changes with sequence in (after, upto], with just the parts asked for."""
    change = models.Change
    query = (_CHANGE_WITH_TEXT if parts.text else _CHANGE).where(change.sequence > after, change.sequence <= upto)
    rows = connection.execute(query.limit(limit)).all()
    notes = [row.id for row in rows if not row.removed]
    mentions = read_mentions(connection, notes) if parts.mentions else {}
    embedded: defaultdict[int, tuple[dict[str, Embedded], dict[str, TokenCodes]]] = defaultdict(lambda: ({}, {}))
    if parts.vectors:
        table = models.NoteVector
        vectors_of = select(table.note, table.space, table.vector, table.token_ids, table.token_codes)
        for number, space, vector, token_ids, token_codes in found_in(connection, vectors_of, table.note, notes):
            vectors, codes = embedded[number]
            vectors[space] = Embedded(np.frombuffer(vector, "<f4"))
            if token_ids is not None and token_codes is not None:
                codes[space] = unpack_tokens(token_ids, token_codes)
    found = []
    for row in rows:
        if row.removed:
            found.append(NoteChange(row.sequence, row.tenant, row.note_id, row.document_id))
            continue
        vectors, codes = embedded[row.id]
        place = row.start_offset, row.end_offset, row.language
        told = {"section": tuple(row.section), "kind": row.kind, "lead": row.lead} if parts.text else {}
        told |= {"mentions": tuple(mentions.get(row.id, ())), "vectors": vectors, "codes": codes}
        note = NoteRecord(row.note_id, row.ordinal, row.text if parts.text else "", *place, **told)
        known = row.title, tuple(row.aliases), row.properties
        found.append(NoteChange(row.sequence, row.tenant, row.note_id, row.document_id, *known, note))
    return found
