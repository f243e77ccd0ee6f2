"""What every reader makes of a document: blocks that belong together, each with the headings it stands under.

A block is an exact slice of the document's text. Notes are whole blocks, or several of one section
(`theworld.ingestion.notes`); only a block above the limit is divided, at its parts, and its lead is repeated.
"""

from __future__ import annotations

from typing import NamedTuple

from theworld.stores.records import NoteKind


class Block(NamedTuple):
    """A piece of a document that belongs together: text[start:end]."""

    kind: NoteKind
    start: int
    end: int
    section: tuple[str, ...] = ()
    """Headings it stands under, outermost first, without the document's title; a heading is under itself."""
    parts: tuple[tuple[int, int], ...] = ()
    """Where it may be divided when it is too long: (start, end) of list items, table rows, statements; ascending."""
    lead: tuple[int, int] | None = None
    """(start, end) of what its parts need to be understood, repeated when it is divided: a table's header, the sentence
    that introduces a list or an example of code. A table's header lies inside the block, an introduction before it."""
