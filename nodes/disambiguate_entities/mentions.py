"""Which names of a question and its evidence are worth looking up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theworld.state import Candidate
from theworld.text import entity_key, fold, place_of, without_qualifier

MAX_MENTIONS = 6
"""Names looked up per question."""
TOP_TITLES = 3
"""Titles of this many best notes are looked up too."""

_UNNAMED = frozenset({"date", "number", "quantity"})
_QUOTED = re.compile(r"[《「『“\"]([^《》「」『』“”\"]{2,60})[》」』”\"]")
_CAPITALISED = re.compile(r"\b[A-Z][\w'’.-]*(?:\s+(?:of|the|de|la|van|von|and|&)?\s*[A-Z0-9][\w'’.-]*)*")
_POSSESSIVE = re.compile(r"['’]s$")
_QUESTION_WORDS = frozenset(
    "what which who whom whose when where why how is are was were do does did can could has have had in on at of the "
    "a an if between both name tell please".split()
)


def mentions_to_look_up(question: str, notes: Sequence[Candidate]) -> list[str]:
    """Return distinct names: those of the question first (known to the notes, quoted, capitalised), then top titles."""
    names: dict[str, str] = {}
    for name in [*_in_question(question, notes), *_titles(notes)]:
        key = entity_key(name)
        if len(key) > 1 and all(place_of(key, other) < 0 for other in names):
            names[key] = name
    return list(names.values())[:MAX_MENTIONS]


def _in_question(question: str, notes: Sequence[Candidate]) -> Iterator[str]:
    folded = fold(question)
    known: dict[str, str] = {}
    for note in notes:
        for name in (without_qualifier(note.title), *(m.surface for m in note.mentions if m.type not in _UNNAMED)):
            key = entity_key(name)
            if len(key) > 1 and place_of(key, folded) >= 0:
                known.setdefault(key, name)
    yield from (known[key] for key in sorted(known, key=lambda key: (place_of(key, folded), -len(key))))
    yield from (match.group(1) for match in _QUOTED.finditer(question))
    for match in _CAPITALISED.finditer(question):
        words = match.group().split()
        while words and words[0].casefold() in _QUESTION_WORDS:
            words = words[1:]
        if words:
            name = " ".join(words).rstrip("?.,'’")
            owns = question[match.end() : match.end() + 1].isspace()
            yield _POSSESSIVE.sub("", name) if owns else name


def _titles(notes: Sequence[Candidate]) -> Iterator[str]:
    yield from (without_qualifier(note.title) for note in notes[:TOP_TITLES] if note.title)
