"""Words without quotation marks: literals of JSON, Python and JavaScript, numbers, and texts that lost their marks."""

from __future__ import annotations

import re
from typing import Any

from theworld.structure.reading.brackets import COMMAS
from theworld.structure.reading.closing_marks import VALUE
from theworld.structure.reading.cursor import QUOTES, Cursor
from theworld.structure.reading.patterns import BARE_KEY, ITEM_AHEAD, KEY_AHEAD, LONE_KEY_AHEAD, QUOTED_KEY

INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d*)")
DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE](?:[-+]?\d+)?)?")
MOST_DIGITS = 4000
STOP = re.compile(r"[^,，;；、\n{}\[\]()｝］\"'“”‘`/#]*+")
INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
CALL = re.compile(r"(?:new\s+)?[A-Za-z_][\w.]{0,60}\(\s*+")
PREFIXED = re.compile(r"(?:[rRbBuUfF]{1,2})(?=[\"'][^,}\]\s])")
ENUM_REPR = re.compile(r"<[\w.]+:\s*([^>\n]*)>")
CONSTANTS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "None": None,
    "True": True,
    "False": False,
    "undefined": None,
    "TRUE": True,
    "FALSE": False,
    "NULL": None,
    "Null": None,
    "nil": None,
    "NaN": float("nan"),
    "nan": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
JSON_CONSTANTS = frozenset({"true", "false", "null"})


def literal(token: str) -> tuple[Any, str]:
    """Return the value of a bare token and the kind of repair it took (empty for plain JSON)."""
    if token in CONSTANTS:
        return CONSTANTS[token], "" if token in JSON_CONSTANTS else "literal"
    if token and token[-1] in "0123456789.eE+-" and len(token) <= MOST_DIGITS:
        if INTEGER.fullmatch(token):
            return int(token), "number" if token[0] == "+" else ""
        if DECIMAL.fullmatch(token):
            return _decimal(token)
    return token, "unquoted"


def _decimal(token: str) -> tuple[Any, str]:
    """Read a number with a point or an exponent, however incomplete."""
    body = token.rstrip("eE+-")
    loose = body != token or token[0] in "+." or body.endswith(".") or token.startswith("-.")
    if body != token and INTEGER.fullmatch(body):
        return int(body), "number"
    try:
        return float(body), "number" if loose else ""
    except ValueError:
        return token, "unquoted"


def read_bare(cursor: Cursor, pos: int, role: str) -> tuple[Any, int]:
    """Read a token without quotation marks at `pos`; return its value and the position after it."""
    stop, after = _find_stop(cursor, pos, role)
    token = _without_control(cursor, cursor.text[pos:stop].strip())
    if after >= cursor.end and stop == after and token:
        cursor.truncated = True
    value, kind = literal(token)
    if cursor.truncated and kind == "unquoted" and len(token) > 1:
        cut = next((word for word in ("true", "false", "null") if word.startswith(token)), "")
        value, kind = (CONSTANTS[cut], "literal") if cut else (value, kind)
    if after > stop and kind != "unquoted":
        value, kind = token, "unquoted"
    if kind:
        why = {"literal": "not a JSON literal", "number": "not how JSON writes a number"}
        cursor.note(kind, why.get(kind, "text without quotation marks"), token, value)
    return value, after


def _without_control(cursor: Cursor, token: str) -> str:
    """Return a token without control characters; inside a word without marks they mean nothing."""
    plain = token if token.isprintable() else INVISIBLE.sub("", token)
    if plain != token:
        cursor.note("control", "control character outside a string", token, plain)
    return plain


def _find_stop(cursor: Cursor, pos: int, role: str) -> tuple[int, int]:
    """Return where a bare token stops and where reading goes on (after its closing mark, if it has one)."""
    text, end = cursor.text, cursor.end
    nested: list[str] = []
    marks: set[str] = set()
    scan = pos
    while True:
        match = STOP.match(text, scan, end)
        scan = match.end() if match else end
        if scan >= end:
            return end, end
        char = text[scan]
        if char in "{[(":
            if role != VALUE and char != "(" and scan > pos and text[scan - 1].isspace():
                return scan, scan
            nested.append({"{": "}", "[": "]", "(": ")"}[char])
        elif nested and char == nested[-1]:
            nested.pop()
        elif char in QUOTES:
            found = _at_mark(cursor, pos, scan, role, char in marks)
            if found:
                return found
            marks.add(char)
        elif _stops(cursor, scan, char, role) or (char in "}]" and _wrong_but_closing(cursor, pos, scan)):
            return scan, scan
        scan = cursor.space(scan) if char == "\n" else scan + 1


def _at_mark(cursor: Cursor, pos: int, scan: int, role: str, seen: bool) -> tuple[int, int] | None:
    """Decide about a quotation mark in a bare token: the next key or item, a closing mark, or text."""
    text, end = cursor.text, cursor.end
    spaced = text[scan - 1].isspace()
    if text[scan] == "'" and text[scan - 1].isalnum() and text[scan + 1 : scan + 2].isalpha():
        return None
    if (role == VALUE and QUOTED_KEY.match(text, scan, end)) or (role != VALUE and spaced):
        return scan, scan
    after = cursor.space(scan + 1)
    if seen or spaced or (after < end and text[after] not in ",}]，\n"):
        return None
    cursor.note("quote", "opening quotation mark missing", text[pos : scan + 1])
    return scan, scan + 1


def _stops(cursor: Cursor, scan: int, char: str, role: str) -> bool:
    """Return True when the delimiter at `scan` ends a bare token."""
    if char in COMMAS:
        return _comma_stops(cursor, scan, char, role)
    if char in "}])｝］":
        return cursor.inside({"｝": "}", "］": "]"}.get(char, char))
    if char == "\n":
        return role != VALUE or _line_ends(cursor, scan)
    spaced = char in "/#" and cursor.text[scan - 1].isspace()
    return spaced and (char == "#" or cursor.text[scan + 1 : scan + 2] in ("/", "*"))


def _comma_stops(cursor: Cursor, scan: int, char: str, role: str) -> bool:
    """Return True when the comma separates members; in an object it may be part of a text."""
    text, end = cursor.text, cursor.end
    if role == VALUE:
        ahead = KEY_AHEAD.match(text, scan + 1, end) or LONE_KEY_AHEAD.match(text, scan + 1, end)
        return bool(ahead) or (char == "," and not cursor.inside("}"))
    return char == "," or bool(ITEM_AHEAD.match(text, scan + 1, end))


def _wrong_but_closing(cursor: Cursor, pos: int, scan: int) -> bool:
    """Return True for a bracket that closes nothing open but stands after a literal or at the very end."""
    if cursor.space(scan + 1) >= cursor.end:
        return True
    return scan - pos <= 40 and literal(cursor.text[pos:scan].strip())[1] != "unquoted"


def _line_ends(cursor: Cursor, scan: int) -> bool:
    """Return True when the next line is a new field, a closing bracket or nothing."""
    text, end = cursor.text, cursor.end
    nxt = cursor.space(scan)
    if nxt >= end or text[nxt] in "}]":
        return True
    return bool(QUOTED_KEY.match(text, nxt, end) or BARE_KEY.match(text, nxt, end))


def skip_wrapper(cursor: Cursor, pos: int) -> tuple[int, str]:
    """Return the position inside `ObjectId(`, `new Date(`, `r"` and the like, and what closes it."""
    prefix = PREFIXED.match(cursor.text, pos, cursor.end)
    if prefix:
        cursor.note("literal", "string prefix", prefix[0])
        return prefix.end(), ""
    call = CALL.match(cursor.text, pos, cursor.end)
    if call and call.end() < cursor.end:
        inner = cursor.text[call.end()]
        if inner in QUOTES or inner.isdigit() or inner in "-{[)":
            return call.end(), ")"
    return pos, ""
