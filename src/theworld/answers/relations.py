"""The clauses of notes that state the values of relations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theworld.answers.facts import country_of, lifespan
from theworld.questions.relations import Relation, Span
from theworld.state import Candidate
from theworld.text import split_sentences
from theworld.text.folding import simplified

AFTER_REACH = 40
"""Characters between a cue and the value behind it."""
BEFORE_REACH = 60
"""Characters between a value and the cue behind it."""
_NAME = re.compile(
    r"[A-ZÀ-ÖØ-Þ][\w'’.\-]*(?:(?:[ \-](?:de|da|di|del|della|van|von|der|den|of|the|bin|al|el|la|le|y|and)){0,2}"
    r"[ \-][A-ZÀ-ÖØ-Þ][\w'’.\-]*)*"
)
"""Capitalised words: taggers miss half of the names in English titles and credits."""
_PHRASE = {
    "en": re.compile(
        r"\s*([a-zA-Z'’-]+(?: (?!in\b|at\b|on\b|while\b|and\b|after\b|aged?\b|during\b)[a-zA-Z'’-]+){0,3})"
    ),
    "zh": re.compile(
        r"([^，。；、（）\s]{1,24}?)"
        r"(?=而|[在于]|不治|不幸|突然|[去逝过]世|病逝|身亡|死亡|[，。；、（）\s]|$)"
    ),
}
"""The value of a relation that is no name: a few words."""
_ONE_WORD = re.compile(r"[A-Z][a-z]{3,}")
"""Taggers take small places for people or organisations."""
_UNTYPED = frozenset({"other", "concept"})


def relation_values(relation: Relation, note: Candidate) -> Iterator[Span]:
    """Yield where a note states values of a relation for what it is about, the clearest clause first."""
    if relation.type == "country":
        country = country_of(note.text)
        if country is not None:
            yield country.start, country.end
    elif relation.type == "date":
        life = lifespan(note.text)
        date = life.birth if relation.name == "birth_date" else life.death
        if date is not None:
            yield date.start, date.end
    else:
        yield from dict.fromkeys(_stated(relation, note))


def _stated(relation: Relation, note: Candidate) -> Iterator[Span]:
    language = "zh" if note.language == "zh" else "en"
    text, values = simplified(note.text), _values(relation.type, note)
    sentences = split_sentences(note.text)
    for cue in relation.after[language]:
        for sentence in sentences:
            for match in cue.finditer(text, sentence.start, sentence.end):
                phrase = _PHRASE[language].match(text, match.end()) if relation.type == "phrase" else None
                if phrase:
                    yield phrase.span(1)
                limit = min(sentence.end, match.end() + AFTER_REACH)
                yield from [value for value in values if match.end() <= value[0] < limit][:1]
    for cue in relation.before[language]:
        for sentence in sentences:
            for match in cue.finditer(text, sentence.start, sentence.end):
                limit = max(sentence.start, match.start() - BEFORE_REACH)
                yield from [value for value in values if limit <= value[0] and value[1] <= match.start()][-1:]


def _values(kind: str, note: Candidate) -> list[Span]:
    """Return the spans that may be values: mentions of the type, in English also names of no other type."""
    typed = sorted((m.start, m.end) for m in note.mentions if m.type == kind)
    if kind == "phrase":
        return []
    if note.language == "zh":
        return _joined(typed) if kind == "place" else typed
    names = [m.span() for m in _NAME.finditer(note.text)]
    others = [(m.start, m.end) for m in note.mentions if m.type != kind and m.type not in _UNTYPED]
    if kind == "place":
        others = [span for span in others if not _ONE_WORD.fullmatch(note.text, *span)]
    else:  # a tagger finds two names in "Isolde of Carrow"
        whole = [span for span in names if " of " in note.text[slice(*span)]]
        others = [one for one in others if not any(a <= one[0] and one[1] <= b and one != (a, b) for a, b in whole)]
    taken = [*typed, *others]
    return sorted([*typed, *(n for n in names if not any(n[0] < end and start < n[1] for start, end in taken))])


def _joined(places: Sequence[Span]) -> list[Span]:
    """Return Chinese places with those that follow at once as one: 陕西西安 is a city and where it lies."""
    found: list[Span] = []
    for start, end in places:
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found
