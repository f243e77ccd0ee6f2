"""Lines of Markdown that belong to what follows them."""

from __future__ import annotations

import re

LONGEST_TERM = 100
_COLON = re.compile(r"[:：][\s*_]*\Z")
_TERM = re.compile(rf"\s*(?:[-*+]\s+|\d+[.)]\s+)?\*\*[^*\n]{{1,{LONGEST_TERM}}}\*\*\s*\Z")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_LINE_END = 20
FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
"""A line that opens or closes a code block."""


def ends_with_colon(text: str, end: int | None = None) -> bool:
    """Return whether a text, or text[:end], announces what comes after it."""
    end = len(text) if end is None else end
    return _COLON.search(text, max(0, end - _LINE_END), end) is not None


def announces(text: str) -> bool:
    """Return whether a text's last line belongs to what follows: a heading, a bold term, what ends with a colon."""
    line = text[text.rstrip().rfind("\n") + 1 :]
    return ends_with_colon(text) or _TERM.match(line) is not None or _HEADING.match(line) is not None


def open_fence(text: str) -> str:
    """Return the line that opens the code block in which a text ends, without line ends; "" where it ends in none."""
    opening = ""
    for line in text.splitlines():
        if FENCE.match(line):
            opening = "" if opening else line.rstrip()
    return opening
