"""Tool calls that a model wrote into its text instead of calling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from theworld.structure.reading.bare import literal, read_bare
from theworld.structure.reading.closing_marks import ITEM
from theworld.structure.reading.cursor import QUOTES, Cursor, Frame
from theworld.structure.reading.fragments import read_any
from theworld.structure.reading.reader import read_value
from theworld.structure.reading.strings import read_string
from theworld.structure.report import Repair

FUNCTION = re.compile(r"<(?:function|invoke)(?:=|\s+name=)[\"']?([\w.-]{1,64})[\"']?\s*>")
PARAMETER = re.compile(
    r"<parameter(?:=|\s+name=)[\"']?([\w.-]{1,64})[\"']?[^>\n]{0,80}>(.*?)(?=</parameter>|<parameter|</function>|</invoke>|\Z)",
    re.DOTALL,
)
PYTHONIC = re.compile(r"(?:^|[\s\[(,`])([A-Za-z_][\w.]{0,63})\(\s*+(?=[A-Za-z_]\w{0,63}\s*+=[^=])")
KEYWORD = re.compile(r"\s*+([A-Za-z_]\w{0,63})\s*+=\s*+")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool."""

    name: str
    """Name of the function, empty when the dialect gives none."""
    arguments: Any
    """Arguments as plain data."""
    repairs: tuple[Repair, ...] = ()
    """What had to be mended in the arguments."""


def read_text_calls(text: str) -> Iterator[ToolCall]:
    """Yield calls written as tags with parameters, or as Python calls with keyword arguments.

    Calls whose arguments are JSON (`<tool_call>{...}</tool_call>`, `<function=f>{...}`) are found as fragments.
    """
    yield from _tagged(text)
    yield from _pythonic(text)


def _tagged(text: str) -> Iterator[ToolCall]:
    starts = list(FUNCTION.finditer(text))
    for match, following in zip_longest(starts, starts[1:]):
        end = following.start() if following else len(text)
        pairs = PARAMETER.findall(text, match.end(), end)
        if pairs:
            yield ToolCall(match[1], {name: _parameter(value) for name, value in pairs})


def _parameter(text: str) -> Any:
    """Return the value of a parameter: JSON where it is JSON, else the text without its outer line breaks."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            return read_any(stripped)[0]
        except ValueError:
            return stripped
    value, kind = literal(stripped)
    return value if not kind and isinstance(value, (bool, type(None))) else stripped


def _pythonic(text: str) -> Iterator[ToolCall]:
    position = 0
    while match := PYTHONIC.search(text, position):
        arguments, position = _keywords(text, match.end())
        if arguments:
            yield ToolCall(match[1], arguments, (Repair("call", "a call written in Python", (), match[1]),))


def _keywords(text: str, position: int) -> tuple[dict[str, Any], int]:
    """Read `name="Bob", age=30)` and return the arguments and the position after them."""
    arguments: dict[str, Any] = {}
    while match := KEYWORD.match(text, position):
        value, position = _read_argument(Cursor(text), match.end())
        arguments[match[1]] = value
        position = Cursor(text).space(position)
        if text[position : position + 1] != ",":
            break
        position += 1
    return arguments, max(position, 1)


def _read_argument(cursor: Cursor, pos: int) -> tuple[Any, int]:
    """Read one argument of a call at `pos`: an object, an array, a string or a bare token."""
    char = cursor.char(pos)
    if char and char in "{[":
        reading = read_value(cursor.text, pos, cursor.end)
        return reading.value, reading.end
    frame = Frame(")")
    cursor.stack.append(frame)
    return read_string(cursor, pos, ITEM) if char and char in QUOTES else read_bare(cursor, pos, ITEM)
