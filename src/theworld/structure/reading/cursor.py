"""The text being read, the containers that are open, and the notes on what was repaired."""

from __future__ import annotations

import re
from typing import Any

from theworld.structure.errors import shorten
from theworld.structure.report import Path, Repair

MAX_DEPTH = 200
"""Deepest nesting read; pydantic's own JSON parser stops at the same depth."""

KEPT = 200

SPACE = re.compile(r"[\s\x00-\x1f\x7f\ufeff\u200b\u2060]*+")

QUOTES = {
    '"': '"',
    "'": "'",
    "“": "”“",
    "”": "”",
    "‘": "’‘",
    "’": "’",
    "`": "`´",
    "´": "´",
    "＂": "＂",
    "＇": "＇",
    "「": "」",
    "『": "』",
}
"""Opening quotation marks and what closes them."""


Unclosed = tuple[str, str, int]
"""A quotation mark, a role and the end of the text up to which none closes it."""


class TooDeepError(ValueError):
    """The text is nested deeper than MAX_DEPTH."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(f"nested deeper than {MAX_DEPTH} levels at position {position}")


class Frame:
    """One open container."""

    __slots__ = ("close", "doubled", "key", "keyless", "path", "ready", "value")

    def __init__(self, close: str, path: Path = ()) -> None:
        self.close = close
        """The closing bracket it waits for."""
        self.path = path
        """Keys and indexes from the root to this container."""
        self.value: Any = {} if close == "}" else []
        self.key: str | None = None
        """Key read, value awaited."""
        self.ready = False
        """True after a value: a comma or the closing bracket comes next."""
        self.doubled = False
        """Opened by two braces, so closed by two."""
        self.keyless: list[str] = []
        """Keys that came without a value: a set, or a key at the end."""


class Cursor:
    """A text from `start` to `end` and the state shared by everything that reads it."""

    __slots__ = ("block", "end", "once", "repairs", "stack", "text", "truncated", "unclosed")

    def __init__(self, text: str, end: int | None = None, unclosed: set[Unclosed] | None = None) -> None:
        self.text = text
        self.end = len(text) if end is None else end
        self.stack: list[Frame] = []
        self.repairs: list[Repair] = []
        self.truncated = False
        self.once: set[str] = set()
        """What is noted only the first time."""
        self.block: tuple[str, int] = ("", -1)
        """The closing brackets last looked for, and where they were found."""
        self.unclosed: set[Unclosed] = set() if unclosed is None else unclosed
        """Marks known to have no closing mark; shared by the readings of one text, so that they stay linear."""

    def space(self, pos: int) -> int:
        """Return the first position from `pos` on that is not white space."""
        match = SPACE.match(self.text, pos, self.end)
        return match.end() if match else pos

    def char(self, pos: int) -> str:
        """Return the character at `pos`, empty at the end."""
        return self.text[pos] if pos < self.end else ""

    def inside(self, close: str) -> bool:
        """Return True when a container waiting for `close` is open."""
        return any(frame.close == close for frame in self.stack)

    def closers(self) -> str:
        """Return the brackets that would close everything that is open."""
        return "".join(frame.close * (1 + frame.doubled) for frame in reversed(self.stack))

    def path(self) -> Path:
        """Return where the next value goes, or where the last one went."""
        if not self.stack:
            return ()
        frame = self.stack[-1]
        if frame.close != "}":
            return (*frame.path, len(frame.value))
        return frame.path if frame.key is None else (*frame.path, frame.key)

    def note(self, kind: str, why: str, was: Any = None, became: Any = None) -> None:
        """Record one repair at the current path."""
        self.repairs.append(Repair(kind, why, self.path(), _cut(was), _cut(became)))

    def note_once(self, kind: str, why: str, was: Any = None, became: Any = None) -> None:
        """Record a repair that goes through the whole text only where it first occurs."""
        if why not in self.once:
            self.once.add(why)
            self.note(kind, why, was, became)


def _cut(value: Any) -> Any:
    return shorten(value, KEPT) if isinstance(value, str) else value
