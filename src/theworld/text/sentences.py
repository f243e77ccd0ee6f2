"""Sentences with offsets, for Chinese and English; places in a text that are apart; lines that belong to the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Sentence(NamedTuple):
    """A sentence and where it stands: text == source[start:end]."""

    text: str
    start: int
    end: int


_ABBREVIATIONS = frozenset(
    (
        "mr mrs ms dr prof sr jr st vs etc inc ltd co corp no vol fig al gen col lt capt sgt rev hon gov sen rep e.g "
        "i.e jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k a.m p.m ph.d b.a m.a"
    ).split()
)
_END = re.compile(r"[。！？!?；]+[”’」』）)\"']*|\.+[”’\")\]]*(?=\s|$)|\n{2,}|\n(?=\s*[-*#•\d])")
_LAST_WORD = re.compile(r"([\w.]+)$")


def _is_boundary(text: str, match: re.Match[str]) -> bool:
    if match.group()[0] in "!?":  # within https://a.org/b?c=d, x!=y or ?.z nothing ends
        return not (match.group().isascii() and "!" <= text[match.end() : match.end() + 1] <= "~")
    if not match.group().startswith("."):
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 24), match.start())
    if word is None:
        return True
    last = word.group(1)
    degrees = text[: word.start()].rstrip().endswith("°")
    if last.casefold() in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and last.isupper() and not degrees):
        return False
    rest = text[match.end() : match.end() + 2].lstrip()
    return not rest or not rest[0].islower()


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text in order, without surrounding white space; empty ones are left out."""
    found: list[Sentence] = []
    begin = 0
    for end in (*(match.end() for match in _END.finditer(text) if _is_boundary(text, match)), len(text)):
        piece = text[begin:end]
        if stripped := piece.strip():
            start = begin + len(piece) - len(piece.lstrip())
            found.append(Sentence(stripped, start, start + len(stripped)))
        begin = end
    return found


def apart(items: Iterable[T], place: Callable[[T], tuple[int, int]]) -> list[T]:
    """Return those of some items, in their order, that overlap with none before them."""
    taken: set[int] = set()
    chosen: list[T] = []
    for item in items:
        covered = range(*place(item))
        if taken.isdisjoint(covered):
            taken.update(covered)
            chosen.append(item)
    return chosen


LONGEST_TERM = 100
_COLON = re.compile(r"[:：][\s*_]*\Z")
_TERM = re.compile(rf"\s*(?:[-*+]\s+|\d+[.)]\s+)?\*\*[^*\n]{{1,{LONGEST_TERM}}}\*\*\s*\Z")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_LINE_END = 20
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARGIN = re.compile(r"[ \t]*(?!\s|[})\],;]|end\b|else\b|</|\Z)")
"""Before a line that is not blank and closes nothing."""
FENCE = re.compile(r"^[ \t]*(?:`{3,}(?!.*`)|~~~)", re.MULTILINE)
"""A line that opens or closes a code block."""


def ends_with_colon(text: str, end: int | None = None) -> bool:
    """Return whether a text, or text[:end], announces what comes after it."""
    end = len(text) if end is None else end
    return _COLON.search(text, max(0, end - _LINE_END), end) is not None


def announces(text: str) -> bool:
    """Return whether a text's last line belongs to what follows: a heading, a bold term, what ends with a colon."""
    line = text[text.rstrip().rfind("\n") + 1 :]
    return ends_with_colon(text) or _TERM.match(line) is not None or _HEADING.match(line) is not None


def ends_with_question(text: str) -> bool:
    """Return whether a text ends with a question, whose answer comes after it where somebody else speaks."""
    return text.rstrip(" \t\r\n*_\"'”’)）]").endswith(("?", "？"))


def outer_pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return (start, end) of the pieces of text[start:end] that begin with its least indented lines after the first.

    What only closes a bracket or block ends a piece: entries of an array, keys with what stands below them, rows.
    """
    lines = [match.span() for match in _LINE.finditer(text, start, end)]
    margins = [_MARGIN.match(text, *line) for line in lines]
    least = min((margin.end() - margin.start() for margin in margins[1:] if margin), default=0)
    begins = [margin.start() for margin in margins[1:] if margin and margin.end() - margin.start() == least]
    return list(zip([start, *begins], [*begins, end], strict=True)) if end > start else []


def open_fence(text: str) -> str:
    """Return the line that opens the code block in which a text ends, without line ends; "" where it ends in none."""
    opening = ""
    for line in text.splitlines():
        if FENCE.match(line):
            opening = "" if opening else line.rstrip()
    return opening
