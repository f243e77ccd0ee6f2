"""What every reader makes of a document: blocks that belong together, each with the headings it stands under.

A block is an exact slice of the document's text. Notes are whole blocks, or several of one section
(`theworld.ingestion.notes`); only a block above the limit is divided, at its parts, and its lead is repeated.
"""

from __future__ import annotations

from typing import NamedTuple

from theworld.stores.records import NoteKind
from theworld.text.layout import announces


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
    """(start, end) of what its parts need to be understood, repeated when it is divided: a table's header, the line
    that opens a code block, the sentence that introduces a list or code. An introduction lies before the block."""


def introduces(text: str, block: Block) -> bool:
    """Return whether a paragraph belongs to the block after it: it ends with a colon or is a bold line, a title."""
    return block.kind == "paragraph" and announces(text[block.start : block.end])
