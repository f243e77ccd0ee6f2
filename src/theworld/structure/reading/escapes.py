"""What the escapes of a string mean."""

from __future__ import annotations

import re

from theworld.structure.reading.cursor import Cursor

CONTROL = re.compile(r"[\x00-\x1f]")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "\n": ""}
SURROGATES = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")


def unescape(cursor: Cursor, raw: str, mark: str = '"') -> str:
    """Resolve the escapes of a string; what is no escape stays as it stands."""
    if "\\" not in raw:
        if CONTROL.search(raw):
            cursor.note("control", "line break or control character inside a string")
        return raw
    wrong: list[str] = []

    def resolve(match: re.Match[str]) -> str:
        code = match[1]
        if code in SIMPLE:
            return SIMPLE[code]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code in "\"'" or code == mark:
            if code != '"':
                wrong.append(match[0])
            return code
        wrong.append(match[0])
        return match[0]

    value = ESCAPE.sub(resolve, raw)
    if wrong:
        cursor.note("escape", "not an escape in JSON", wrong[0])
    return SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), value)
