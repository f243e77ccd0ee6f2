"""Values that do not begin with a quotation mark or a bracket."""

from __future__ import annotations

import re
from typing import Any

from theworld.structure.reading.bare import ENUM_REPR, read_bare, skip_wrapper
from theworld.structure.reading.closing_marks import ITEM
from theworld.structure.reading.cursor import Cursor
from theworld.structure.reading.strings import read_string


def read_unquoted(cursor: Cursor, pos: int, role: str) -> tuple[Any, int]:
    """Read a literal, a number, a call around one value, or bare text; return it and the position after it."""
    enum = ENUM_REPR.match(cursor.text, pos, cursor.end)
    if enum:
        cursor.note("literal", "representation of an enum member", enum[0], enum[1])
        return enum[1].strip().strip("'\""), enum.end()
    inside, close = skip_wrapper(cursor, pos)
    if close:
        return _call(cursor, pos, inside, role)
    value: Any
    if inside > pos:
        value, after = read_string(cursor, inside, role, raw="r" in cursor.text[pos:inside].lower())
    else:
        value, after = read_bare(cursor, pos, role)
    return value, max(after, pos + 1)


def _call(cursor: Cursor, pos: int, inside: int, role: str) -> tuple[Any, int]:
    """Read `ObjectId("…")`: the value inside when it is one, else the whole as text."""
    stop = cursor.text.find(")", inside, min(cursor.end, inside + 400))
    body = cursor.text[inside:stop].strip() if stop > 0 else ""
    simple = bool(body) and (body[0] == body[-1] and body[0] in "\"'" and body.count(body[0]) == 2)
    if simple or re.fullmatch(r"-?[\d.]+", body):
        cursor.note("literal", "a call around a value", cursor.text[pos : stop + 1], body)
        return (body[1:-1] if simple else read_bare(Cursor(body), 0, ITEM)[0]), stop + 1
    value, after = read_bare(cursor, pos, role)
    return value, max(after, pos + 1)
