"""The containers that are open while a broken text is read: opened, filled, and closed as their brackets say."""

from __future__ import annotations

from typing import Any

from theworld.structure.reading.brackets import containers_closed
from theworld.structure.reading.cursor import MAX_DEPTH, Cursor, Frame, TooDeepError

OPENERS = {"{": "}", "[": "]", "(": ")", "｛": "}", "［": "]"}
CLOSERS = {"}": "}", "]": "]", ")": ")", "｝": "}", "］": "]"}


class Containers:
    """The stack of a cursor's containers, and the value that the outermost one holds."""

    __slots__ = ("cursor", "implied", "root")

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.root: Any = None
        self.implied = False
        """True when the outermost braces are only imagined."""

    def push(self, bracket: str, pos: int) -> int:
        """Open a container at `pos`; return the position after its bracket."""
        cursor = self.cursor
        if len(cursor.stack) >= MAX_DEPTH:
            raise TooDeepError(pos)
        frame = Frame(OPENERS[bracket], cursor.path())
        if bracket in "(｛［":
            cursor.note("punctuation", f"{bracket} is not a JSON bracket", bracket, "[" if bracket == "(" else None)
        if cursor.stack:
            self.put(frame.value)
        else:
            self.root = frame.value
        cursor.stack.append(frame)
        return pos + 1

    def put(self, value: Any) -> None:
        """Store a value in the innermost container."""
        frame = self.cursor.stack[-1]
        if frame.close != "}":
            frame.value.append(value)
        elif frame.key is not None:
            if frame.key in frame.value and frame.value[frame.key] != value:
                self.cursor.note(
                    "duplicate", "the key occurs twice; the last one counts", frame.value[frame.key], value
                )
            frame.value[frame.key] = value
        frame.ready = True

    def close(self, pos: int, char: str) -> int:
        """Close what the bracket closes; return the position after it."""
        cursor = self.cursor
        count = containers_closed(cursor, pos, char)
        if not count:
            frame = cursor.stack[-1]
            frame.ready = frame.ready or bool(frame.value)
            return pos + 1
        for _ in range(count - 1):
            self.pop()
        if cursor.stack[-1].doubled:
            again = cursor.space(pos + 1)
            pos = again if cursor.char(again) == "}" else pos
        self.pop()
        return pos + 1

    def close_all(self) -> None:
        """Close everything that is open at the end of the text."""
        cursor = self.cursor
        frame = cursor.stack[-1]
        if frame.close == "}" and frame.key is not None and not frame.ready:
            cursor.note("missing-value", "the text breaks off after a key: read as null", frame.key)
            self.put(None)
        if len(cursor.stack) > 1 or not self.implied:
            cursor.truncated = True
            cursor.note("truncated", "closing brackets missing at the end", None, cursor.closers())
        while cursor.stack:
            self.pop()

    def pop(self) -> None:
        """Take the innermost container off the stack, settling keys that had no value."""
        cursor = self.cursor
        frame = cursor.stack.pop()
        if not frame.keyless:
            return
        if not frame.value and len(frame.keyless) > 0 and not cursor.truncated:
            self._become_list(frame)
            return
        for key in frame.keyless:
            cursor.note("missing-value", "a key without a value: read as null", key)
            frame.value.setdefault(str(key), None)

    def _become_list(self, frame: Frame) -> None:
        """Turn `{"a", "b"}` into a list."""
        cursor = self.cursor
        cursor.note("closer", "a set: read as a list", "{", "[")
        if not cursor.stack:
            self.root = frame.keyless
            return
        parent = cursor.stack[-1]
        if parent.close == "}":
            parent.value[parent.key] = frame.keyless
        else:
            parent.value[-1] = frame.keyless
