"""Every JSON-like fragment of a text: one pass from left to right, aware of strings, fences and thinking.

A fragment that is valid JSON is read by the standard parser; any other is repaired (see `repairing`).
No part of the text is read more than a fixed number of times.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from theworld.structure.reading.repairing import MORE_FIELDS, Repaired, TooDeepError, repair_json
from theworld.structure.report import Path, Repair

OPENING = re.compile(r"[{\[｛［]")
FENCE = re.compile(r"(?:```|~~~)[ \t]*+([\w+.-]*+)")
THINKING = re.compile(
    r"[<◁](?:/(?:think|thinking|thought|reasoning|reflection|scratchpad)[>▷]|\|?end_of_thought\|?>)", re.IGNORECASE
)
OBJECT_LIKE = re.compile(r"[{｛]\s*+(?:[\"'“”‘`}{\[]|\\+\"|//|/\*|\#|$|,|[\w][\w .$/-]{0,80}+\s*+(?:[:：]|=>?))")
ARRAY_LIKE = re.compile(r"[\[［]\s*+(?:[\"'“‘`{\[\]｛(]|\\+\"|-?\.?\d|//|/\*|$|(?:true|false|null|None|True|False)\b)")
QUOTED_KEY = re.compile(r"(?:\"(?:[^\"\\\n]|\\.){0,160}+\"|'(?:[^'\\\n]|\\.){0,160}+'|“[^“”\n]{0,160}+”)\s*+[:：]")
ESCAPED_TEXT = re.compile(r"[\[{]\s*(?:[\[{]\s*)*\\+\"")
UNESCAPE = re.compile(r"\\(.)", re.DOTALL)
SEPARATOR = re.compile(r"[\s,;，；]*+")
NESTED_LIMIT = 5_000
NESTED_LEVELS = 150
OUTER_LOST = Repair("dropped", "the value lies inside brackets nested too deeply; what is around it is left out")
ESCAPED = Repair("escape", "the whole text was escaped as if inside a string")
DECODER = json.JSONDecoder(strict=True)


class Fence(NamedTuple):
    """A fenced block: the positions of its content, and whether the closing fence is there."""

    start: int
    end: int
    closed: bool


@dataclass(slots=True)
class Fragment:
    """One candidate found in a text: plain data with the place it was read from."""

    label: str
    """`markdown_0`, `braced_1`, `bracket_0`, ..."""
    value: Any
    start: int
    end: int
    known: tuple[Repair, ...] = ()
    """Repairs besides those of its reading."""
    reading: Repaired | None = None
    """None when it is valid JSON as it stands."""
    cut: bool = False
    """True when the text is known to break off inside."""
    error: Exception | None = None
    """Why it could not be read at all; `value` is None then."""

    @property
    def broken(self) -> bool:
        """True when it is not valid JSON as it stands."""
        return self.reading is not None or bool(self.known)

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What had to be repaired; empty for valid JSON."""
        return self.known if self.reading is None else self.known + self.reading.repairs

    @property
    def truncated(self) -> bool:
        """True when the text broke off inside."""
        return self.cut or (self.reading is not None and self.reading.truncated)


def answer_start(text: str) -> int:
    """Return where the answer begins: after the last closing tag of a thinking block."""
    if "<" not in text and "◁" not in text:
        return 0
    position = 0
    for match in THINKING.finditer(text):
        position = match.end()
    return position if text[position:].strip() else 0


def find_fences(text: str, start: int = 0) -> list[Fence]:
    """Return the fenced blocks of a text; fence marks are paired in order."""
    fences: list[Fence] = []
    opened: re.Match[str] | None = None
    for mark in FENCE.finditer(text, start):
        if opened is None:
            opened = mark
        elif mark[0][:3] == opened[0][:3]:
            line = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
            reopens = bool(mark[1]) and text[mark.end() : mark.end() + 1] in ("\n", "\r") and not line.strip()
            fences.append(Fence(opened.end(), mark.start(), not reopens))
            opened = mark if reopens else None
    if opened is not None:
        fences.append(Fence(opened.end(), len(text), False))
    return fences


class Scanner:
    r"""Finds the fragments of one text; without its escapes where it was escaped as a whole (`{\"a\": \"b\"}`)."""

    def __init__(self, text: str, start: int = 0) -> None:
        self.text, self.start = text, start
        self._note: tuple[Repair, ...] = ()
        first = OPENING.search(text, start) if "\\" in text else None
        if first and ESCAPED_TEXT.match(text, first.start()):
            known = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\"}
            self.text, self.start = UNESCAPE.sub(lambda m: known.get(m[1], m[0]), text), 0
            self._note = (ESCAPED,)
        self.fences = find_fences(self.text, self.start) if "```" in text or "~~~" in text else []
        self._fence_starts = [fence.start for fence in self.fences]
        self._first = len(self.text) - len(self.text.lstrip())
        self._extended = False
        self._counts = {"braced": 0, "bracket": 0}
        self._named: set[int] = set()

    def fragments(self) -> Iterator[Fragment]:
        """Yield the outermost fragments in order of appearance."""
        position = self.start
        while match := OPENING.search(self.text, position):
            opening = match.start()
            index = bisect_right(self._fence_starts, opening) - 1
            fence = index if index >= 0 and opening < self.fences[index].end else None
            begins_fence = fence is not None and not self.text[self.fences[fence].start : opening].strip()
            likely = OBJECT_LIKE if match[0] in "{｛" else ARRAY_LIKE
            # No prose begins a text or a fence with a bracket.
            begins = begins_fence if fence is not None else opening == self._first
            if not begins and not likely.match(self.text, opening):
                position = opening + 1
                continue
            label = ""
            if fence is not None and fence not in self._named:
                self._named.add(fence)
                label = f"markdown_{fence}" if begins_fence else ""
            if not label:
                kind = "braced" if match[0] in "{｛" else "bracket"
                label = f"{kind}_{self._counts[kind]}"
                self._counts[kind] += 1
            fragment = self._read(opening, fence, label)
            yield fragment
            position = max(fragment.end, opening + 1)

    def _read(self, opening: int, fence: int | None, label: str) -> Fragment:
        """Read the fragment that begins at `opening`: as JSON if it is, else repairing it."""
        try:
            value, end = DECODER.raw_decode(self.text, opening)
            if not isinstance(value, dict) or not MORE_FIELDS.match(self.text, end):
                return Fragment(label, value, opening, end, self._note)
        except (ValueError, RecursionError):
            pass
        try:
            bounds = self.fences[fence] if fence is not None else None
            reading = repair_json(self.text, opening, bounds.end if bounds else None)
            if bounds and bounds.closed and not self._extended and reading.truncated:
                self._extended = True  # the fence mark may be part of a string
                wider = repair_json(self.text, opening)
                reading = reading if wider.truncated else wider
        except TooDeepError as error:
            self._note = (OUTER_LOST,)
            return Fragment(label, None, opening, error.position, error=error)
        except (ValueError, RecursionError) as error:
            return Fragment(label, None, opening, opening + 1, error=error)
        return Fragment(label, reading.value, opening, reading.end, self._note, reading)


def unbraced_fields(text: str, start: int = 0) -> Fragment | None:
    """Read a text that begins with a quoted key as an object whose braces are missing."""
    begin = start + len(text[start:]) - len(text[start:].lstrip(" \t\r\n,"))
    if not QUOTED_KEY.match(text, begin):
        return None
    try:
        reading = repair_json(f"{{{text[begin:]}}}")
    except (ValueError, RecursionError):
        return None
    note = Repair("closer", "the braces around the fields are missing")
    return Fragment("unbraced", reading.value, start, len(text), (note,), reading)


def nested_values(value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the containers inside a value with their paths, outermost first; levels and number are bounded."""
    level: list[tuple[Path, Any]] = [((), value)]
    count = 0
    for _ in range(NESTED_LEVELS):
        deeper: list[tuple[Path, Any]] = []
        for path, item in level:
            for key, member in item.items() if isinstance(item, dict) else enumerate(item):
                if isinstance(member, (dict, list)):
                    count += 1
                    if count > NESTED_LIMIT:
                        return
                    deeper.append(((*path, key), member))
        yield from deeper
        level = deeper


def read_any(text: str) -> tuple[Any, tuple[Repair, ...]]:
    """Read the first object or array of a text, repairing it; raises ValueError when there is none."""
    problem: Exception = ValueError("no JSON value in the text")
    for fragment in Scanner(text).fragments():
        if fragment.error is None:
            return fragment.value, fragment.repairs
        problem = fragment.error
    raise problem
