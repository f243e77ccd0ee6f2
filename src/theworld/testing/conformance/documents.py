"""Notes to feed a projection with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theworld.models.protocols import Embedded, TokenVectors
from theworld.state import Mention
from theworld.stores.protocols import NoteChange, Projection
from theworld.stores.records import NoteRecord
from theworld.stores.token_codes import encode_tokens
from theworld.text import detect_language, entity_key

TENANT = "default"


def put(
    note_id: str,
    text: str = "",
    *,
    title: str = "",
    aliases: Sequence[str] = (),
    tenant: str = TENANT,
    metadata: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    vectors: Mapping[str, Embedded] | None = None,
    section: Sequence[str] = (),
    lead: str = "",
) -> NoteChange:
    """Return a note to be put, as the ledger gives it; `names` become mentions, the id up to `#` is its document."""
    mentions = tuple(Mention(surface=name, key=entity_key(name)) for name in names)
    language = detect_language(text)
    given = vectors or {}
    codes = {space: encode_tokens(one.tokens) for space, one in given.items() if one.tokens is not None}
    plain = {space: Embedded(one.vector) for space, one in given.items()}
    note = NoteRecord(
        note_id, 0, text, 0, len(text), language, tuple(section),
        lead=lead, mentions=mentions, vectors=plain, codes=codes,
    )  # fmt: skip
    document = note_id.split("#", maxsplit=1)[0]
    return NoteChange(0, tenant, note_id, document, title, tuple(aliases), metadata or {}, note)


def gone(note_id: str, *, tenant: str = TENANT) -> NoteChange:
    """Return a note to be removed."""
    return NoteChange(0, tenant, note_id, note_id.split("#", maxsplit=1)[0])


def embedded(*numbers: float, tokens: Mapping[int, Sequence[float]] | None = None) -> Embedded:
    """Return a vector with token vectors by vocabulary id (components in [-1, 1])."""
    vector = np.array(numbers, np.float32)
    if tokens is None:
        return Embedded(vector)
    units = np.array([[round(127 * x) for x in unit] for unit in tokens.values()], np.int8)
    return Embedded(vector, TokenVectors(np.array(list(tokens), np.int32), units.reshape(len(tokens), -1)))


def feed(projection: Projection, *changes: NoteChange) -> None:
    """Apply changes after the last one applied."""
    projection.apply(changes, projection.applied + len(changes))


ALIKE_METADATA: tuple[dict[str, str], ...] = ({"a=b": "c"}, {"a": "b=c"}, {"a\\": "=c"}, {"a\\=": "c"}, {"a=": "=c"})
"""Metadata that a careless `key=value` would take for one another."""
