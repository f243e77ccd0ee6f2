"""The graph of one tenant as arrays: what lies on disk, and what is read of it without making an object for each note.

Notes, entities, documents, texts and filter terms are numbered in the order of their ids, so that the same content
gives the same arrays, sums and ties however it was written. A *list of lists* is two arrays: where each list starts,
(n + 1,), and the values of all.

    notes.* documents.* keys.* texts.* terms.*   tables of strings: ids of notes and documents, entity keys, titles and
                                                 surfaces, filter terms (see theworld.stores.array_folder)
    document, title            (notes,) number of each note's document, and of its title among the texts
    name.*, mention.*          (key, text) of each note's names and mentions, as they were written
    term.*                     filter terms of each note
    label                      (entities,) number of each entity's label among the texts
    titled.*, mentioned.*      entities of each note: its document's names, and what else it mentions
    titles.*, mentions.*       notes of each entity: those it is the name of, and the others that mention it
    walk.*                     edges of the random walk, see theworld.stores.graph.pagerank
"""

from __future__ import annotations

from dataclasses import dataclass

from theworld.models.protocols import IntArray
from theworld.state import MentionType
from theworld.stores.array_folder import Arrays, Rows, StringTable
from theworld.stores.protocols import NoteChange
from theworld.stores.records import filter_terms
from theworld.text import entity_key

_UNLINKING: frozenset[MentionType] = frozenset({"number", "quantity"})
"""Two notes that hold the same number say nothing about each other."""


class Lists:
    """Lists of numbers by number."""

    def __init__(self, starts: Rows, values: IntArray) -> None:
        self.starts, self.values = starts, values

    def __getitem__(self, number: int) -> list[int]:
        found: list[int] = self.array(number).tolist()
        return found

    def array(self, number: int) -> IntArray:
        """Return one list as a view."""
        return self.values[self.starts[number] : self.starts[number + 1]]

    def length(self, number: int) -> int:
        """Return the length of one list."""
        return int(self.starts[number + 1] - self.starts[number])


class Columns:
    """The arrays of one tenant, in memory or mapped from a file."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.notes, self.documents, self.keys, self.texts, self.terms = (
            StringTable(arrays, name) for name in ("notes", "documents", "keys", "texts", "terms")
        )
        self.document: IntArray = arrays["document"]
        self.title: IntArray = arrays["title"]
        self.label: IntArray = arrays["label"]
        self.titled, self.mentioned, self.titles, self.mentions, self.terms_of = (
            self.lists(name) for name in ("titled", "mentioned", "titles", "mentions", "term")
        )

    def lists(self, name: str, values: str = "values") -> Lists:
        """Return lists by name."""
        return Lists(self.arrays[f"{name}.starts"], self.arrays[f"{name}.{values}"])


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
