"""JSON that is still being written: where its objects begin and end, what is open, and the data so far.

The text is walked once, whatever its pieces, for brackets and strings alone; a snapshot's data come from pydantic's
partial JSON reader, and from json_repair where what has come so far is not the beginning of valid JSON.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import from_json

from theworld.structure.reading.fragments import ARRAY_LIKE, OBJECT_LIKE, THINKING
from theworld.structure.reading.repairing import repair_json

OPENING = re.compile(r"[{\[]")
MARK = re.compile(r"[{\[}\]\"'“]|//|/\*")
CLOSING = {'"': '"', "'": "'", "“": "”"}
UP_TO = {mark: re.compile(rf"[^{close}\\]*+(?:\\.[^{close}\\]*+)*+", re.DOTALL) for mark, close in CLOSING.items()}
BLANK = re.compile(r"[\s\ufeff]*+")
THOUGHT = re.compile(r"\s*[<◁](?:think|thinking|thought|reasoning|reflection|scratchpad)[>▷]", re.IGNORECASE)
UNFINISHED = re.compile(r"(?:[^\s{}\[\],:\"'“”]|\\)+$")
LONGEST_HEAD = 90
LONGEST_BLANK = 1000
LONGEST_KEPT = 8000
MAX_DEPTH = 200
WAIT = -1


class StreamReader:
    """Follows the objects and arrays of a growing text."""

    def __init__(self) -> None:
        self.finished: list[Any] = []
        """The outermost values that are closed, as data."""
        self.stack: list[str] = []
        """The brackets that are open."""
        self.writing = False
        """True while the last member is a string value whose end has not come."""
        self._parts: list[str] = []
        self._text = ""
        self._start = self._position = 0
        self._mark = ""
        self._thinking: bool | None = None

    def feed(self, piece: str) -> None:
        """Take the next piece of text. Raises ValueError below 200 levels of nesting."""
        self._text += piece
        while self._position < len(self._text):
            after = self._step(self._position)
            if after == WAIT:
                break
            self._position = after
        if self._position > LONGEST_KEPT:
            self._put_aside(self._position - LONGEST_BLANK)

    def _put_aside(self, end: int) -> None:
        """Keep text that was walked apart from what is still looked at, so that adding a piece stays cheap."""
        if self._start < end:
            self._parts.append(self._text[self._start : end] if self.stack else "")
        self._start = max(self._start - end, 0)
        self._text, self._position = self._text[end:], self._position - end

    def data(self) -> Any:
        """Return the data of the open value so far: the string being written in part, unfinished numbers left out."""
        text = "".join([*self._parts, self._text[self._start :]])
        if not self._mark:
            text = UNFINISHED.sub("", text)
        try:
            return from_json(text, allow_partial="trailing-strings")
        except (ValueError, TypeError):
            try:
                return repair_json(text, 0, growing=True).value
            except ValueError:
                return {} if self.stack[0] == "{" else []

    def complete(self, data: Any) -> set[tuple[str | int, ...]]:
        """Return the paths of the members of the data that will not change any more."""
        found: set[tuple[str | int, ...]] = set()
        path: tuple[str | int, ...] = ()
        for level in range(len(self.stack)):
            if not data or not isinstance(data, (dict, list)):
                break
            *before, last = data if isinstance(data, dict) else range(len(data))
            found |= {(*path, key) for key in before}
            path = (*path, last)
            if level == len(self.stack) - 1 and not self.writing:
                found.add(path)
            data = data[last]
        return found

    def _step(self, position: int) -> int:
        """Go one token on from a position; WAIT when what follows decides."""
        if not self.stack:
            return self._outside(position)
        if self._mark:
            return self._string(position)
        mark = MARK.search(self._text, position)
        if mark is None:
            last = len(self._text) - (self._text[-1] == "/")  # which may begin a comment
            return last if last > position else WAIT
        return self._marked(mark[0], mark.start(), mark.end(), position)

    def _marked(self, mark: str, start: int, end: int, position: int) -> int:
        """Take a bracket, a comment or an opening quotation mark."""
        if mark in "{[":
            return self._push(mark, start)
        if mark in "}]":
            return self._close(mark, end)
        if mark in ("//", "/*"):
            stop = self._text.find("\n" if mark == "//" else "*/", end)
            return stop + 1 if stop >= 0 else (start if start > position else WAIT)
        if mark != "'" or not self._text[start - 1].isalnum():
            self._mark = mark
            before = self._text[max(self._start, start - LONGEST_BLANK) : start].rstrip()
            self.writing = self.stack[-1] == "[" or before.endswith((":", "："))
        return end

    def _string(self, position: int) -> int:
        """Read on inside a string, up to its end or to the end of what is there."""
        match = UP_TO[self._mark].match(self._text, position)
        stop = match.end() if match else position
        if stop >= len(self._text) or self._text[stop] == "\\":
            return stop if stop > position else WAIT
        follow = BLANK.match(self._text, stop + 1)
        after = follow.end() if follow else stop + 1
        if after >= len(self._text) and after - stop < LONGEST_BLANK:
            self.writing = False
            return stop if stop > position else WAIT
        if after < len(self._text) and self._text[after] not in ",，}]:：":
            self.writing = True
            return stop + 1
        self._mark, self.writing = "", False
        return stop + 1

    def _outside(self, position: int) -> int:
        """Look for the next opening bracket, not inside a thinking block at the start."""
        if self._thinking is not False:
            return self._past_thinking(position)
        text = self._text
        opening = OPENING.search(text, position)
        if opening is None:
            return len(text)
        start = opening.start()
        head = text[opening.end() : opening.end() + LONGEST_HEAD]
        if not head.strip():
            return start if start > position else WAIT
        if (OBJECT_LIKE if opening[0] == "{" else ARRAY_LIKE).match(text, start):
            self._start, self._parts = start, []
            return self._push(opening[0], start)
        if len(head) < LONGEST_HEAD and not {"}", "]", "\n"} & set(head):
            return start if start > position else WAIT
        return start + 1

    def _past_thinking(self, position: int) -> int:
        """Step over a thinking block at the start of the text."""
        text = self._text
        if self._thinking is None:
            thought = THOUGHT.match(text, position)
            if thought is None and len(text.strip()) < 16 and text.lstrip()[:1] in ("", "<", "◁"):
                return WAIT
            self._thinking = thought is not None
            return position + 1 if self._thinking else position
        ended = THINKING.search(text, position)
        if ended is None:
            return len(text) - 24 if len(text) - 24 > position else WAIT
        self._thinking = False
        return ended.end()

    def _push(self, bracket: str, position: int) -> int:
        if len(self.stack) >= MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        self.stack.append(bracket)
        return position + 1

    def _close(self, bracket: str, after: int) -> int:
        """Close the innermost container that the bracket fits, and what is open inside it."""
        opening = "{" if bracket == "}" else "["
        if opening in self.stack:
            while self.stack.pop() != opening:
                pass
        if not self.stack:
            text = "".join([*self._parts, self._text[self._start : after]])
            try:
                self.finished.append(from_json(text))
            except (ValueError, TypeError):
                self.finished.append(repair_json(text).value)
        return after
