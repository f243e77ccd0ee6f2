"""Strings as models write them: where one really ends, and what its escapes mean.

A quotation mark ends a string only if what follows can follow a string in its role (key, value, item);
otherwise it is text. So unescaped quotation marks survive, and a missing one does not swallow the next field.
"""

from __future__ import annotations

import re
from functools import lru_cache

from theworld.structure.reading.closing_marks import ITEM, after_comma, may_close, opens
from theworld.structure.reading.cursor import QUOTES, Cursor
from theworld.structure.reading.escapes import unescape
from theworld.structure.reading.missing_marks import before_comma, missing_end, settle_unclosed, trim_mark

DOUBLED = re.compile(r"\"[^\"\s,:}\]][^\"\n]{0,500}+\"\"\s*+[,}\]:]")
EMBEDDED = re.compile(r"[\[{][\[{\s]{0,20}\"")
BRACKET = re.compile(r"[\[\]{}]")
LONGEST_EMBEDDED = 5_000
TRIPLE = re.compile(r'"""|\'\'\'')


@lru_cache(maxsize=32)
def _upto(closers: str) -> re.Pattern[str]:
    """Match text up to the next mark that is not escaped."""
    marks = re.escape(closers)
    return re.compile(rf"[^{marks}\\]*+(?:\\.[^{marks}\\]*+)*+", re.DOTALL)


def read_string(cursor: Cursor, pos: int, role: str, *, raw: bool = False) -> tuple[str, int]:
    """Read the string whose opening mark is at `pos`; return its text and the position after it.

    `raw` leaves backslashes as they are, for Python's `r"..."`.
    """
    mark = cursor.text[pos]
    if TRIPLE.match(cursor.text, pos, cursor.end):
        tripled = _read_tripled(cursor, pos)
        if tripled:
            return tripled
    start = pos + 1
    if mark != '"':
        cursor.note_once("quote", f"{mark} is not a JSON quotation mark", mark, '"')
    elif _is_doubled(cursor, start, mark):
        start += 1
    stop, after = _find_end(cursor, start, mark, role)
    if start == pos + 2:
        stop -= cursor.text[stop - 1] == mark
    return (cursor.text[start:stop] if raw else unescape(cursor, cursor.text[start:stop], mark)), after


def _read_tripled(cursor: Cursor, pos: int) -> tuple[str, int] | None:
    """Read a Python triple-quoted string."""
    marks = cursor.text[pos : pos + 3]
    if (marks, "tripled", cursor.end) in cursor.unclosed:
        return None
    stop = cursor.text.find(marks, pos + 3, cursor.end)
    if stop < 0:
        cursor.unclosed.add((marks, "tripled", cursor.end))
        return None
    cursor.note("quote", "triple quotation marks", marks, '"')
    return cursor.text[pos + 3 : stop], stop + 3


def _is_doubled(cursor: Cursor, start: int, mark: str) -> bool:
    """Return True at the second mark of `""words""`; `""` alone is an empty string."""
    if mark != '"' or not DOUBLED.match(cursor.text, start, cursor.end):
        return False
    cursor.note("quote", "doubled quotation mark", '""', mark)
    return True


def _find_end(cursor: Cursor, start: int, mark: str, role: str) -> tuple[int, int]:
    """Return where the text of a string stops and where reading goes on."""
    if (mark, role, cursor.end) in cursor.unclosed:
        return settle_unclosed(cursor, start, role)
    if mark == '"' and EMBEDDED.match(cursor.text, start, cursor.end):
        stop = _embedded_end(cursor, start)
        if stop >= 0:
            cursor.note("inner-quote", "JSON inside a string without escapes", cursor.text[start:stop])
            return stop, stop + 1
    text, end, upto = cursor.text, cursor.end, _upto(QUOTES[mark])
    inner: list[int] = []
    scan = start
    while True:
        match = upto.match(text, scan, end)
        stop = match.end() if match else end
        if stop >= end or text[stop] == "\\":
            cursor.unclosed.add((mark, role, end))
            return settle_unclosed(cursor, start, role)
        if may_close(cursor, stop, role, inner):
            return _settle(cursor, start, stop, role, inner)
        split = missing_end(cursor, start, stop, role)
        if split >= 0:
            cursor.note("quote", "closing quotation mark missing", text[start:split])
            return trim_mark(text, start, split), split
        inner.append(stop)
        scan = stop + 1


def _embedded_end(cursor: Cursor, start: int) -> int:
    """Return where a string ends that holds unescaped JSON, `"{"a": 1}"`: at the mark after its last bracket; or -1."""
    depth, position = 0, start
    limit = min(cursor.end, start + LONGEST_EMBEDDED)
    for match in BRACKET.finditer(cursor.text, start, limit):
        depth += 1 if match[0] in "{[" else -1
        if depth == 0:
            position = match.end()
            break
    if not depth and cursor.char(position) == '"':
        following = cursor.space(position + 1)
        return position if following >= cursor.end or cursor.text[following] in ",}]" else -1
    return -1


def _settle(cursor: Cursor, start: int, stop: int, role: str, inner: list[int]) -> tuple[int, int]:
    """Accept the end found, unless marks inside show that an item before it was never closed."""
    if role == ITEM and len(inner) % 2:
        for mark in inner:
            if mark > start and after_comma(cursor.text, mark) and opens(cursor.text, mark):
                split = before_comma(cursor.text, start, mark)
                cursor.note("quote", "closing quotation mark missing", cursor.text[start:split])
                return split, split
    if inner:
        cursor.note("inner-quote", "unescaped quotation mark inside a string", cursor.text[start:stop])
    return stop, stop + 1
