"""The passages a person is shown: whole blocks under their headings, the best first, within a limit of characters.

1. Notes are taken in their order while they fit. One that does not fit is cut to the run of its blocks, lines or rows
   that holds most of the question's words, where enough of the limit is left; then nothing further is taken.
2. What is left over lets the first passage grow outwards within its own section, downwards first.
3. Notes that follow each other in one section become one passage; passages keep the order of their best notes.

A passage's words are those of its document from `start` to `end`. What they lack to be understood (a table's header, a
list's introduction) is the lead, which is shown before them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from theworld.answers.question_words import QuestionWords
from theworld.state import Candidate, Passage
from theworld.state.places import place_of
from theworld.stores.records import StoredNote

Note = Candidate | StoredNote
ReadNotes = Callable[[Sequence[str]], Sequence[StoredNote]]
"""Note ids to those that exist."""

NOTES = 6
"""Notes, best first, that passages are taken from."""
LEAST_SHARE = 0.15
"""Share of the limit that must be left for a piece of a note that does not fit."""
NEIGHBOURS = 3
"""Notes on each side of the first that it may grow by."""
SEE_ALSO = 3
"""Further places named."""
LONGEST_GAP = 2
"""Characters between notes of one passage: with more, what stands between them is not known to be line ends alone."""
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some of a note's text: note.text[start:end]."""

    note: Note
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.note.text[self.start : self.end]

    @property
    def key(self) -> tuple[str, int]:
        return (self.note.document_id, self.note.ordinal)

    @property
    def cost(self) -> int:
        return self.end - self.start + len(self.note.lead)


def compose_passages(
    ranked: Sequence[Candidate], words: QuestionWords, limit: int, read: ReadNotes
) -> tuple[Passage, ...]:
    """Return the passages of the best notes, at most `limit` characters in all, each with its number from 1."""
    taken = _taken(ranked[:NOTES], words, limit)
    if not taken:
        return ()
    left = limit - sum(piece.cost + len(_place(piece.note)) for piece in taken)
    grown = _grown(taken[0], {piece.key for piece in taken}, left, read)
    runs: list[list[_Piece]] = []
    for piece in sorted(grown, key=lambda piece: piece.key) + taken[1:]:
        run = next((run for run in runs if _follow(piece, run[0]) or _follow(piece, run[-1])), None)
        if run is None:
            runs.append([piece])
        else:
            run.append(piece)
            run.sort(key=lambda one: one.key)
    return tuple(_passage(number, run, words) for number, run in enumerate(runs, 1))


def see_also(ranked: Sequence[Candidate], shown: Sequence[Passage]) -> tuple[str, ...]:
    """Return the places of the best notes that are not shown, each once."""
    places = dict.fromkeys(map(_place, ranked))
    return tuple(place for place in places if place not in {passage.place for passage in shown})[:SEE_ALSO]


def _taken(ranked: Sequence[Candidate], words: QuestionWords, limit: int) -> list[_Piece]:
    taken: list[_Piece] = []
    left = limit
    for note in ranked:
        room = left - len(note.lead) - len(_place(note))
        if len(note.text) <= room:
            piece = _Piece(note, 0, len(note.text))
        elif not taken or room >= LEAST_SHARE * limit:
            piece = _cut(note, words, max(room, 1))
        else:
            break
        if piece.text.strip():
            taken.append(piece)
            left -= piece.cost + len(_place(note))
        if len(piece.text) < len(note.text):
            break
    return taken


def _cut(note: Candidate, words: QuestionWords, room: int) -> _Piece:
    """Return the run of a note's units that fits and begins with, or holds, the one that says most of the question."""
    units = _units(note.text, room)
    covered = [words.covered(note.text[start:end]) for start, end in units]
    best = max(range(len(units)), key=lambda i: (covered[i], -i))
    first = last = best
    while True:
        after = last + 1 < len(units) and units[last + 1][1] - units[first][0] <= room
        before = first > 0 and units[last][1] - units[first - 1][0] <= room
        if after and (not before or covered[last + 1] >= covered[first - 1]):
            last += 1
        elif before:
            first -= 1
        else:
            break
    start, end = units[first][0], min(units[last][1], units[first][0] + room)
    return _Piece(note, start, start + len(note.text[start:end].rstrip()))


def _units(text: str, room: int) -> list[tuple[int, int]]:
    """Return (start, end) of a text's paragraphs; code stays whole if it fits; what does not fit, line by line."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text)]
    paragraphs: list[list[tuple[int, int]]] = [[]]
    fenced = False
    for start, end in lines:
        line = text[start:end]
        fenced ^= bool(_FENCE.match(line))
        if line.strip() or fenced:
            paragraphs[-1].append((start, end))
        elif paragraphs[-1]:
            paragraphs.append([])
    units: list[tuple[int, int]] = []
    for paragraph in filter(None, paragraphs):
        whole = (paragraph[0][0], paragraph[-1][1])
        units += [whole] if whole[1] - whole[0] <= room else paragraph
    return units or [(0, len(text))]


def _grown(first: _Piece, taken: set[tuple[str, int]], left: int, read: ReadNotes) -> list[_Piece]:
    """Return the first piece with the notes around it of its own section, as far as they fit."""
    note = first.note
    if not note.section or len(first.text) < len(note.text):
        return [first]
    wanted = [note.ordinal + step for step in range(-NEIGHBOURS, NEIGHBOURS + 1) if note.ordinal + step >= 0 and step]
    around = {one.ordinal: one for one in read([f"{note.document_id}#{ordinal}" for ordinal in wanted])}
    pieces = [first]
    for step in (1, -1):
        ordinal = note.ordinal + step
        while (other := around.get(ordinal)) is not None and other.section[: len(note.section)] == note.section:
            piece = _Piece(other, 0, len(other.text))
            if piece.key not in taken:
                if piece.cost > left:
                    break
                left -= piece.cost
                pieces.append(piece)
            ordinal += step
    return pieces


def _follow(one: _Piece, other: _Piece) -> bool:
    """Tell whether two pieces touch in one section of a document, with nothing but one or two line ends between."""
    first, second = sorted((one, other), key=lambda piece: piece.key)
    together = first.note.document_id == second.note.document_id and first.note.ordinal + 1 == second.note.ordinal
    gap = second.note.start + second.start - (first.note.start + first.end)
    same = first.note.section[:1] == second.note.section[:1] and not second.note.lead
    return together and same and 1 <= gap <= LONGEST_GAP and "\r" not in first.text + second.text


def _passage(number: int, run: Sequence[_Piece], words: QuestionWords) -> Passage:
    first, last = run[0], run[-1]
    quote, end = "", first.note.start + first.start
    for piece in run:
        start = piece.note.start + piece.start
        quote += "\n" * (start - end) + piece.text
        end = piece.note.start + piece.end
    lead = first.note.lead
    text = f"{lead}\n{quote}" if lead else quote
    return Passage(
        number=number,
        document_id=first.note.document_id,
        note_id=f"{first.note.document_id}#{first.note.ordinal}",
        title=first.note.title,
        section=first.note.section,
        source=first.note.source,
        place=_place(first.note),
        text=text,
        start=first.note.start + first.start,
        end=last.note.start + last.end,
        marks=words.marks(text),
    )


def _place(note: Note) -> str:
    return place_of(note.document_id, note.source, note.title, note.section)
