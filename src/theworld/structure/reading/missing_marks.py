"""Where a string ended whose closing quotation mark is missing."""

from __future__ import annotations

import re

from theworld.structure.reading.closing_marks import KEY, VALUE
from theworld.structure.reading.cursor import Cursor
from theworld.structure.reading.patterns import (
    BLOCK_END,
    CLOSED_QUOTE,
    KEY_BEFORE,
    KEY_WITH_VALUE,
    MISSED_KEY_END,
    NEXT_PAIR,
    QUOTED_KEY,
)

NEXT_OBJECT = re.compile(r"\s*[}\]]\s*,?\s*\{\s*$")


def before_comma(text: str, start: int, mark: int) -> int:
    """Return the position of the comma before `mark`, less the white space before that."""
    stop = mark
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    if stop > start and text[stop - 1] in ",，":
        stop -= 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return stop


def missing_end(cursor: Cursor, start: int, mark: int, role: str) -> int:
    """Return where a string ended whose closing mark is missing before `mark`, or -1."""
    text, end = cursor.text, cursor.end
    if role == KEY:
        missed = MISSED_KEY_END.match(text, start, mark)
        return start + len(missed[1].rstrip()) if missed and text[missed.end() : missed.end() + 1] != "/" else -1
    if role != VALUE:
        return -1
    if QUOTED_KEY.match(text, mark, end):
        split = _before_key(text, start, mark, end)
        if split >= 0:
            return split
    tail = max(start, mark - 100)
    before = KEY_BEFORE.search(text[tail:mark])
    if before and CLOSED_QUOTE.match(text, mark, end) and (before.start() or tail > start):
        return before_comma(text, start, tail + before.start(1))
    return -1


def _before_key(text: str, start: int, mark: int, end: int) -> int:
    """Return where a string ended before the quoted key at `mark`, or -1 when the key belongs to the text."""
    tail = max(start, mark - 60)
    boundary = NEXT_OBJECT.search(text[tail:mark])
    if boundary:
        return tail + boundary.start()
    if text[tail:mark].rstrip().endswith(("{", "[", "(")):
        return -1
    split = before_comma(text, start, mark)
    between = text[split:mark]
    separated = "," in between or "，" in between or "\n" in between
    return split if separated or KEY_WITH_VALUE.match(text, mark, end) else -1


def settle_unclosed(cursor: Cursor, start: int, role: str) -> tuple[int, int]:
    """Settle a string without a closing mark: up to the next pair, the closing brackets, or the end of the text."""
    text, end = cursor.text, cursor.end
    if role == KEY:
        missed = MISSED_KEY_END.match(text, start, end)
        if missed:
            cursor.note("quote", "closing quotation mark missing", missed[1])
            return missed.end(1), missed.end(1)
    stop = _closing_block(cursor, start)
    if stop < 0:
        cursor.truncated = True
        cursor.note("truncated", "the text breaks off inside a string", text[start:end])
        return end, end
    stop = _next_pair(text, start, stop) if role == VALUE else stop
    cursor.note("quote", "closing quotation mark missing", text[start:stop])
    return trim_mark(text, start, stop), stop


def trim_mark(text: str, start: int, stop: int) -> int:
    r"""Leave out a closing mark of another kind, or one that was escaped by mistake: `"a fox,\"}`."""
    if stop - 2 >= start and text[stop - 2 : stop] in ('\\"', "\\'"):
        return stop - 2
    for opening, closing in ("“”", "‘’", '""'):
        if text[start:stop].endswith(closing) and text.find(opening, start, stop - 1) < 0:
            return stop - 1
    return stop


def _next_pair(text: str, start: int, stop: int) -> int:
    """Return where a comma or line break introduces another field before `stop`, or `stop`."""
    for match in NEXT_PAIR.finditer(text, start, stop):
        if not {",", "\n"}.isdisjoint(text[match.start() : match.start(1)]):
            return match.start()
    return stop


def _closing_block(cursor: Cursor, start: int) -> int:
    """Return where the brackets begin that close everything open, at the end of a line; -1 if there are none."""
    wanted = cursor.closers()
    known, position = cursor.block
    if known == wanted and position >= start:
        return position
    for match in BLOCK_END.finditer(cursor.text, start, cursor.end):
        if re.sub(r"[\s;`]", "", match[1]).endswith(wanted):
            position = _step_back(cursor.text, match.end(1), len(wanted), start)
            cursor.block = (wanted, position)
            return position
    return -1


def _step_back(text: str, pos: int, brackets: int, start: int) -> int:
    """Go back over `brackets` closing brackets and the white space before them."""
    while brackets:
        pos -= 1
        brackets -= text[pos] in "}])"
    while pos > start and text[pos - 1].isspace():
        pos -= 1
    return pos
