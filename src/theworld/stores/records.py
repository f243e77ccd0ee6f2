"""The rows that go into the ledger and come out of it, and filters and words of queries, as every store reads them.

Ids are deterministic, so that writing twice changes nothing. A note passes filters when each key has one of the wanted
values; the key `document_id` is the id of the note's document, so that chosen documents can be searched alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from theworld.models.protocols import Embedded
from theworld.state import PATH_SEPARATOR, Candidate, Mention
from theworld.stores.token_codes import TokenCodes
from theworld.text import fold, tokens, without_qualifier

Filters = Mapping[str, str | list[str]]
"""Metadata that must match: every key, any of its values (compared as strings)."""


NoteKind = Literal["heading", "paragraph", "list", "table", "code", "admonition", "section"]
"""What a block or note is made of; `section`: several blocks of one section."""


def section_path(title: str, section: Sequence[str]) -> str:
    """Return where a note stands, as it is indexed, embedded and shown: `title › section › subsection`."""
    return PATH_SEPARATOR.join(part for part in (title, *section) if part)


def embedded_text(title: str, section: Sequence[str], lead: str, text: str) -> str:
    """Return what is embedded of a note, its own text at the end: under headings its whole path and lead in front.

    Without headings it is a passage, with the document's title in front where the text lacks it. Dense Recall@5 on
    samples of 500-1,000 passages, by text alone / title always / title where missing: HotpotQA .785 / .785 / .785,
    2Wiki .695 / .710 / .698, MuSiQue .752 / .766 / .774, DRCD, where passages share titles, .993 / .980 / .987.
    """
    if section or lead:
        return "\n".join(part for part in (section_path(title, section), lead, text) if part)
    return f"{title}\n{text}" if title and fold(without_qualifier(title)) not in fold(text) else text


def content_hash(*parts: str, size: int = 8) -> str:
    """Return the BLAKE2b hash of the parts, each length-prefixed, in hex: two digits for each of `size` bytes."""
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """A paragraph-sized piece of a document."""

    id: str
    """`{document id}#{ordinal}`."""
    ordinal: int
    """Paragraph index within the document, from 0."""
    text: str
    """The text; equals document.text[start:end]."""
    start: int
    """Character offset in the document's text."""
    end: int
    """End offset, exclusive."""
    language: str
    """`en` or `zh`."""
    section: tuple[str, ...] = ()
    """Headings it stands under, outermost first, without the document's title."""
    kind: NoteKind = "paragraph"
    lead: str = ""
    """What its text needs to be understood and stands before it in the document: a table's header, a list's
    introduction; empty where the text holds it itself."""
    mentions: tuple[Mention, ...] = ()
    """Typed mentions, offsets within the note."""
    vectors: Mapping[str, Embedded] = field(default_factory=dict)
    """Embeddings by space name; without their tokens when the ledger gives them back."""
    codes: Mapping[str, TokenCodes] = field(default_factory=dict)
    """Token vectors by space name as the ledger keeps and gives them. In a note to be put they stand for
    `vectors[space].tokens` where these have been coded already."""


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document with its notes; written and replaced as a whole."""

    id: str
    """Chosen by the source (`_id`, relative path); unique within the tenant."""
    title: str
    """Title, also an entity of its own."""
    text: str
    """Converted text that offsets refer to."""
    source: str
    """Path or URL."""
    content_hash: str
    """Hash of title, text, metadata and of the way it was processed; equal means nothing to do."""
    aliases: tuple[str, ...] = ()
    """Other names of what the document is about."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Plain metadata for filters."""
    notes: tuple[NoteRecord, ...] = ()
    tenant: str = "default"


@dataclass(frozen=True, slots=True)
class StoredNote:
    """A note as the ledger gives it back, with what is needed of its document."""

    id: str
    document_id: str
    tenant: str
    title: str
    source: str
    ordinal: int
    text: str
    start: int
    end: int
    language: str
    metadata: Mapping[str, Any]
    section: tuple[str, ...] = ()
    kind: NoteKind = "paragraph"
    lead: str = ""
    mentions: tuple[Mention, ...] = ()


Note = Candidate | StoredNote
Span = tuple[Note, int, int]
"""A note, and the start and end of a piece of its text."""


DOCUMENT_ID = "document_id"
"""The key that stands for a document's own id; metadata of this name cannot be filtered by."""
_SEPARATOR = "="
_ESCAPED = str.maketrans({"\\": "\\\\", _SEPARATOR: f"\\{_SEPARATOR}"})


def read_filters(pairs: Iterable[str]) -> dict[str, str | list[str]]:
    """Return filters from `key=value` texts, a repeated key meaning any of its values; ValueError names a wrong one."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{pair!r} is not of the form key=value.")
        found.setdefault(key.strip(), []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _term(key: str, value: object) -> str:
    """Return one term; booleans are `true` and `false`.

    A `=` of the key is escaped, so that the key `a=b` never meets `a` with a value `b=...`.
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{str(key).translate(_ESCAPED)}{_SEPARATOR}{text}"


def filter_terms(metadata: Mapping[str, object] | None, document_id: str) -> frozenset[str]:
    """Return the terms `key=value` of a note's metadata, one for each value of a list, and that of its document."""
    return frozenset(
        _term(key, item)
        for key, value in {**(metadata or {}), DOCUMENT_ID: document_id}.items()
        for item in (value if isinstance(value, list | tuple | set) else [value])
        if item is not None
    )


def wanted_terms(filters: Filters) -> list[list[str]]:
    """Return for each filter the terms of which a note must have at least one, ordered by key."""
    return [
        [_term(key, item) for item in ([wanted] if isinstance(wanted, str) else wanted)]
        for key, wanted in sorted(filters.items())
    ]


def passes(terms: frozenset[str], wanted: list[list[str]]) -> bool:
    """Return whether a note with these terms passes."""
    return all(any(term in terms for term in some) for some in wanted)


def is_text(value: str) -> bool:
    """Return whether a string can be sent: lone surrogates cannot, and nothing stored holds them."""
    return value.encode("utf-8", "ignore").decode("utf-8") == value


LONGEST_TOKEN = 255
"""Characters of a token; longer ones are in no index and in no query."""


def indexed_words(title: str, note: NoteRecord) -> list[str]:
    """Return the tokens of title, headings, lead and text, in this order, as one body.

    Each part by itself: where two Chinese headings meet there is no word.
    """
    parts = (title, *note.section, note.lead, note.text)
    return [token for part in parts for token in tokens(part) if len(token) <= LONGEST_TOKEN]


def query_words(text: str) -> Counter[str]:
    """Return the tokens of a query and how often each is asked."""
    return Counter(token for token in tokens(text) if len(token) <= LONGEST_TOKEN and is_text(token))
