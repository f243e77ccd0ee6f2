"""The passages a person is shown, and how: whole blocks under their headings, the best first, within a limit.

1. Notes are taken in their order while they fit. One that does not fit is cut to the run of its paragraphs, lines or
   sentences that says most of the question, where enough of the limit is left; then nothing further is taken. After the
   best note its section goes on, and what a note's end announces ("the steps:") stands in the note after it: that is
   taken next. Where the question asks two things, the first note gets half of the limit and its section does not go on.
   Of several small sections joined in a note, or questions with their answers, the one that clearly says most of the
   question is taken alone.
2. What is left over lets notes of which a part was taken be whole, and the first passage grow outwards within its own
   section, downwards first.
3. Notes that follow each other with nothing but white space between become one passage, which stands under the
   headings that they share; passages keep the order of their best notes.

A passage's words are those of its document from `start` to `end`, to the letter. What they lack to be understood (a
table's header, a list's introduction) is the lead, which is shown before them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise, takewhile

from theworld.answers.excerpts import QuestionCoverage, best_excerpt, is_row
from theworld.questions.words import QuestionWords
from theworld.state import Answer, Candidate, Passage
from theworld.state.answers import SEE_ALSO, UNSURE, place_of
from theworld.stores.records import Note, StoredNote
from theworld.text import Language
from theworld.text.sentences import LEFT_OUT, announces, open_fence

ReadNotes = Callable[[Sequence[str]], Sequence[StoredNote]]
"""Note ids to those that exist."""
ReadText = Callable[[str, int, int], str]
"""(document id, start, end) to the document's text there; empty when it cannot be read."""
Around = Callable[[str, int], Mapping[int, StoredNote]]
"""(document id, ordinal) to the notes on each side of that one, by their ordinals."""

GOES_ON = "\n…"
"""After a passage that is cut."""
_FENCE = re.compile(r"^ *(`{3,}(?!.*`)|~{3,})", re.MULTILINE)
_HEADING = re.compile(r"^(?P<level>#{1,6})[ \t]+(?P<name>\S[^\n]*?)[ \t#]*$", re.MULTILINE)
_ASKS = r"[^\n]*[?？][*_\"'”’)）\] \t]*$"
_ANSWERED = re.compile(rf"^{_ASKS}(?=\s+(?!{_ASKS})\S)", re.MULTILINE)
"""A line that asks, and one below it that does not: of a list of questions and answers."""
_WORDS = {"en": {"between": "; ", "quoted": "“{}”: {}"}, "zh": {"between": "；", "quoted": "《{}》：{}"}}

NOTES = 6
"""Notes, best first, that passages are taken from."""
LEAST_SHARE = 0.08
"""Share of the limit that must be left for a piece of a note that does not fit."""
LEAD_SHARE = 0.5
"""Share of what is left that a lead may take; a longer one is left out, the header of a table with its rows."""
FIRST_SHARE = 0.75
"""Share of the limit that one note may take where others follow it, which often hold what it lacks."""
CLEARLY = 1.25
"""How much more of the question one of the small sections joined in a note must say than each other, to be shown
alone: .25 and .5 more do as well as each other, twice as much does little."""
NEIGHBOURS = 3
"""Notes on each side of the first that it may grow by."""
LEAST_RELEVANCE, LEAST_ABROAD = 0.3, 0.6
"""Share of the best note's relevance below which a note is neither shown nor named: in a small folder what is left of
it, in a large one without use (of twelve sets of documents no answer needed one). Of a note in another language than
the best one more is asked: in a folder of both languages something of the other always lies near."""
MOST_SEE_ALSO = 3
"""Further places named."""
LONGEST_GAP = 4
"""Characters of white space between notes of one passage."""
FRAME = 8
"""Characters around a passage: its number, and the line ends to its place and to the next."""
ELSEWHERE = "…"
"""Where something is left out: before a piece of a note, or between the introduction of a list and later items."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some of a note's text: note.text[start:end]."""

    note: Note
    start: int
    end: int
    lead: str = ""
    """The note's lead, where it is shown."""
    goes_on: bool = False
    """Whether it is marked that more of the note follows."""
    alone: bool = False
    """Whether it is one of several small sections, the one that is asked for."""

    @property
    def text(self) -> str:
        return self.note.text[self.start : self.end]

    @property
    def key(self) -> tuple[str, int]:
        return (self.note.document_id, self.note.ordinal)

    @property
    def whole(self) -> bool:
        return self.end - self.start == len(self.note.text)

    @property
    def shown(self) -> int:
        """Characters that it takes as a passage of its own."""
        marks = len(_below(self.lead)) + len(GOES_ON) * self.goes_on + FRAME
        return self.end - self.start + len(self.lead) + marks + len(_place(self.note))


@dataclass(frozen=True, slots=True)
class _Run:
    """Pieces that follow each other in a document, with its text from the first to the last."""

    pieces: tuple[_Piece, ...]
    text: str


def compose_passages(
    ranked: Sequence[Candidate], coverage: QuestionCoverage, limit: int, read: ReadNotes, between: ReadText
) -> tuple[Passage, ...]:
    """Return the passages of the best notes, each with its number from 1, as shown within `limit` characters.

    The place of the first is shown in any case, however long.
    """
    between = cache(between)

    @cache
    def around(document_id: str, ordinal: int) -> Mapping[int, StoredNote]:
        near = range(max(ordinal - NEIGHBOURS, 0), ordinal + NEIGHBOURS + 1)
        return {one.ordinal: one for one in read([f"{document_id}#{one}" for one in near if one != ordinal])}

    taken = _taken(ranked[:NOTES], coverage, limit, between, around)
    if not taken:
        return ()
    left = limit - sum(piece.shown for piece in taken)
    pieces = _grown(taken, left, between, around)
    order = {piece.key: place for place, piece in enumerate(pieces)}
    runs: list[_Run] = []
    for piece in sorted(pieces, key=lambda one: one.key):
        gap = None
        if runs and runs[-1].pieces[0].note.section[:1] == piece.note.section[:1]:
            gap = _gap(runs[-1].pieces[-1], piece, between)
        if gap is None:
            runs.append(_Run((piece,), piece.text))
        else:
            runs[-1] = _Run((*runs[-1].pieces, piece), runs[-1].text + gap + piece.text)
    runs.sort(key=lambda run: min(order[piece.key] for piece in run.pieces))
    passages = [_passage(number, run, coverage.words) for number, run in enumerate(runs, 1)]
    spent = sum(len(one.text) + len(one.place) + FRAME + len(GOES_ON) * one.goes_on for one in passages)
    for place, run in enumerate(runs):
        named = _named(passages[place], run.pieces[0])
        longer = spent + len(named.place) - len(passages[place].place)
        if longer <= limit:
            passages[place], spent = named, longer
    if spent + len(GOES_ON) <= limit and _divided(runs[0], around(*taken[0].key)):
        passages[0] = passages[0].model_copy(update={"goes_on": True})
    return tuple(passages)


def _divided(run: _Run, near: Mapping[int, StoredNote]) -> bool:
    """Return whether a run ends within a list or table that goes on in the note after it."""
    last, after = run.pieces[-1], near.get(run.pieces[-1].note.ordinal + 1)
    led = after is not None and after.lead and (after.lead == last.lead or after.lead in run.text)
    return bool(led) and last.whole


def relevant(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Return the notes that are not far less relevant than the best of them."""
    if not ranked:
        return []
    best = max(ranked, key=lambda note: note.final_score)
    least = {best.language: LEAST_RELEVANCE * best.final_score}
    return [note for note in ranked if note.final_score >= least.get(note.language, LEAST_ABROAD * best.final_score)]


def see_also(ranked: Sequence[Candidate], shown: Sequence[Passage], limit: int) -> tuple[str, ...]:
    """Return the places of the best notes that are not shown, each once, as many as `limit` characters hold."""
    spans = [(one.document_id, one.start, one.end) for one in shown]
    left = (
        note
        for note in ranked
        if not any(name == note.document_id and start < note.end and note.start < end for name, start, end in spans)
    )
    hidden = [place for place in dict.fromkeys(map(_place, left)) if place not in {one.place for one in shown}]
    lengths = accumulate(len(place) + FRAME for place in hidden[:MOST_SEE_ALSO])
    return tuple(place for place, length in zip(hidden, lengths, strict=False) if length <= limit)


def _taken(
    ranked: Sequence[Candidate], coverage: QuestionCoverage, limit: int, between: ReadText, around: Around
) -> list[_Piece]:
    taken: list[_Piece] = []
    left, waiting, following = limit, deque[Note](ranked), False
    while waiting:
        note = waiting.popleft()
        if any(_lines(note) <= _lines(one.note) for one in taken):
            continue  # what stands on many pages is shown once, under whatever level of heading
        if taken and note.kind == "table" and len(note.lead) >= LEAD_SHARE * left:
            continue  # its header leaves no room for rows
        alone = len(ranked) == 1
        room = left if alone or len(taken) >= coverage.parts else min(left, limit // coverage.parts)
        piece = _fitting(note, coverage, room, limit, taken, alone=alone, following=following)
        following = False
        if piece is None:
            break
        cut_short = not piece.whole and announces(piece.text)  # what it announces is left out, and it says nothing else
        if piece.text.strip() and (not taken or (piece.shown <= left and not cut_short)):
            taken.append(piece)
            left -= piece.shown
            for after in _going_on(taken, coverage.parts, between, around):
                waiting.appendleft(after)
                following = True
    return taken


def _going_on(taken: Sequence[_Piece], parts: int, between: ReadText, around: Around) -> Iterator[StoredNote]:
    """Yield the note after the last one taken: what its end announces, or what the best note's section goes on with.

    Not the latter where several things are asked: the next note mostly says what is left of them.
    """
    piece, first = taken[-1], taken[0].note
    note, led = piece.note, announces(piece.text)
    goes_on = parts == 1 and note.ordinal == first.ordinal + len(taken) - 1
    if piece.end == len(note.text) and (led or goes_on):
        near = note if led else first
        after = around(near.document_id, near.ordinal).get(note.ordinal + 1)
        if after is None:
            return
        follows = led or _gap(piece, _Piece(after, 0, len(after.text), after.lead), between) is not None
        depth = len(note.section)
        begun = _lines(note).issuperset(after.section[depth:])  # a section that the note's end is in
        begins = _HEADING.match(after.text)  # small sections may be joined in a note, and these be others
        beside = begins and begins["level"] in {head["level"] for head in _outside_code(_HEADING, note)}
        if follows and after.section[:depth] == note.section and (led or (begun and not beside)):
            yield after


def _fitting(
    note: Note,
    coverage: QuestionCoverage,
    left: int,
    limit: int,
    taken: Sequence[_Piece],
    *,
    alone: bool,
    following: bool,
) -> _Piece | None:
    """Return as much of a note as fits beside the pieces taken, whole units; None where too little is left for any.

    One that is `following` what was taken last goes on from its beginning where that announces it, or it is code.
    """
    room = left - len(_place(note)) - FRAME
    lead = _shown_lead(note, room)
    room -= len(lead) + len(_below(lead))
    if not alone:
        room = min(room, int(FIRST_SHARE * limit))
    if len(note.text) <= room:
        if not following and (section := _section_asked(note, coverage, taken)):
            return section
        return _Piece(note, 0, len(note.text), lead)
    if taken and room < LEAST_SHARE * limit:
        return None
    shown = [(one.note, one.start, one.end) for one in taken]
    announced = following and announces(taken[-1].text)
    for beginning in dict.fromkeys((announced, following)):
        start, end, opening, cut = best_excerpt(note, coverage, max(room, 1), lead, shown, beginning=beginning)
        if not taken or not (cut or (open_fence(opening) and not beginning)):
            break
    else:
        return _Piece(note, 0, 0)  # a few lines of code, with nothing around them, tell nobody anything
    room -= end - start
    lead = opening or ELSEWHERE * (start > 0 and room > len(ELSEWHERE))
    goes_on = room > len(ELSEWHERE) + len(GOES_ON) and bool(note.text[end:].strip())
    return _Piece(note, start, end, lead, goes_on)


def _shown_lead(note: Note, room: int) -> str:
    """Return a note's lead where it leaves enough room, "" else; a table's header needs only fit, rows need it."""
    return note.lead if len(note.lead) < (room if note.kind == "table" else LEAD_SHARE * room) else ""


def _section_asked(note: Note, coverage: QuestionCoverage, taken: Sequence[_Piece]) -> _Piece | None:
    """Return the one of several small sections joined in a note that clearly says most of the question, else None."""
    heads = _outside_code(_HEADING, note)
    top = min((head["level"] for head in heads), default="")
    starts = [head.start() for head in heads if head["level"] == top]
    if len(starts) < 2:
        starts = [line.start() for line in _outside_code(_ANSWERED, note)]
    if len(starts) < 2 or note.lead:
        return None
    parts = list(pairwise(sorted({0, *starts, len(note.text)})))
    said = coverage.of(note, parts, [(one.note, one.start, one.end) for one in taken])
    best, second = sorted(range(len(parts)), key=lambda i: (-said[i], i))[:2]
    if said[best] <= CLEARLY * said[second]:
        return None
    start, end = parts[best]
    end = start + len(note.text[start:end].rstrip())
    return _Piece(note, start, end, ELSEWHERE * (start > 0), goes_on=end < len(note.text), alone=True)


def _outside_code(pattern: re.Pattern[str], note: Note) -> list[re.Match[str]]:
    """Return where a pattern matches in a note's text: a comment in code is no heading."""
    found = pattern.finditer(note.text)
    return [one for one in found if not open_fence(f"{note.lead}\n{note.text[: one.start()]}")]


def _lines(note: Note) -> frozenset[str]:
    """Return a note's lines without the marks of headings."""
    return frozenset(line.strip("# ") for line in note.text.splitlines())


def _grown(taken: Sequence[_Piece], left: int, between: ReadText, around: Around) -> list[_Piece]:
    """Return the pieces taken, whole where that fits, and the notes that the first grows by, of its own section."""
    taken = list(taken)
    for place, piece in enumerate(taken):
        whole = _Piece(piece.note, 0, len(piece.note.text), piece.note.lead)
        cut = piece.text and not (piece.whole or piece.alone or piece.note.kind == "table")
        if cut and whole.shown - piece.shown <= left:
            left -= whole.shown - piece.shown
            taken[place] = whole
    first = taken[0]
    note, section = first.note, first.note.section
    if not first.whole:
        return taken
    near = around(note.document_id, note.ordinal)
    there = {piece.key: piece for piece in taken}
    pieces: list[_Piece] = []
    for step in (1, -1):
        last = first
        while (other := near.get(last.note.ordinal + step)) is not None:
            if (other.section[: len(section)] if section else other.section) != section:
                break
            piece = there.get((note.document_id, other.ordinal)) or _Piece(other, 0, len(other.text), other.lead)
            gap = _gap(last, piece, between) if step > 0 else _gap(piece, last, between)
            if not piece.whole or gap is None:
                break
            if piece.key not in there:
                lead = "" if piece.lead == first.lead else piece.lead
                left -= len(piece.text) + LONGEST_GAP + len(lead + _below(lead))
                if left < 0:
                    break
                pieces.append(piece)
            last = piece
    return taken + pieces


def _gap(one: _Piece, other: _Piece, between: ReadText) -> str | None:
    """Return the white space between two pieces of neighbouring notes.

    None where something else stands there, or where the first does not show the second's lead.
    """
    begins, ends = other.note.start + other.start, one.note.start + one.end
    length = begins - ends
    led = other.lead == one.lead or other.lead in one.text
    if not led or (one.note.document_id, one.note.ordinal + 1) != other.key or not 0 <= length <= LONGEST_GAP:
        return None
    gap = between(one.note.document_id, ends, begins) if length else ""
    return gap if len(gap) == length and not gap.strip() else None


def _passage(number: int, run: _Run, words: QuestionWords) -> Passage:
    first, last = run.pieces[0], run.pieces[-1]
    text = f"{first.lead}{_below(first.lead)}{run.text}"
    levels = zip(*(piece.note.section for piece in run.pieces), strict=False)
    section = tuple(names[0] for names in takewhile(lambda names: len(set(names)) == 1, levels))
    return Passage(
        number=number,
        document_id=first.note.document_id,
        note_id=f"{first.note.document_id}#{first.note.ordinal}",
        title=first.note.title,
        section=section,
        source=first.note.source,
        place=place_of(first.note.document_id, first.note.source, first.note.title, section),
        text=text,
        start=first.note.start + first.start,
        end=last.note.start + last.end,
        goes_on=last.goes_on,
        marks=words.marks(text),
    )


def _below(lead: str) -> str:
    """Return what stands between a lead and what it leads to: a mark of what is left out, below a header as a row."""
    if not lead or lead == ELSEWHERE:
        return "\n" * bool(lead)
    mark = LEFT_OUT if is_row(lead.rpartition("\n")[2]) else ELSEWHERE
    return f"\n{mark}\n"


def _named(passage: Passage, first: _Piece) -> Passage:
    """Return a passage under the headings above its first piece in the note's text too: these are not shown.

    Where the passage goes on under another heading, and where nothing stands above it, as it is.
    """
    note, opened = first.note, dict[int, str]()
    above = 0 if _HEADING.search(passage.text) else first.start
    for heading in (one for one in _outside_code(_HEADING, note) if one.start() < above):
        level = len(heading["level"])
        opened = {other: name for other, name in opened.items() if other < level} | {level: heading["name"]}
    section = (*passage.section, *(name for name in opened.values() if name not in passage.section))
    place = place_of(note.document_id, note.source, note.title, section)
    return passage.model_copy(update={"section": section, "place": place}) if opened else passage


def _place(note: Note) -> str:
    return place_of(note.document_id, note.source, note.title, note.section)


def answer_text(answer: Answer, language: Language) -> str:
    """Return what is shown of an answer with passages, in the language asked for."""
    parts = [UNSURE[language]] if answer.sureness == "unsure" else []
    parts += [answer.short] if answer.short else []
    parts += [f"{passage.place} [{passage.number}]\n{shown_text(passage)}" for passage in answer.passages]
    parts += [SEE_ALSO[language] + _WORDS[language]["between"].join(answer.see_also)] if answer.see_also else []
    return "\n\n".join(parts)


def shown_text(passage: Passage) -> str:
    """Return a passage's text with a mark where it goes on, and its last code block closed."""
    fences = _FENCE.findall(passage.text)
    closing = f"\n{fences[-1]}" if len(fences) % 2 else ""
    return f"{passage.text}{GOES_ON}{closing}" if passage.goes_on or closing else passage.text


def said_text(answer: Answer, language: Language) -> str:
    """Return what a conversation remembers of an answer: its short form, and the first passage under its title.

    What a later "she" or "there" may mean stands first; further passages would only offer more to be meant.
    """
    if not answer.passages:
        return answer.text
    first = answer.passages[0]
    quoted = _WORDS[language]["quoted"].format(first.title or first.place, first.text)
    return "\n".join(filter(None, (answer.short, quoted)))
