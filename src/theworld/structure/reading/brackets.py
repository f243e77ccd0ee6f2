"""What a closing bracket closes when brackets are missing, wrong or too many."""

from __future__ import annotations

import re

from theworld.structure.reading.cursor import Cursor
from theworld.structure.reading.patterns import KEY_AHEAD, LONE_KEY_AHEAD

COMMAS = ",，、;；"
KEY_AND_COLON = re.compile(r"\"[^\"\n]{1,80}+\"\s*+:|'[^'\n]{1,80}+'\s*+:")


def containers_closed(cursor: Cursor, pos: int, char: str) -> int:
    """Return how many open containers the bracket at `pos` closes; 0 when it is to be ignored."""
    stack = cursor.stack
    if stack[-1].close == char:
        if len(stack) == 1 and _fields_follow(cursor, pos):
            cursor.note("closer", f"one {char} too many", char)
            return 0
        return 1
    depth = next((i for i in range(len(stack) - 1, -1, -1) if stack[i].close == char), -1)
    if depth < 0 or (depth == 0 and _is_slip(cursor, pos)):
        return _wrong_bracket(cursor, pos, char)
    missing = "".join(frame.close for frame in reversed(stack[depth + 1 :]))
    cursor.note("closer", f"missing {missing} before {char}", char, missing + char)
    return len(stack) - depth


def _fields_follow(cursor: Cursor, pos: int) -> bool:
    """Return True when the outermost object would close although more fields follow: `{"a": 1}, "b": 2}`."""
    if cursor.stack[0].close != "}":
        return False
    comma = cursor.space(pos + 1)
    return cursor.char(comma) == "," and bool(KEY_AND_COLON.match(cursor.text, cursor.space(comma + 1), cursor.end))


def _is_slip(cursor: Cursor, pos: int) -> bool:
    """Return True when closing the outermost container would be too early: `{"a": [1, 2}, "b": 3}`."""
    nxt = cursor.space(pos + 1)
    if nxt >= cursor.end or cursor.text[nxt] not in COMMAS or cursor.stack[-2].close != "}":
        return False
    text, end = cursor.text, cursor.end
    return bool(KEY_AHEAD.match(text, nxt + 1, end) or LONE_KEY_AHEAD.match(text, nxt + 1, end))


def _wrong_bracket(cursor: Cursor, pos: int, char: str) -> int:
    """Take a bracket that fits nothing for the one that was meant, or ignore it when members follow."""
    nxt = cursor.space(pos + 1)
    wanted = cursor.stack[-1].close
    if len(cursor.stack) == 1 and nxt < cursor.end and cursor.text[nxt] in COMMAS:
        cursor.note("closer", f"{char} closes nothing", char)
        return 0
    cursor.note("closer", f"{char} in place of {wanted}", char, wanted)
    return 1
