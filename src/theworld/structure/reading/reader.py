"""A reader for broken JSON: one pass, no recursion, and a note for everything it had to guess.

Containers are kept on an explicit stack. Each step reads a key, a value, or what stands between two of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from theworld.structure.reading.bare import read_bare
from theworld.structure.reading.brackets import COMMAS
from theworld.structure.reading.closing_marks import ITEM, KEY, VALUE
from theworld.structure.reading.containers import CLOSERS, OPENERS, Containers
from theworld.structure.reading.cursor import QUOTES, Cursor, Frame, Unclosed
from theworld.structure.reading.patterns import BARE_KEY, COMMENT, ELLIPSIS
from theworld.structure.reading.strings import read_string
from theworld.structure.reading.unquoted import read_unquoted
from theworld.structure.report import Repair

JUNK = re.compile(r"[^,，{}\[\]\n\"']*+")


@dataclass(frozen=True, slots=True)
class Reading:
    """A value read from a text."""

    value: Any
    """dict, list, str, int, float, bool or None."""
    start: int
    """Where it begins."""
    end: int
    """Where reading stopped."""
    repairs: tuple[Repair, ...] = ()
    """What had to be guessed, in order."""
    truncated: bool = False
    """True when the text broke off inside the value."""


def read_value(
    text: str, start: int = 0, end: int | None = None, *, implied: bool = False, unclosed: set[Unclosed] | None = None
) -> Reading:
    """Read one object or array that begins at `start`, mending what is broken.

    `implied` reads the fields of an object whose opening brace is missing; `unclosed` is shared between readings.
    Time is linear in the text.
    Raises TooDeepError below 200 levels, ValueError when no bracket stands at `start`.
    """
    cursor = Cursor(text, end, unclosed)
    machine = _Machine(cursor)
    if implied:
        cursor.note("closer", "the braces around the fields are missing")
        machine.containers.implied = True
        machine.containers.push("{", start)
        stop = machine.run(start)
    elif cursor.char(start) not in OPENERS:
        raise ValueError(f"no opening bracket at position {start}")
    else:
        stop = machine.run(machine.containers.push(text[start], start))
    return Reading(machine.containers.root, start, stop, tuple(cursor.repairs), cursor.truncated)


class _Machine:
    """The steps that read one member after the other."""

    __slots__ = ("containers", "cursor")

    def __init__(self, cursor: Cursor) -> None:
        self.cursor, self.containers = cursor, Containers(cursor)

    def run(self, pos: int) -> int:
        """Read until the root is closed or the text ends; return the position after it."""
        cursor = self.cursor
        while cursor.stack:
            pos = cursor.space(pos)
            if pos >= cursor.end:
                self.containers.close_all()
                break
            frame = cursor.stack[-1]
            if frame.ready:
                pos = self._between(pos, frame)
            elif frame.close == "}" and frame.key is None:
                pos = self._key(pos, frame)
            else:
                pos = self._value(pos, frame)
        return min(pos, cursor.end)

    def _between(self, pos: int, frame: Frame) -> int:
        """Read what stands between two members: a comma, a closing bracket, or nothing where a comma is missing."""
        cursor = self.cursor
        char = cursor.text[pos]
        if char in COMMAS:
            if char != ",":
                cursor.note("punctuation", f"{char} is not a comma", char, ",")
            self._next_member(frame)
            return self._after_comma(pos + 1)
        if char in CLOSERS:
            return self.containers.close(pos, CLOSERS[char])
        skipped = self._skip_comment(pos)
        if skipped > pos:
            return skipped
        if char == "+" and cursor.char(cursor.space(pos + 1)) in QUOTES:
            return self._concatenate(cursor.space(pos + 1), frame)
        if char == ":" and frame.close == "]" and frame.value and isinstance(frame.value[-1], str):
            return self._pair_in_array(pos, frame)
        self._next_member(frame)
        cursor.note("missing-comma", "comma missing between two members")
        return pos

    def _next_member(self, frame: Frame) -> None:
        frame.key = None
        frame.ready = False

    def _after_comma(self, pos: int) -> int:
        """Note a comma that nothing follows."""
        nxt = self.cursor.space(pos)
        if self.cursor.char(nxt) in CLOSERS and nxt < self.cursor.end:
            self.cursor.note("trailing-comma", "comma before a closing bracket")
        return nxt

    def _pair_in_array(self, colon: int, frame: Frame) -> int:
        """Read a colon in an array: a field of the object around it, or `["a": 1]` with brackets for braces."""
        cursor = self.cursor
        key = frame.value.pop()
        if len(cursor.stack) > 1 and cursor.stack[-2].close == "}":
            cursor.note("closer", "missing ] before a key", key)
            self.containers.pop()
            cursor.stack[-1].key, cursor.stack[-1].ready = key, False
            return colon + 1
        cursor.note("closer", "key and value in an array: read as an object", key)
        frame.ready = False
        self.containers.push("{", colon)
        inner = cursor.stack[-1]
        inner.key = key
        return colon + 1

    def _concatenate(self, pos: int, frame: Frame) -> int:
        """Join `"a" + "b" + "c"`; `pos` is at the second mark."""
        cursor = self.cursor
        in_object = frame.close == "}"
        member: Any = frame.key if in_object else -1
        parts = [str(frame.value[member])]
        while True:
            text, after = read_string(cursor, pos, VALUE if in_object else ITEM)
            parts.append(text)
            plus = cursor.space(after)
            pos = cursor.space(plus + 1)
            if cursor.char(plus) != "+" or cursor.char(pos) not in QUOTES:
                break
        frame.value[member] = "".join(parts)
        cursor.note("concatenation", "strings joined with +", None, frame.value[member])
        return after

    def _skip_comment(self, pos: int) -> int:
        """Return the position after a comment or an ellipsis at `pos`, or `pos`."""
        cursor = self.cursor
        char = cursor.text[pos]
        if char in "/#":
            comment = COMMENT.match(cursor.text, pos, cursor.end)
            if comment:
                cursor.note("comment", "comment", comment[0])
                return comment.end()
        elif char in ".…":
            dots = ELLIPSIS.match(cursor.text, pos, cursor.end)
            if dots:
                cursor.note("ellipsis", "ellipsis in place of members", dots[0])
                return dots.end()
        return pos

    def _key(self, pos: int, frame: Frame) -> int:
        """Read a key and its colon, or close the object."""
        cursor = self.cursor
        char = cursor.text[pos]
        if char in CLOSERS:
            return self.containers.close(pos, CLOSERS[char])
        if char in COMMAS:
            cursor.note("trailing-comma", "comma without a member before it", char)
            return pos + 1
        skipped = self._skip_comment(pos)
        return skipped if skipped > pos else self._key_itself(pos, char, frame)

    def _key_itself(self, pos: int, char: str, frame: Frame) -> int:
        """Read a key at `pos`: quoted, bare, or something that is none."""
        cursor = self.cursor
        if char in QUOTES:
            key, after = read_string(cursor, pos, KEY)
            return self._colon(after, frame, key)
        if char in OPENERS:
            return self._bracket_as_key(pos, frame)
        bare = BARE_KEY.match(cursor.text, pos, cursor.end)
        if bare:
            key = bare[0].rstrip("=>:： \t\n")
            frame.key = key
            cursor.note("unquoted", "key without quotation marks", key)
            return bare.end()
        return self._junk(pos, frame)

    def _bracket_as_key(self, pos: int, frame: Frame) -> int:
        """Handle `{{"a": 1}}` and brackets where a key should be."""
        cursor = self.cursor
        if cursor.text[pos] in "{｛" and not frame.value and not frame.doubled:
            frame.doubled = True
            cursor.note("closer", "doubled brace", "{{", "{")
            return pos + 1
        frame.key = f"_{len(frame.value)}"
        cursor.note("missing-key", "a value without a key", None, frame.key)
        return pos

    def _junk(self, pos: int, frame: Frame) -> int:
        """Read words where a key should be: members of a set, or text that belongs nowhere."""
        cursor = self.cursor
        match = JUNK.match(cursor.text, pos, cursor.end)
        stop = max(match.end() if match else pos, pos + 1)
        word = cursor.text[pos:stop].strip()
        if word and not frame.value and cursor.char(stop) in ",}":
            value, stop = read_bare(cursor, pos, ITEM)
            frame.keyless.append(value)
        elif word:
            cursor.note("dropped", "text where a key should be", word)
        return stop

    def _colon(self, pos: int, frame: Frame, key: str) -> int:
        """Read the colon after a key; without one decide whether a value follows."""
        cursor = self.cursor
        nxt = cursor.space(pos)
        char = cursor.char(nxt)
        frame.key = key
        if char == ":":
            return nxt + 1
        if char == "：":
            cursor.note("punctuation", "： is not a colon", char, ":")
            return nxt + 1
        if char == "=":
            cursor.note("punctuation", "= in place of a colon", char, ":")
            return nxt + 1 + (cursor.char(nxt + 1) == ">")
        if not char:
            cursor.note("dropped", "the text breaks off inside or after a key", key)
            cursor.truncated, frame.key = True, None
            return nxt
        if char in COMMAS or char in CLOSERS:
            frame.keyless.append(key)
            frame.key = None
            return nxt + (bool(char) and char in COMMAS)
        cursor.note("missing-colon", "colon missing after a key", key)
        return nxt

    def _value(self, pos: int, frame: Frame) -> int:
        """Read a value."""
        cursor = self.cursor
        char = cursor.text[pos]
        in_object = frame.close == "}"
        role = VALUE if in_object else ITEM
        if char in QUOTES:
            value, after = read_string(cursor, pos, role)
            self.containers.put(value)
            return after
        if char in "{[｛［" or (char == "(" and self._is_tuple(pos)):
            return self.containers.push(char, pos)
        if char in CLOSERS or char in COMMAS:
            return self._no_value(pos, frame, char)
        skipped = self._skip_comment(pos) if char != "#" or cursor.char(pos + 1).isspace() else pos
        if skipped > pos and not (char == "/" and COMMENT.match(cursor.text, pos, cursor.end) is None):
            return skipped
        value, after = read_unquoted(cursor, pos, role)
        self.containers.put(value)
        return after

    def _is_tuple(self, pos: int) -> bool:
        char = self.cursor.char(self.cursor.space(pos + 1))
        return bool(char) and (char in "\"'[{()" or char.isdigit() or char == "-")

    def _no_value(self, pos: int, frame: Frame, char: str) -> int:
        """Handle a delimiter where a value should be."""
        cursor = self.cursor
        if frame.close == "}":
            cursor.note("missing-value", "no value after the key: read as null", frame.key)
            self.containers.put(None)
            return pos
        if char in COMMAS:
            cursor.note("trailing-comma", "comma without a member before it", char)
            return pos + 1
        return self.containers.close(pos, CLOSERS[char])
