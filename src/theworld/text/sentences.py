"""Sentences with offsets, for Chinese and English; places in a text that are apart; lines that go together; lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Sentence(NamedTuple):
    """A sentence and where it stands: text == source[start:end]."""

    text: str
    start: int
    end: int


_ABBREVIATIONS = frozenset(
    (
        "mr mrs ms dr prof sr jr st vs etc inc ltd co corp no vol fig al gen col lt capt sgt rev hon gov sen rep e.g "
        "i.e jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k a.m p.m ph.d b.a m.a"
    ).split()
)
_END = re.compile(r"[。！？!?；]+[”’」』）)\"']*|\.+[”’\")\]]*(?=\s|$)|\n{2,}|\n(?=\s*[-*#•\d])")
_LAST_WORD = re.compile(r"([\w.]+)$")
_ITEM_NUMBER = re.compile(r"(?:\A|[\n。！？!?；]|\.\s)\s*\d{1,3}\Z")
"""A number that begins a line or follows a sentence: the stop behind it ends nothing."""
LEFT_OUT = "| … |"
"""A row that stands for those of a table that a passage leaves out."""
_OWN_CONTEXT = re.compile(r"\s*(?:\(([^()]*)\)|（([^（）]*)）)([\s?？!！.。]*)$")


def _is_boundary(text: str, match: re.Match[str]) -> bool:
    if match.group()[0] in "!?":  # within https://a.org/b?c=d, x!=y or ?.z nothing ends
        return not (match.group().isascii() and "!" <= text[match.end() : match.end() + 1] <= "~")
    if not match.group().startswith("."):
        return True
    if _ITEM_NUMBER.search(text, max(0, match.start() - 24), match.start()):
        return False
    word = _LAST_WORD.search(text, max(0, match.start() - 24), match.start())
    if word is None:
        return True
    last = word.group(1)
    degrees = text[: word.start()].rstrip().endswith("°")
    if last.casefold() in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and last.isupper() and not degrees):
        return False
    rest = text[match.end() : match.end() + 2].lstrip()
    return not rest or not rest[0].islower()


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text in order, without surrounding white space; empty ones are left out."""
    found: list[Sentence] = []
    begin = 0
    for end in (*(match.end() for match in _END.finditer(text) if _is_boundary(text, match)), len(text)):
        piece = text[begin:end]
        if stripped := piece.strip():
            start = begin + len(piece) - len(piece.lstrip())
            found.append(Sentence(stripped, start, start + len(stripped)))
        begin = end
    return found


def apart(items: Iterable[T], place: Callable[[T], tuple[int, int]]) -> list[T]:
    """Return those of some items, in their order, that overlap with none before them."""
    taken: set[int] = set()
    chosen: list[T] = []
    for item in items:
        covered = range(*place(item))
        if taken.isdisjoint(covered):
            taken.update(covered)
            chosen.append(item)
    return chosen


LONGEST_TERM = 100
_COLON = re.compile(r"[:：][\s*_]*\Z")
_TERM = re.compile(rf"\s*(?:[-*+]\s+|\d+[.)]\s+)?\*\*[^*\n]{{1,{LONGEST_TERM}}}\*\*\s*\Z")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_LINE_END = 20
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARGIN = re.compile(r"[ \t]*(?!\s|[})\],;]|end\b|else\b|</|\Z)")
"""Before a line that is not blank and closes nothing."""
FENCE = re.compile(r"^[ \t]*(?:`{3,}(?!.*`)|~~~)", re.MULTILINE)
"""A line that opens or closes a code block."""


def ends_with_colon(text: str, end: int | None = None) -> bool:
    """Return whether a text, or text[:end], announces what comes after it."""
    end = len(text) if end is None else end
    return _COLON.search(text, max(0, end - _LINE_END), end) is not None


def announces(text: str) -> bool:
    """Return whether a text's last line belongs to what follows: a heading, a bold term, what ends with a colon."""
    line = text[text.rstrip().rfind("\n") + 1 :]
    return ends_with_colon(text) or _TERM.match(line) is not None or _HEADING.match(line) is not None


def ends_with_question(text: str) -> bool:
    """Return whether a text ends with a question, whose answer comes after it where somebody else speaks."""
    return text.rstrip(" \t\r\n*_\"'”’)）]").endswith(("?", "？"))


def outer_pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return (start, end) of the pieces of text[start:end] that begin with its least indented lines after the first.

    What only closes a bracket or block ends a piece: entries of an array, keys with what stands below them, rows.
    """
    lines = [match.span() for match in _LINE.finditer(text, start, end)]
    margins = [_MARGIN.match(text, *line) for line in lines]
    least = min((margin.end() - margin.start() for margin in margins[1:] if margin), default=0)
    begins = [margin.start() for margin in margins[1:] if margin and margin.end() - margin.start() == least]
    return list(zip([start, *begins], [*begins, end], strict=True)) if end > start else []


def open_fence(text: str) -> str:
    """Return the line that opens the code block in which a text ends, without line ends; "" where it ends in none."""
    opening = ""
    for line in text.splitlines():
        if FENCE.match(line):
            opening = "" if opening else line.rstrip()
    return opening


_NUMERALS = "一二三四五六七八九十"
ITEM_LINE = re.compile(
    rf"(?P<indent>[ \t]*)(?:[-*](?=\s)|•|[(（]?(?P<number>\d{{1,2}}|[{_NUMERALS}])[.)、）](?!\d)|[①-⑩])"
    r"[ \t]*(?:\[[ xX]\][ \t]+)?(?P<text>\S.*)"
)  # A task of a list ("- [ ] ...") too
_QUOTED = re.compile(r"^(?:[ \t]*>)+[ \t]?")
_NUMBERED_HEADING = re.compile(r"(?P<level>#{1,6})[ \t]+(?P<number>\d{1,2})[.)、）:：](?!\d)[ \t]*(?P<text>\S.*)")
_WITHIN_LINE = re.compile(
    rf"(?<=[:：;；,，.。])(?:[ \t]+|(?<!\d[:.,]))(?=(?:\(?\d{{1,2}}|（[{_NUMERALS}])[.)、）](?!\d)[ \t]*[^\s\d])"
)  # Before an item, but not within 2.5) or 18:00.
_RULE = re.compile(r"[ \t]*\|[-:| \t]+\|[ \t]*")
_ELSEWHERE = re.compile(r"\[[^\]]*\]\(https?:[^()\s]*\)\W*")  # an item that only leads to another site


_Depth = tuple[int, int]  # how far an entry is indented, headings less than nothing, and its kind


class Listed(NamedTuple):
    """A list of a text: its items, what stands above it, and whether it has numbers."""

    items: list[str]
    introduction: str
    numbered: bool


@lru_cache(maxsize=1024)
def lists_in(text: str, *, steps: bool = False) -> tuple[Listed, ...]:
    """Return the lists of a text in order, one within an item after its own; of `steps` those with numbers, if any.

    A paragraph ends a list, unless its numbers go on after it. Headings that are numbered from 1 are a list, and so is
    what the rows of a table are of. Links to other sites are none.
    """
    lists = [one for one in _all_lists(text) if not all(map(_ELSEWHERE.fullmatch, one.items))]
    return tuple([one for one in lists if steps and one.numbered] or lists)


def _all_lists(text: str) -> list[Listed]:
    lists: list[Listed] = []
    within: list[tuple[_Depth, list[str]]] = []  # depths and lists round an item, the outermost first
    above, ended, apart, fenced = "", False, True, False
    lines = [_QUOTED.sub("", line) for line in _WITHIN_LINE.sub("\n", text).splitlines() if line != LEFT_OUT]
    for line, below in pairwise([*lines, ""]):
        fenced ^= FENCE.match(line) is not None
        heads, rule = _RULE.fullmatch(below), _RULE.fullmatch(line)  # of a table
        entry = None if fenced or heads or rule else _entry_of(line, {depth: len(items) for depth, items in within})
        if entry:
            depth, number, words = entry
            _leave(within, depth, number, ended=ended)
            if not within or depth > within[-1][0]:
                within.append((depth, []))
                lists.append(Listed(within[-1][1], above, depth[1] == 0))
            within[-1][1].append(words)
        ended = not entry and (ended or (apart and bool(line[:1].strip())))
        apart = not line.strip()
        above = above if apart or rule else f"{above} {line}" if heads else line
    return lists


def _leave(within: list[tuple[_Depth, list[str]]], depth: _Depth, number: str, *, ended: bool) -> None:
    """Drop from the lists round an item those that end before it: headings go on after what stands below them."""
    inner = [items for (indent, _), items in within if indent >= 0]
    if ended and inner and depth[0] >= 0 and number != str(len(inner[0]) + 1):
        del within[-len(inner) :]
    while within and (depth < within[-1][0] or (depth == within[-1][0] and depth[0] < 0 and number == "1")):
        within.pop()


def _entry_of(line: str, counts: dict[_Depth, int]) -> tuple[_Depth, str, str] | None:
    """Return the depth of an item, its number and its text: of headings, numbers, bullets, rows, outer ones first.

    A heading is one whose number is the first or the next of its depth, of which so many are there.
    """
    if match := _NUMBERED_HEADING.fullmatch(line):
        depth = len(match["level"]) - 9, 0
        goes_on = match["number"] in {"1", str(counts.get(depth, 0) + 1)}
        return (depth, match["number"], match["text"]) if goes_on else None
    if match := ITEM_LINE.fullmatch(line):
        number = match["number"] or ""
        number = str(_NUMERALS.index(number) + 1) if number and number in _NUMERALS else number
        return (len(match["indent"].expandtabs()), int(line.lstrip()[0] in "-*•")), number, match["text"]
    cells = line.split("|") if line.lstrip().startswith("|") else []
    return ((0, 2), "", next((cell.strip() for cell in cells if any(map(str.isalpha, cell))), "")) if cells else None


def in_frame(question: str) -> tuple[str, str]:
    """Return "Q3?" and its own context "A; Q2; Q1" of "Q3 (A; Q2; Q1)?", a question as conversations complete it."""
    match = _OWN_CONTEXT.search(question)
    return (question[: match.start()] + match[3], match[1] or match[2] or "") if match else (question, "")
