"""What every reader makes of a document: blocks that belong together, each with the headings it stands under.

A block is an exact slice of the document's text. Notes are whole blocks, or several of one section
(`theworld.ingestion.notes`); only a block above the limit is divided, at its parts, and its lead is repeated.
"""

from __future__ import annotations

import re
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
    """(start, end) of what its parts need to be understood, repeated when it is divided: a table's header, the line
    that opens a code block, the sentence that introduces a list or code. An introduction lies before the block."""


_COLON = re.compile(r"[:：][\s*_]*\Z")
_BOLD_LINE = re.compile(r"\*\*[^*\n]{1,100}\*\*\s*\Z")
_LINE_END = 20


def introduces(text: str, block: Block) -> bool:
    """Tell whether a paragraph belongs to the block after it: it ends with a colon or is a bold line, a title."""
    if block.kind != "paragraph":
        return False
    return ends_with_colon(text, block) or _BOLD_LINE.match(text, block.start, block.end) is not None


def ends_with_colon(text: str, block: Block) -> bool:
    """Tell whether a block announces what comes after it."""
    return _COLON.search(text, max(block.start, block.end - _LINE_END), block.end) is not None
