"""Notes already in the store, when titles come or go: only the new names are looked for in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theworld.ingestion.names import Name, NameIndex, forget_names, join_mentions, names_of
from theworld.ingestion.plan import PlannedDocument
from theworld.ingestion.report import IngestProgress
from theworld.state import Mention
from theworld.stores.records import StoredNote

if TYPE_CHECKING:
    from theworld.stores.knowledge_store import KnowledgeStore

WRITE_NOTES = 500
"""Notes whose mentions are read and written at once."""


@dataclass(frozen=True, slots=True)
class NameChange:
    """The names of the documents as they will be, and how they differ from those in the store."""

    index: NameIndex
    """Finds all names there will be."""
    added: frozenset[Name]
    """Names that no document goes by yet."""
    gone: frozenset[str]
    """Patterns that no document goes by any more."""


def name_change(
    store: KnowledgeStore, tenant: str, planned: Collection[PlannedDocument], removed: Collection[str]
) -> NameChange:
    """Return what writing some documents and removing others does to the names."""
    rows = store.titles(tenant)
    replaced = {document.id for document in planned} | set(removed)
    coming = [(document.id, document.document.title, document.aliases) for document in planned]
    before, after = names_of(rows), names_of([*(row for row in rows if row[0] not in replaced), *coming])
    gone = frozenset(name.pattern for name in before) - frozenset(name.pattern for name in after)
    return NameChange(NameIndex(after), after - before, gone)


def relink(
    store: KnowledgeStore, tenant: str, change: NameChange, leave: Collection[str], progress: IngestProgress
) -> int:
    """Bring the mentions of stored notes up to date, except those of the documents to `leave`; return how many changed.

    Safe to repeat: run before new documents are written, so that a run cut short does it again.
    """
    if not change.added and not change.gone:
        return 0
    progress.start("link", 0)
    added = NameIndex(change.added)
    pending: dict[str, tuple[Mention, ...]] = {}
    changed = 0
    for note in _concerned(store, tenant, change, leave, progress):
        mentions = forget_names(note.mentions, change.gone)
        if added.find(note.text, mentions):
            mentions = join_mentions(note.text, mentions, change.index.find(note.text, mentions))
        if mentions != note.mentions:
            pending[note.id] = mentions
            changed += 1
        if len(pending) == WRITE_NOTES:
            store.set_mentions(tenant, pending)
            pending = {}
    if pending:
        store.set_mentions(tenant, pending)
    return changed


def _concerned(
    store: KnowledgeStore, tenant: str, change: NameChange, leave: Collection[str], progress: IngestProgress
) -> Iterator[StoredNote]:
    """Yield the notes that hold the letters of a name that comes or goes, with their mentions.

    One document more in a large store changes few notes, and reading mentions is most of what reading a note takes.
    """
    names = NameIndex([*change.added, *(Name(pattern, pattern, "") for pattern in change.gone)])
    pending: list[str] = []
    for note in store.iter_notes(tenant, mentions=False):
        if note.document_id in leave:
            continue
        if names.may_occur(note.text):
            pending.append(note.id)
        progress.advance("link", 1)
        if len(pending) == WRITE_NOTES:
            yield from store.notes(pending, tenant=tenant)
            pending = []
    yield from store.notes(pending, tenant=tenant)
