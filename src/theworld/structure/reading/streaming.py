"""A reader for JSON that is still being written: fed piece by piece, every character is looked at once.

It keeps the part of the text that is not yet decided (a token that may go on) and the containers that are open;
finished members are in the containers at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from theworld.structure.reading.bare import literal
from theworld.structure.reading.cursor import MAX_DEPTH, QUOTES, Cursor
from theworld.structure.reading.escapes import unescape
from theworld.structure.reading.fragments import ARRAY_LIKE, OBJECT_LIKE, THINKING

OPENING = re.compile(r"[{\[]")
THOUGHT = re.compile(r"\s*[<◁](?:think|thinking|thought|reasoning|reflection|scratchpad)[>▷]", re.IGNORECASE)
DELIMITER = re.compile(r"[,，}\]\n]")
BLANK = re.compile(r"[\s\ufeff]*+")
INCOMPLETE_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
CUT_UNICODE = re.compile(r"u[0-9a-fA-F]{0,3}\Z")
LONGEST_KEY = 2000
LONGEST_HEAD = 90
LONGEST_BARE = 10_000
LONGEST_BLANK = 1000
WAIT = -1


class Open:
    """A container that is not finished."""

    __slots__ = ("close", "key", "ready", "value")

    def __init__(self, close: str) -> None:
        self.close = close
        self.value: Any = {} if close == "}" else []
        self.key: str | None = None
        self.ready = False


class StreamReader:
    """Reads the objects and arrays of a growing text."""

    def __init__(self) -> None:
        self.roots: list[Any] = []
        """The outermost values begun so far; the last may be unfinished."""
        self.stack: list[Open] = []
        self._rest = ""
        self._mark = ""
        self._parts: list[str] = []
        self._thinking: bool | None = None

    def feed(self, piece: str) -> None:
        """Take the next piece of text."""
        self._rest += piece
        position = 0
        while position < len(self._rest):
            after = self._step(position)
            if after == WAIT:
                break
            position = after
        self._rest = self._rest[position:]

    @property
    def finished(self) -> bool:
        """True when a value was read and nothing is open."""
        return bool(self.roots) and not self.stack

    def text_in_progress(self) -> str | None:
        """Return the string value being written, None outside strings and inside keys."""
        if not self._mark or not self.stack or self._awaits_key(self.stack[-1]):
            return None
        rest = self._rest
        if rest[:1] == self._closing() and not rest[1:].strip():
            rest = ""
        return self._plain("".join(self._parts) + INCOMPLETE_ESCAPE.sub("", rest))

    def string_is_closed(self) -> bool:
        """True when a closing mark has come and only the delimiter after it is awaited."""
        return bool(self._mark) and self._rest[:1] == self._closing() and not self._rest[1:].strip()

    def open_path(self) -> Iterator[tuple[Open, str | int | None]]:
        """Yield the open containers from the root with the member being written in each."""
        for depth, frame in enumerate(self.stack):
            last = depth == len(self.stack) - 1
            if frame.close == "}":
                yield frame, None if last and frame.ready else frame.key
            else:
                writing = len(frame.value) - 1 if not last else (len(frame.value) if self._mark else None)
                yield frame, writing

    def _awaits_key(self, frame: Open) -> bool:
        return frame.close == "}" and frame.key is None

    def _closing(self) -> str:
        return QUOTES[self._mark][0]

    def _plain(self, raw: str) -> str:
        return unescape(Cursor(""), raw, self._mark) if "\\" in raw else raw

    def _step(self, position: int) -> int:
        """Read one token at a position of the undecided text; WAIT when it may go on."""
        if not self.stack:
            return self._outside(position)
        if self._mark:
            return self._string(position)
        start = self._blank(position)
        if start >= len(self._rest):
            return start
        char = self._rest[start]
        if char in "}],，:：" or char in QUOTES:
            self._punctuation(char)
            return start + 1
        return self._push(char, start) if char in "{[" else self._bare(start, self.stack[-1])

    def _punctuation(self, char: str) -> None:
        """Take a closing bracket, a comma, a colon or an opening quotation mark."""
        frame = self.stack[-1]
        if char in "}]":
            self._close(char)
        elif char in ",，" or (char in QUOTES and frame.ready):
            frame.key, frame.ready = None, False
        if char in QUOTES:
            self._mark, self._parts = char, []

    def _blank(self, position: int) -> int:
        match = BLANK.match(self._rest, position)
        return match.end() if match else position

    def _outside(self, position: int) -> int:
        """Look for the next opening bracket, not inside a thinking block at the start."""
        if self._thinking is not False:
            return self._past_thinking(position)
        opening = OPENING.search(self._rest, position)
        if opening is None:
            return len(self._rest)
        if not self._rest[opening.end() : opening.end() + 200].strip():
            return opening.start() if opening.start() > position else WAIT
        likely = OBJECT_LIKE if opening[0] == "{" else ARRAY_LIKE
        if not likely.match(self._rest, opening.start()):
            return self._doubtful(opening.start(), position)
        return self._push(opening[0], opening.start())

    def _doubtful(self, opening: int, position: int) -> int:
        """Wait at a bracket of which too little is there to tell; pass it when enough is there."""
        after = self._rest[opening + 1 : opening + 1 + LONGEST_HEAD]
        if len(after) < LONGEST_HEAD and not {"}", "]", "\n"} & set(after):
            return opening if opening > position else WAIT
        return opening + 1

    def _past_thinking(self, position: int) -> int:
        """Step over a thinking block at the start of the text."""
        rest = self._rest
        if self._thinking is None:
            thought = THOUGHT.match(rest, position)
            if thought is None and len(rest.strip()) < 16 and rest.lstrip()[:1] in ("", "<", "◁"):
                return WAIT
            self._thinking = thought is not None
            return position + 1 if self._thinking else position
        ended = THINKING.search(rest, position)
        if ended is None:
            return max(position, len(rest) - 24) if len(rest) - 24 > position else WAIT
        self._thinking = False
        return ended.end()

    def _push(self, bracket: str, position: int) -> int:
        if len(self.stack) >= MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        frame = Open("}" if bracket == "{" else "]")
        if self.stack:
            self._put(frame.value)
        else:
            self.roots.append(frame.value)
        self.stack.append(frame)
        return position + 1

    def _put(self, value: Any) -> None:
        frame = self.stack[-1]
        if frame.close == "]":
            frame.value.append(value)
        elif frame.key is not None:
            frame.value[frame.key] = value
        frame.ready = True

    def _close(self, bracket: str) -> None:
        """Close the innermost container that the bracket fits, and what is open inside it."""
        if any(frame.close == bracket for frame in self.stack):
            while self.stack.pop().close != bracket:
                pass

    def _string(self, position: int) -> int:
        """Read on inside a string, up to its end or to the end of what is there."""
        closing = self._closing()
        match = re.compile(rf"[^{re.escape(closing)}\\]*+(?:\\.[^{re.escape(closing)}\\]*+)*+", re.DOTALL).match(
            self._rest, position
        )
        stop = match.end() if match else position
        if stop < len(self._rest) and self._rest[stop] == closing:
            follow = self._blank(stop + 1)
            if follow >= len(self._rest) and follow - stop < LONGEST_BLANK:
                return self._keep(position, stop)
            if follow >= len(self._rest) or self._ends_here(self._rest[follow], follow > stop + 1):
                self._parts.append(self._rest[position:stop])
                self._finish_string()
                return stop + 1
            self._parts.append(self._rest[position : stop + 1])
            return stop + 1
        if stop < len(self._rest):
            return self._keep(position, stop)
        return self._keep(position, stop - self._unfinished_escape(position, stop))

    def _unfinished_escape(self, position: int, stop: int) -> int:
        r"""Return the length of a `\u` escape at the end that has fewer than four digits."""
        tail = CUT_UNICODE.search(self._rest, max(position, stop - 4), stop)
        if tail is None:
            return 0
        slashes = tail.start()
        while slashes > position and self._rest[slashes - 1] == "\\":
            slashes -= 1
        return len(tail[0]) + 1 if (tail.start() - slashes) % 2 else 0

    def _keep(self, position: int, stop: int) -> int:
        """Put decided text of a string aside; WAIT when there is none."""
        if stop <= position:
            return WAIT
        self._parts.append(self._rest[position:stop])
        return stop

    def _ends_here(self, following: str, spaced: bool) -> bool:
        """Return True when a closing mark followed by this character ends the string."""
        if self._awaits_key(self.stack[-1]):
            return following in ":："
        return following in ",，}]" or (spaced and following in QUOTES)

    def _finish_string(self) -> None:
        value = self._plain("".join(self._parts))
        frame = self.stack[-1]
        self._mark, self._parts = "", []
        if self._awaits_key(frame):
            frame.key = value
        else:
            self._put(value)

    def _bare(self, start: int, frame: Open) -> int:
        """Read a number, a literal, a bare key or bare text; only once its end is known."""
        if self._awaits_key(frame):
            colon = re.compile(r"[:：]").search(self._rest, start)
            if colon is None:
                return WAIT if len(self._rest) - start < LONGEST_KEY else start + 1
            frame.key = self._rest[start : colon.start()].strip()
            return colon.end()
        if self._rest.startswith(("//", "/*"), start):
            mark = "\n" if self._rest[start + 1] == "/" else "*/"
            end = self._rest.find(mark, start)
            return (
                end + len(mark) if end >= 0 else WAIT if len(self._rest) - start < LONGEST_BARE else len(self._rest) - 1
            )
        delimiter = DELIMITER.search(self._rest, start)
        if delimiter is None:
            return WAIT if len(self._rest) - start < LONGEST_BARE else len(self._rest)
        self._put(literal(self._rest[start : delimiter.start()].strip())[0])
        return delimiter.start()
