"""The documents of a ledger as people look at them: a list to page through and search, and one of them whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, func, select

from theworld.stores.ledger import models
from theworld.stores.ledger.checking import findable
from theworld.stores.ledger.database import batches
from theworld.stores.ledger.reading import read_document_notes
from theworld.stores.records import Filters, StoredNote, filter_terms, passes, wanted_terms

if TYPE_CHECKING:
    from sqlalchemy import Row

_PAGE = 500


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document without its text."""

    id: str
    """Unique within the tenant."""
    title: str
    source: str
    """Path or URL."""
    notes: int
    """How many notes it has."""
    characters: int
    """Length of its text."""
    languages: tuple[str, ...]
    """`en`, `zh` or both, of its notes."""
    written_at: str | None
    """When it was written or last changed, ISO 8601 in UTC; None for documents of stores made before version 0.2."""
    metadata: dict[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDocument(DocumentSummary):
    """A document whole."""

    text: str = ""
    """The text that the offsets of its notes refer to."""
    parts: tuple[StoredNote, ...] = ()
    """Its notes in order, without mentions."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some of the documents, ordered by id."""

    documents: tuple[DocumentSummary, ...]
    total: int
    """How many documents match in all."""
    next_after: str | None
    """Id to go on after, None at the end."""


def list_documents(
    connection: Connection, tenant: str, *, search: str, filters: Filters, after: str, limit: int
) -> DocumentPage:
    """Return documents whose id, title or source holds `search`, in any case, and whose metadata pass the filters."""
    wanted, sought = wanted_terms(filters), search.casefold()
    query = _documents(tenant).order_by(models.Document.document_id)
    # Compared here: SQLite folds the case of ASCII letters only.
    matching = [
        row
        for row in connection.execute(query.execution_options(yield_per=_PAGE))
        if any(sought in part.casefold() for part in (row.document_id, row.title, row.source))
        and passes(filter_terms(row.properties, row.document_id), wanted)
    ]
    rest = [row for row in matching if row.document_id > after]
    note, counts = models.Note, defaultdict[int, dict[str, int]](dict)
    for some in batches([row.id for row in rest[:limit]]):
        counted = select(note.document, note.language, func.count()).where(note.document.in_(some))
        for number, language, count in connection.execute(counted.group_by(note.document, note.language)):
            counts[number][language] = count
    documents = tuple(_summary(row, counts[row.id]) for row in rest[:limit])
    return DocumentPage(documents, len(matching), documents[-1].id if len(rest) > limit else None)


def read_document(connection: Connection, tenant: str, document_id: str) -> StoredDocument | None:
    """Return a document whole, None when the tenant has none of that id."""
    query = (
        _documents(tenant).add_columns(models.Document.text).where(models.Document.document_id == findable(document_id))
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    parts = read_document_notes(connection, row.id)
    languages = Counter(note.language for note in parts)
    return StoredDocument(**asdict(_summary(row, languages)), text=row.text, parts=tuple(parts))


def _documents(tenant: str) -> Select[Any]:
    document = models.Document
    columns = (document.document_id, document.title, document.source, document.written_at, document.properties)
    query = select(document.id, *columns, document.aliases, func.length(document.text).label("characters"))
    return query.where(document.tenant == findable(tenant))


def _summary(row: Row[Any], languages: Mapping[str, int]) -> DocumentSummary:
    counted = sum(languages.values()), row.characters, tuple(sorted(languages))
    more = row.written_at, dict(row.properties), tuple(row.aliases)
    return DocumentSummary(row.document_id, row.title, row.source, *counted, *more)
