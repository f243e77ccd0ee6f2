"""The part of a note that is shown where the whole does not fit: whole paragraphs, rows and sentences.

The run of units that holds the one saying most of the question is taken, as long as it fits: by its words, and as much
by its token vectors where there are some; of a table the two rows that say most together, and what follows the lower.
What is shown of a code block begins with the line that opens it, what is shown of a table with its header, of a list
with the sentence that announces it where that fits, and no part ends on a line that only announces what follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, NamedTuple

from theworld.questions.words import QuestionWords
from theworld.stores.records import Note, Span
from theworld.text import last_break, split_sentences
from theworld.text.sentences import FENCE, LEFT_OUT, announces, ends_with_question, open_fence, outer_pieces

Cover = Callable[[Note, Sequence[tuple[int, int]], Sequence[Span]], Sequence[float]]
"""A note, (start, end) of pieces of its text, and what is shown already, to the share that each piece covers of what
the question asks beyond that; [] if not known."""
FENCES = 20
"""Characters kept for the lines that open and close a code block of which a part is shown."""
GAPS = 16
"""Characters kept for two rows that stand for those left out, with their line ends."""
_RULE = re.compile(r"[ \t]*\|[-:| \t]+")
"""The line between a table's header and its rows."""
_ITEM = re.compile(r"(?P<margin>[ \t]*)(?:[-*+•|]|\d{1,3}[.)、）])")
_WORD = re.compile(r"\w")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class QuestionCoverage:
    """How much of a question the pieces of notes say."""

    words: QuestionWords
    """Of the question."""
    meant: Cover | None = None
    """By token vectors, none where nothing but words is known."""
    parts: int = 1
    """How many things the question asks, each of which gets as much room."""

    def of(self, note: Note, pieces: Sequence[tuple[int, int]], shown: Sequence[Span]) -> list[float]:
        """Return the share of the question in each piece; what is shown already counts less."""
        already = "\n".join(one.text[start:end] for one, start, end in shown)
        said = [self.words.covered(note.text[start:end], already) for start, end in pieces]
        meant = self.meant(note, pieces, shown) if self.meant else ()
        return [(one + other) / 2 for one, other in zip(said, meant, strict=True)] if meant else said


class Excerpt(NamedTuple):
    """A part of a note: note.text[start:end]."""

    start: int
    end: int
    lead: str
    """What stands before it: the note's lead, and what opens the code block, table or list it begins in."""
    cut: bool
    """Whether it ends within a sentence or row, since not even one fits."""


def best_excerpt(
    note: Note, coverage: QuestionCoverage, room: int, lead: str, shown: Sequence[Span] = (), *, beginning: bool = False
) -> Excerpt:
    """Return the run of a note's units that fits and holds the one that says most of what is not shown yet.

    Where the note goes on with what is shown, the run at its `beginning`. Where that begins inside a code block or a
    table, the line that opens the block or the table's header is repeated; where inside a list, the sentence that
    announces it, if that takes no more than a quarter of the room.
    """
    if note.kind == "table" and not beginning and (rows := _best_rows(note, coverage, room, lead, shown)):
        return rows
    if led := open_fence(lead):
        lead = lead.removesuffix(led).rstrip()
    start, end, cut = _best_run(note, coverage, room, shown, beginning=beginning)
    opening = _opening(note, start)
    said = "" if opening else _announcement(note.text, start)
    if opening or 0 < 4 * len(said) <= room:
        less = max(room - len(opening or said) - FENCES, 1)
        shorter = _best_run(note, coverage, less, shown, beginning=beginning)
        if opening or _announcement(note.text, shorter[0]) == said:
            start, end, cut = shorter
            opening = _opening(note, start) or said
    text = note.text[start:end].rstrip()
    if last_opening := open_fence(f"{opening}\n{text}"):
        text = text.removesuffix(last_opening).rstrip() or text
    return Excerpt(start, start + len(text), "\n".join(filter(None, (lead, opening))), cut)


def _best_rows(note: Note, coverage: QuestionCoverage, room: int, lead: str, shown: Sequence[Span]) -> Excerpt | None:
    """Return the row of a table that says most, the one that adds most to it, and what follows the lower of them.

    The upper one is led to as the header is, where they are apart. None where a caption says more than any row, not
    even one row fits, or there are entries of JSON and no rows.
    """
    units = _with_words(note.text, outer_pieces(note.text, 0, len(note.text)))
    leads = [_leads(note, units, i) for i in range(len(units))]
    rows = [i for i, (start, _) in enumerate(units) if is_row(note.text[start:]) and not leads[i]]
    sizes = [end - start for start, end in units]
    said = coverage.of(note, units, shown)
    best = max(range(len(units)), key=lambda i: (not leads[i], said[i], -i))
    header = "" if lead else _opening(note, units[best][0])
    left = room - len(header) - GAPS - sizes[best]
    if best not in rows or left < 0:
        return None
    adds = coverage.of(note, units, [*shown, (note, *units[best])])
    others = [i for i in rows if i != best and sizes[i] <= left and adds[i] > 0]
    second = max(others, key=lambda i: (adds[i], -i), default=best)
    left -= sizes[second] * (second != best)
    upper, last = sorted((best, second))
    above = list[str]()
    if upper + 1 < last:
        above = [*[LEFT_OUT] * (upper > rows[0]), note.text[slice(*units[upper])].rstrip()]
    start = units[last if above else upper][0]
    while last + 1 < len(units) and sizes[last + 1] <= left:
        last += 1
        left -= sizes[last]
    while leads[last]:  # the header of a further table, or what announces it
        last -= 1
    if header and not above and note.text[:start].endswith(f"{header}\n"):  # nothing is left out below the header
        start, header = start - len(header) - 1, ""
    end = units[last][0] + len(note.text[slice(*units[last])].rstrip())
    return Excerpt(start, end, "\n".join(filter(None, (lead, header, *above))), False)


def _best_run(
    note: Note, coverage: QuestionCoverage, room: int, shown: Sequence[Span], *, beginning: bool = False
) -> tuple[int, int, bool]:
    """Return (start, end) of the units around the one that says most, as many as fit, and whether that one does not.

    The last of them announces nothing: what is announced says it, whatever words it has.
    """
    table = note.kind == "table"
    rows = outer_pieces(note.text, 0, len(note.text))
    units = _with_words(note.text, rows) if table else _units(note.text, room, open_fence(note.lead))
    covered = coverage.of(note, units, shown)
    leads = [_leads(note, units, i) for i in range(len(units))]
    said = [_WORD.search(note.text, *unit) is not None for unit in units]
    fits = [right - left <= room for left, right in units]
    by_merit = [(leads[i] != "table", said[i] * (1 + fits[i]), covered[i], -i) for i in range(len(units))]
    best = 0 if beginning else max(range(len(units)), key=by_merit.__getitem__)
    first, last = _run_begins(note, units, leads, best, room), best
    while True:
        after = last + 1 < len(units) and units[last + 1][1] - units[first][0] <= room
        before = first > 0 and not table and units[last][1] - units[first - 1][0] <= room
        if after and (leads[last] or not before or covered[last + 1] >= covered[first - 1]):
            last += 1
        elif before:
            first -= 1
        else:
            break
    while last > best and leads[last]:
        last -= 1
    while 0 < first < best and leads[first - 1] in {"table", "question"}:
        first += 1  # an answer without its question, a rule without its header
    start, end = units[first][0], units[last][1]
    cut = end - start > room
    return start, last_break(note.text, start + room // 2, start + room) if cut else end, cut


def _run_begins(note: Note, units: Sequence[tuple[int, int]], leads: Sequence[str], best: int, room: int) -> int:
    """Return the unit that announces the list in which the best one is, or asks what it answers, where both fit."""
    for place in range(best, -1, -1):
        if units[best][1] - units[place][0] > room:
            break
        if leads[place] in {"text", "question"} and place < best:
            return place
        if leads[place] or not _ITEM.match(note.text, units[place][0]):
            break
    asked = best > 0 and leads[best - 1] == "question" and units[best][1] - units[best - 1][0] <= room
    return best - asked


def _leads(note: Note, units: Sequence[tuple[int, int]], i: int) -> Literal["", "table", "text", "question"]:
    """Return how a unit only leads to the next one, as a table's header, announcing a block, asking; "" where not."""
    unit, after = note.text[slice(*units[i])], note.text[slice(*units[i + 1])] if i + 1 < len(units) else ""
    if _RULE.fullmatch(unit.rstrip()) or _RULE.fullmatch(after.rstrip()):
        return "table"
    inside = open_fence(f"{note.lead}\n{note.text[: units[i][0]]}")
    opens = not inside and (FENCE.match(after) is not None or unit.strip() == open_fence(unit) != "")
    # An item that ends so before the next one announced what is no text, a picture for instance.
    begins = (note.text.rfind("\n", 0, start) + 1 for start, _ in units[i : i + 2])
    margins = [len(item["margin"]) for place in begins if (item := _ITEM.match(note.text, place))]
    nothing = len(margins) > 1 and _ITEM.match(after) is not None and margins[1] <= margins[0]
    if ends_with_question(unit):
        return "question"
    return "text" if opens or (announces(unit) and not nothing) else ""


def _opening(note: Note, start: int) -> str:
    """Return what opens the code block or table within which a piece of a note begins; "" for any other piece."""
    if fence := open_fence(f"{note.lead}\n{note.text[:start]}"):
        return fence
    if is_row(note.text[start:]):
        above = list(takewhile(is_row, reversed(note.text[:start].splitlines())))
        return "\n".join(above[:-3:-1]) if len(above) > 1 and _RULE.fullmatch(above[-2]) else ""
    return ""


def _announcement(text: str, start: int) -> str:
    """Return the sentence that announces a list within which a piece of a text begins; "" where none does.

    A heading is none: it is shown in any case.
    """
    item = _ITEM.match(text, text.rfind("\n", 0, start) + 1)
    above, margin = (text[: item.start()], len(item["margin"])) if item else ("", 0)
    for line in reversed(above.splitlines()):
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < margin or (depth == margin and not _ITEM.match(line))):
            return split_sentences(line)[-1].text if announces(line) and line.lstrip()[:1] not in "#|" else ""
    return ""


def is_row(line: str) -> bool:
    """Return whether a line is one of a table."""
    return line.lstrip().startswith("|")


def _units(text: str, room: int, opened: str = "") -> list[tuple[int, int]]:
    """Return (start, end) of a text's paragraphs, code whole.

    Of what does not fit, lines of code, items and rows, and the sentences of items that do not fit either. A list is to
    fit with what announces it.
    """
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text)]
    units: list[tuple[int, int]] = []
    for paragraph in _paragraphs(text, lines, fenced=bool(opened)):
        whole = (paragraph[0][0], paragraph[-1][1])
        coded = FENCE.search(text[slice(*whole)]) is not None or open_fence(f"{opened}\n{text[: whole[0]]}") != ""
        listed = not coded and _ITEM.match(text, whole[0]) and not is_row(text[whole[0] :])
        announced = listed and units and announces(text[slice(*units[-1])])
        fits = whole[1] - (units[-1][0] if announced else whole[0]) <= room
        for start, end in [whole] if fits else paragraph if coded else _items(text, paragraph):
            for left, right in _sentences(text, start, end, room):
                inside = [line for line in lines if left <= line[0] and line[1] <= right]
                units += inside if right - left > room and inside else [(left, right)]
    return _with_words(text, units) or [(0, len(text))]


def _sentences(text: str, start: int, end: int, room: int) -> list[tuple[int, int]]:
    """Return the sentences of text[start:end] where it does not fit; a row stays whole."""
    piece = text[start:end]
    fits = len(piece) <= room or is_row(piece)
    return [(start, end)] if fits else [(start + one.start, start + one.end) for one in split_sentences(piece)]


def _paragraphs(text: str, lines: Sequence[tuple[int, int]], *, fenced: bool) -> list[list[tuple[int, int]]]:
    """Return the lines of each paragraph; empty ones within a code block end none."""
    paragraphs: list[list[tuple[int, int]]] = [[]]
    for start, end in lines:
        line = text[start:end]
        fenced ^= bool(FENCE.match(line))
        if line.strip() or fenced:
            paragraphs[-1].append((start, end))
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def _with_words(text: str, units: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return units with those that hold no word (the end of a row, a line drawn between rows) joined to the one before.

    Not so the rule below a table's header and the lines around code, nor with them.
    """
    joined: list[tuple[int, int]] = []
    for start, end in units:
        said = joined and not FENCE.match(text, *joined[-1]) and _WORD.search(text, *joined[-1])
        mere = not _WORD.search(text, start, end) and not _RULE.fullmatch(text[start:end].rstrip())
        with_it = said and mere and not FENCE.match(text, start, end)
        joined[-1:] = [(joined[-1][0], end)] if with_it else [*joined[-1:], (start, end)]
    return joined


def _items(text: str, lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the items and rows of a paragraph, each with the lines that go on with it; prose as one."""
    items: list[tuple[int, int]] = []
    for start, end in lines:
        begins = not items or _ITEM.match(text, start, end)
        items[-1:] = [*items[-1:], (start, end)] if begins else [(items[-1][0], end)]
    return items
