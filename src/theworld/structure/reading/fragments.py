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
from itertools import pairwise
from typing import Any

from theworld.structure.reading.repairing import Repaired, TooDeepError, repair_json
from theworld.structure.report import Repair

OPENING = re.compile(r"[{\[｛［]")
FENCE = re.compile(r"(?:```|~~~)[ \t]*+([\w+.-]*+)")
THINKING = re.compile(
    r"[<◁](?:/(?:think|thinking|thought|reasoning|reflection|scratchpad)[>▷]|\|?end_of_thought\|?>)", re.IGNORECASE
)
OBJECT_LIKE = re.compile(r"[{｛]\s*+(?:[\"'“”‘`}{\[]|\\+\"|//|/\*|\#|$|,|[\w][\w .$/-]{0,80}+\s*+(?:[:：]|=>?))")
ARRAY_LIKE = re.compile(r"[\[［]\s*+(?:[\"'“‘`{\[\]｛(]|\\+\"|-?\.?\d|//|/\*|$|(?:true|false|null|None|True|False)\b)")
QUOTED_KEY = re.compile(r"(?:\"(?:[^\"\\\n]|\\.){0,160}+\"|'(?:[^'\\\n]|\\.){0,160}+'|“[^“”\n]{0,160}+”)\s*+[:：]")
MORE_FIELDS = re.compile(r"\s*+,\s*+(?:\"[^\"\n]{1,80}+\"|'[^'\n]{1,80}+')\s*+:")
ESCAPED_TEXT = re.compile(r"[\[{]\s*(?:[\[{]\s*)*\\+\"")
UNESCAPE = re.compile(r"\\(.)", re.DOTALL)
SEPARATOR = re.compile(r"[\s,;，；]*+")
NESTED_LIMIT = 5_000
NESTED_LEVELS = 150
OUTER_LOST = Repair("dropped", "the value lies inside brackets nested too deeply; what is around it is left out")
ESCAPED = Repair("escape", "the whole text was escaped as if inside a string")
DECODER = json.JSONDecoder(strict=True)


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block."""

    start: int
    """First position of its content."""
    end: int
    """Position after its content."""
    language: str
    """The word after the opening fence, lower case."""
    closed: bool
    """False when the closing fence is missing."""


class Fragment:
    """One candidate found in a text: plain data with the place it was read from."""

    __slots__ = ("_cut", "_known", "_repaired", "end", "error", "label", "start", "value")

    def __init__(
        self,
        label: str,
        value: Any,
        start: int,
        end: int,
        repairs: tuple[Repair, ...] = (),
        *,
        repaired: Repaired | None = None,
        error: str = "",
        truncated: bool = False,
    ) -> None:
        self.label = label
        """`markdown_0`, `braced_1`, `bracket_0`, ..."""
        self.value = value
        self.start, self.end = start, end
        self.error = error
        """Why it could not be read at all; `value` is None then."""
        self._known, self._repaired, self._cut = repairs, repaired, truncated

    @property
    def broken(self) -> bool:
        """True when it is not valid JSON as it stands."""
        return self._repaired is not None or bool(self._known)

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What had to be repaired; empty for valid JSON."""
        return self._known if self._repaired is None else self._known + self._repaired.repairs

    @property
    def truncated(self) -> bool:
        """True when the text broke off inside."""
        return self._cut or (self._repaired is not None and self._repaired.truncated)


def answer_start(text: str) -> int:
    """Return where the answer begins: after the last closing tag of a thinking block."""
    position = 0
    if "<" not in text and "◁" not in text:
        return 0
    for match in THINKING.finditer(text):
        position = match.end()
    return position if position < len(text) and text[position:].strip() else 0


def unescape_whole(text: str, start: int) -> str | None:
    r"""Return a text that was escaped as a whole (`{\"a\": \"b\"}`) without its escapes, None for any other."""
    if not ESCAPED_TEXT.match(text, start):
        return None
    return UNESCAPE.sub(lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1] if m[1] in "\"'\\" else m[0]), text)


def find_fences(text: str, start: int = 0) -> list[Fence]:
    """Return the fenced blocks of a text; fence marks are paired in order."""
    fences: list[Fence] = []
    opened: re.Match[str] | None = None
    for mark in FENCE.finditer(text, start):
        if opened is None:
            opened = mark
        elif mark[0][:3] == opened[0][:3]:
            if mark[1] and text[mark.end() : mark.end() + 1] in ("\n", "\r") and _starts_line(text, mark.start()):
                fences.append(Fence(opened.end(), mark.start(), opened[1].lower(), False))
                opened = mark
                continue
            fences.append(Fence(opened.end(), mark.start(), opened[1].lower(), True))
            opened = None
    if opened is not None:
        fences.append(Fence(opened.end(), len(text), opened[1].lower(), False))
    return fences


def _starts_line(text: str, pos: int) -> bool:
    return not text[text.rfind("\n", 0, pos) + 1 : pos].strip()


class Scanner:
    """Finds the fragments of one text."""

    def __init__(self, text: str, start: int = 0) -> None:
        first = OPENING.search(text, start) if "\\" in text else None
        plain = unescape_whole(text, first.start()) if first else None
        self.text = text if plain is None else plain
        self.start = start if plain is None else 0
        self._note: tuple[Repair, ...] = () if plain is None else (ESCAPED,)
        self.fences = find_fences(self.text, self.start) if "```" in text or "~~~" in text else []
        self._fence_starts = [fence.start for fence in self.fences]
        self._first = len(self.text) - len(self.text.lstrip())
        self._extended = False
        self._counts: dict[str, int] = {}
        self._named: set[int] = set()

    def fragments(self) -> Iterator[Fragment]:
        """Yield the outermost fragments in order of appearance."""
        position = self.start
        while True:
            match = OPENING.search(self.text, position)
            if match is None:
                return
            opening = match.start()
            likely = OBJECT_LIKE if match[0] in "{｛" else ARRAY_LIKE
            if not likely.match(self.text, opening) and not self._is_first(opening):
                position = opening + 1
                continue
            fragment = self._read(opening)
            yield fragment
            position = max(fragment.end, opening + 1)

    def _is_first(self, opening: int) -> bool:
        """Return True for a bracket with which the whole text or a fence begins: no prose has that."""
        fence = self._fence_at(opening)
        if fence >= 0:
            return not self.text[self.fences[fence].start : opening].strip()
        return opening == self._first

    def _fence_at(self, position: int) -> int:
        """Return the index of the fence around a position, or -1."""
        index = bisect_right(self._fence_starts, position) - 1
        return index if index >= 0 and position < self.fences[index].end else -1

    def _label(self, opening: int, fence: int) -> str:
        """Name a fragment: the first of a fence after the fence, others by bracket and number."""
        if fence >= 0 and fence not in self._named:
            self._named.add(fence)
            if not self.text[self.fences[fence].start : opening].strip():
                return f"markdown_{fence}"
        kind = "braced" if self.text[opening] in "{｛" else "bracket"
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        return f"{kind}_{number}"

    def _read(self, opening: int) -> Fragment:
        """Read the fragment that begins at `opening`: as JSON if it is, else repairing it."""
        fence = self._fence_at(opening)
        label = self._label(opening, fence)
        try:
            value, end = DECODER.raw_decode(self.text, opening)
        except (ValueError, RecursionError):
            return self._repair(opening, fence, label)
        if isinstance(value, dict) and MORE_FIELDS.match(self.text, end):
            return self._repair(opening, fence, label)
        return Fragment(label, value, opening, end, self._note)

    def _repair(self, opening: int, fence: int, label: str) -> Fragment:
        """Read a broken fragment; a fence bounds it unless the fence mark turns out to be part of a string."""
        try:
            bound = self.fences[fence].end if fence >= 0 else None
            repaired = repair_json(self.text, opening, bound)
            if fence >= 0 and self.fences[fence].closed and not self._extended and repaired.truncated:
                self._extended = True
                wider = repair_json(self.text, opening)
                repaired = repaired if wider.truncated else wider
        except TooDeepError as error:
            self._note = (OUTER_LOST,)
            return Fragment(label, None, opening, error.position, error=str(error))
        except (ValueError, RecursionError) as error:
            return Fragment(label, None, opening, opening + 1, error=str(error))
        return Fragment(label, repaired.value, opening, repaired.end, self._note, repaired=repaired)


def unbraced_fields(text: str, start: int = 0) -> Fragment | None:
    """Read a text that begins with a quoted key as an object whose braces are missing."""
    begin = start + len(text[start:]) - len(text[start:].lstrip(" \t\r\n,"))
    if not QUOTED_KEY.match(text, begin):
        return None
    try:
        repaired = repair_json(f"{{{text[begin:]}}}")
    except (ValueError, RecursionError):
        return None
    note = Repair("closer", "the braces around the fields are missing")
    return Fragment("unbraced", repaired.value, start, len(text), (note,), repaired=repaired)


def joined(text: str, fragments: list[Fragment]) -> list[Fragment]:
    """Return the fragments when only commas and white space stand between two and more of them, else none."""
    if len(fragments) < 2:
        return []
    together = all(_only_separators(text, left.end, right.start) for left, right in pairwise(fragments))
    return fragments if together else []


def _only_separators(text: str, start: int, end: int) -> bool:
    match = SEPARATOR.match(text, start, end)
    return match is not None and match.end() == end


def nested_values(value: Any, limit: int = NESTED_LIMIT) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the containers inside a value with their paths, outermost first: 150 levels, at most `limit` of them."""
    level: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    count = 0
    for _ in range(NESTED_LEVELS):
        deeper: list[tuple[tuple[str | int, ...], Any]] = []
        for path, item in level:
            members = item.items() if isinstance(item, dict) else enumerate(item)
            for key, member in members:
                if isinstance(member, (dict, list)):
                    count += 1
                    if count > limit:
                        return
                    deeper.append(((*path, key), member))
        if not deeper:
            return
        yield from deeper
        level = deeper


def read_any(text: str) -> tuple[Any, tuple[Repair, ...]]:
    """Read the first object or array of a text, repairing it; raises ValueError when there is none."""
    fragment = next((f for f in Scanner(text).fragments() if not f.error), None)
    if fragment is None:
        raise ValueError("no JSON value in the text")
    return fragment.value, fragment.repairs
