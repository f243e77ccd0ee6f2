"""What the graph knows of one note."""

from __future__ import annotations

from dataclasses import dataclass

from theworld.state import MentionType
from theworld.stores.filters import filter_terms
from theworld.stores.protocols import NoteChange
from theworld.text import entity_key

_UNLINKING: frozenset[MentionType] = frozenset({"number", "quantity"})
"""Two notes that hold the same number say nothing about each other."""


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """What the graph knows of one note."""

    document_id: str
    title: str
    names: tuple[tuple[str, str], ...]
    """(entity key, name) of the document's title and aliases."""
    mentions: tuple[tuple[str, str], ...]
    """(entity key, surface) of the note's mentions."""
    terms: frozenset[str]
    """Filter terms."""


def note_facts(change: NoteChange) -> NoteFacts | None:
    """Return what the graph knows of a changed note; None for a removed one."""
    if change.note is None:
        return None
    names = [(entity_key(name), name) for name in (change.title, *change.aliases)]
    mentions = [
        (mention.key or entity_key(mention.surface), mention.surface)
        for mention in change.note.mentions
        if mention.titled or mention.type not in _UNLINKING
    ]
    return NoteFacts(
        document_id=change.document_id,
        title=change.title,
        names=tuple((key, name) for key, name in names if key),
        mentions=tuple((key, surface) for key, surface in mentions if key),
        terms=filter_terms(change.metadata, change.document_id),
    )
