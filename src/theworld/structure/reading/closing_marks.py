"""Whether a quotation mark ends its string: only if what follows can follow a string in its role."""

from __future__ import annotations

import re

from theworld.structure.reading.brackets import COMMAS
from theworld.structure.reading.cursor import QUOTES, Cursor
from theworld.structure.reading.patterns import BARE_KEY, ITEM_AHEAD, KEY_AHEAD, LONE_KEY_AHEAD, QUOTED_KEY

KEY, VALUE, ITEM = "key", "value", "item"
"""The roles of a string: what may follow it depends on them."""
COLONS = ":："
LONE_NUMBER = re.compile(r"-?[\d.]+\s*+(?:[,\]]|$)")


def may_close(cursor: Cursor, stop: int, role: str, inner: list[int]) -> bool:
    """Return True when the mark at `stop` can end a string in this role."""
    nxt = cursor.space(stop + 1)
    if nxt >= cursor.end:
        return True
    char = cursor.text[nxt]
    if role == KEY:
        return _may_close_key(cursor, stop, nxt, char)
    if char in COMMAS:
        return _comma_follows(cursor, nxt, role, inner)
    if char in "}]｝］":
        char = {"｝": "}", "］": "]"}.get(char, char)
        return char == cursor.stack[-1].close or cursor.inside(char) or cursor.space(nxt + 1) >= cursor.end
    if char in "/#+)`":
        return _odd_follow(cursor, stop, nxt, char)
    return (_field_follows if role == VALUE else _item_follows)(cursor, stop, nxt, char)


def _field_follows(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    """Return True when another field follows without a comma: `"a": "x" "b": 1`, or an unquoted key on a new line."""
    newline = "\n" in cursor.text[stop + 1 : nxt]
    if char not in QUOTES:
        return newline and bool(BARE_KEY.match(cursor.text, nxt, cursor.end))
    apart = newline or nxt > stop + 1 or cursor.text[stop] == char
    return apart and bool(QUOTED_KEY.match(cursor.text, nxt, cursor.end))


def _may_close_key(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    if char in COLONS or char in ",}，" or (char == "=" and nxt > stop):
        return True
    if nxt == stop + 1:
        return char in "{[" or (char in QUOTES and cursor.text[nxt + 1 : nxt + 2] not in COLONS)
    return char in QUOTES or char in "{[-" or char.isdigit() or bool(ITEM_AHEAD.match(cursor.text, nxt, cursor.end))


def _comma_follows(cursor: Cursor, comma: int, role: str, inner: list[int]) -> bool:
    """Return True when the comma separates fields or items rather than words of the text."""
    text, end = cursor.text, cursor.end
    if role == VALUE:
        if KEY_AHEAD.match(text, comma + 1, end):
            return True
        return len(inner) % 2 == 0 and bool(LONE_KEY_AHEAD.match(text, comma + 1, end))
    if not ITEM_AHEAD.match(text, comma + 1, end):
        return False
    return len(inner) % 2 == 0 or not opens(text, inner[-1]) or after_comma(text, inner[-1])


def _odd_follow(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    """Decide about a comment, a concatenation, the end of a call or of a fence after a string."""
    rest = cursor.text[nxt : nxt + 3]
    if char == "+":
        following = cursor.char(cursor.space(nxt + 1))
        return bool(following) and following in QUOTES
    if char == ")":
        return cursor.inside(")")
    return rest[:2] in ("//", "/*") or (char == "#" and nxt > stop + 1) or rest == "```"


def _item_follows(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    """Return True when another item follows without a comma: `"a" "b"`, `"c" 1`, `"d" {`."""
    if char == ":":
        return cursor.inside("}")
    if nxt == stop + 1:
        return False
    if char in QUOTES:
        return not cursor.text[stop - 1].isspace() and not cursor.text[nxt + 1 : nxt + 2].isspace()
    if "\n" in cursor.text[stop + 1 : nxt]:
        return True
    return char in "{[" or bool(LONE_NUMBER.match(cursor.text, nxt, cursor.end))


def opens(text: str, mark: int) -> bool:
    """Return True for a mark that stands like an opening one: nothing or punctuation before it, a word after it."""
    return not text[mark - 1].isalnum() and not text[mark + 1 : mark + 2].isspace()


def after_comma(text: str, mark: int) -> bool:
    """Return True for a mark that stands right after a comma."""
    return text[max(0, mark - 40) : mark].rstrip().endswith((",", "，"))
