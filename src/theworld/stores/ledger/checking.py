"""Refuses records that could not be stored or would break a projection, before anything is written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import numpy as np

from theworld.errors import StoreError
from theworld.stores.records import DocumentRecord, NoteKind, NoteRecord, filter_terms, is_text

VOCABULARY = 1 << 24
"""Ids of tokens are below: how often each occurs is counted in an array over all of them, and models know 250,000."""
_SEPARATOR = "\x1f"
_KINDS = get_args(NoteKind)


def check_documents(documents: Sequence[DocumentRecord], dimensions: Mapping[str, int | None]) -> None:
    """Raise StoreError for ids, texts or vectors that cannot be kept; `dimensions` are those of the known spaces."""
    known = {space: dimension for space, dimension in dimensions.items() if dimension is not None}
    for document in documents:
        where = f"document {document.id!r}"
        _check_name(document.id, "document id", where)
        _check_name(document.tenant, "tenant", where)
        _check_text((document.title, document.text, document.source, *document.aliases), where)
        _check_text(filter_terms(document.metadata, document.id), where)
        for key, value in document.metadata.items():
            many = value if isinstance(value, list | tuple | set) else [value]
            if any(isinstance(one, float) and not math.isfinite(one) for one in many):
                raise StoreError(
                    f"its metadata has a number at {key!r} that is not finite, which databases cannot keep.",
                    where=where,
                    remedy="Leave it out, or give it as text.",
                )
        ids = [note.id for note in document.notes]
        if len(set(ids)) != len(ids):
            raise StoreError("two of its notes have the same id.", where=where, remedy="Number the notes from 0.")
        for note in document.notes:
            _check_note(note, known)


def _check_note(note: NoteRecord, known: dict[str, int]) -> None:
    where = f"note {note.id!r}"
    _check_name(note.id, "note id", where)
    if note.kind not in _KINDS:
        raise StoreError(
            f"its kind {note.kind!r} is none of a note's kinds.",
            where=where,
            remedy=f"Give it one of {', '.join(_KINDS)}.",
        )
    _check_text([note.text, note.lead, *note.section, *(mention.surface for mention in note.mentions)], where)
    for space, embedded in note.vectors.items():
        vector, tokens, dimension = embedded.vector, embedded.tokens, known.setdefault(space, embedded.vector.size)
        if vector.ndim != 1 or vector.size != dimension or vector.size == 0 or not np.isfinite(vector).all():
            raise StoreError(
                f"the vector of space {space!r} must be {dimension} finite numbers, not shape {vector.shape}.",
                where=where,
                remedy="Give a changed model another space name.",
            )
        if tokens is None:
            continue
        if tokens.vectors.shape != (len(tokens.ids), dimension):
            raise StoreError(
                f"token vectors of space {space!r} must have shape ({len(tokens.ids)}, {dimension}), "
                f"not {tokens.vectors.shape}.",
                where=where,
            )
        if tokens.ids.size and not 0 <= int(tokens.ids.min()) <= int(tokens.ids.max()) < VOCABULARY:
            raise StoreError(f"a token of space {space!r} has a vocabulary id outside 0-{VOCABULARY - 1}.", where=where)


def _check_name(name: str, what: str, where: str) -> None:
    if not name or _SEPARATOR in name:
        raise StoreError(f"the {what} {name!r} is empty or has a control character.", where=where)
    _check_text((name,), where)


def _check_text(texts: Iterable[str], where: str) -> None:
    for text in texts:
        if not is_storable(text):
            raise StoreError(
                "a text has NUL characters or lone surrogates, which databases cannot keep.",
                where=where,
                remedy="Decode the source with its right encoding, or drop these characters.",
            )


def is_storable(text: str) -> bool:
    """Return whether databases can keep a text; nothing is found under one that they cannot."""
    return "\x00" not in text and is_text(text)


def findable(text: str) -> str:
    """Return a text to look for: one that databases cannot keep becomes one that is never stored."""
    return text if is_storable(text) else _SEPARATOR
