"""The sentences of the evidence that can stand as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from theworld.state import Candidate
from theworld.text import Sentence, split_sentences

LONGEST_SENTENCE = 700
"""Characters of a sentence; longer pieces are tables or lists that no full stop ends."""
MAX_OPTIONS = 60
"""Sentences looked at, those of the best notes."""
_MARKS = ("#", "|", "```", "---", "===")
_TABLE_BARS = 4
LONGEST_JOINED = 240
"""Characters up to which the clauses of one Chinese sentence are kept together."""
_PAIRS = (("「", "」"), ("『", "』"), ("“", "”"), ("《", "》"), ("（", "）"), ("【", "】"))


class Option(NamedTuple):
    """A sentence of a note: text == evidence[note].text[start:end]."""

    note: int
    text: str
    start: int
    end: int
    place: int
    """Its number among the note's sentences, from 0."""


def is_prose(text: str) -> bool:
    """Return whether a piece of a note can stand as an answer: no Markdown heading, table, code, or endless run."""
    return len(text) <= LONGEST_SENTENCE and not text.startswith(_MARKS) and text.count("|") < _TABLE_BARS


def whole_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a Chinese text as its reader sees them.

    A semicolon joins clauses, and a full stop inside quotation marks, titles or brackets ends no sentence.
    """
    found: list[Sentence] = []
    for piece in split_sentences(text):
        last = found[-1] if found else None
        if (
            last
            and piece.end - last.start <= LONGEST_JOINED
            and "\n" not in text[last.end : piece.start]
            and _goes_on(last.text)
        ):
            found[-1] = Sentence(text[last.start : piece.end], last.start, piece.end)
        else:
            found.append(piece)
    return found


def _goes_on(text: str) -> bool:
    return text.endswith("；") or any(text.count(opening) > text.count(closing) for opening, closing in _PAIRS)


def read_options(evidence: Sequence[Candidate], given: Sequence[tuple[int, int]] = ()) -> list[Option]:
    """Return the sentences, those at the given (note, offset) places first."""
    found = [
        Option(number, *sentence, place)
        for number, note in enumerate(evidence)
        for place, sentence in enumerate((whole_sentences if note.language == "zh" else split_sentences)(note.text))
        if is_prose(sentence.text)
    ]
    first = [
        option
        for note, offset in given
        for option in found
        if option.note == note and option.start <= offset < option.end
    ]
    return list(dict.fromkeys([*first, *found]))[:MAX_OPTIONS]
