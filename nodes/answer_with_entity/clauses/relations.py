"""Relations: how questions ask for them, and the clauses of notes that state their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from theworld.errors import SettingsError
from theworld.nodes.answer_with_entity.clauses.facts import country_of
from theworld.nodes.answer_with_entity.values.dates import find_dates
from theworld.state import Candidate, Mention
from theworld.text import Sentence, detect_language, split_sentences

AFTER_WINDOW = 40
"""Characters between a clause's cue and the value after it."""
BEFORE_WINDOW = 60
"""Characters between a value and the cue after it."""
_NAME = re.compile(
    r"[A-ZÀ-ÖØ-Þ][\w'’.\-]*(?:(?:[ \-](?:de|da|di|del|della|van|von|der|den|of|the|bin|al|el|la|le|y|and)){0,2}"
    r"[ \-][A-ZÀ-ÖØ-Þ][\w'’.\-]*)*"
)
_PHRASE = re.compile(
    r"\s*(?P<value>[a-zA-Z'’-]+(?: (?!in\b|at\b|on\b|while\b|and\b|after\b|aged?\b|during\b)[a-zA-Z'’-]+){0,3})"
)
_PHRASE_ZH = re.compile(
    r"(?P<value>[^，。；、（）\s]{1,24}?)(?=而|在|[于於]|[，。；、（）\s]|不治|不幸|突然|"
    r"去世|逝世|病逝(?!世)|身亡|[过過]世|死亡|病故|[辞辭离離]世|$)"
)
_ONE_NAME = re.compile(r"[A-Z][a-z]{3,}")
"""One capitalised word: taggers take small places for people or organisations."""
_COMPATIBLE: Mapping[str, frozenset[str]] = {
    "person": frozenset({"person"}),
    "place": frozenset({"place"}),
    "organization": frozenset({"organization"}),
    "number": frozenset({"number", "quantity"}),
    "group": frozenset({"group", "place"}),
}


@dataclass(frozen=True, slots=True)
class Relation:
    """One entry of relations.yaml with its patterns compiled, by language."""

    name: str
    type: str
    question: Mapping[str, tuple[re.Pattern[str], ...]]
    after: Mapping[str, tuple[re.Pattern[str], ...]]
    before: Mapping[str, tuple[re.Pattern[str], ...]]
    path: tuple[str, ...]
    """Names of the relations to follow; its own name unless it is made of others."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value a note states, and where."""

    text: str
    start: int
    """Character offset in the note's text."""
    end: int
    clause: tuple[int, int]
    """The cue that states it."""


@dataclass(frozen=True, slots=True)
class AskedRelation:
    """A relation found in a question."""

    relation: Relation
    start: int
    end: int


@cache
def relations() -> Mapping[str, Relation]:
    """Return all relations by name, in the order of the file."""
    file = resources.files("theworld.nodes.answer_with_entity.clauses").joinpath("relations.yaml")
    found: dict[str, Relation] = {}
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
        try:
            found[entry["name"]] = Relation(
                name=entry["name"],
                type=entry.get("type", "person"),
                question=_compiled(entry["question"]),
                after=_compiled(entry.get("after", {})),
                before=_compiled(entry.get("before", {})),
                path=tuple(entry.get("path", [entry["name"]])),
            )
        except (KeyError, TypeError, re.error) as error:
            raise SettingsError(f"entry {entry!r} is not usable: {error!r}.", where="relations.yaml") from error
    return found


def _compiled(table: Mapping[str, Any]) -> dict[str, tuple[re.Pattern[str], ...]]:
    return {
        language: tuple(re.compile(pattern, re.IGNORECASE) for pattern in table.get(language, ()))
        for language in ("en", "zh")
    }


def asked_relations(question: str, language: str | None = None) -> list[AskedRelation]:
    """Return the relations a question asks for, by position."""
    chosen = language or detect_language(question)
    found = []
    for relation in relations().values():
        match = next((m for p in relation.question.get(chosen, ()) if (m := p.search(question))), None)
        if match:
            found.append(AskedRelation(relation, *match.span()))
    return sorted(found, key=lambda asked: (asked.start, asked.end))


def relation_values(name: str, note: Candidate) -> Iterator[Value]:
    """Yield the values of a relation that a note states about its subject, the clearest clause first."""
    relation = relations()[name]
    if relation.type == "group":
        country = country_of(note.text)
        if country is not None:
            span = (country.start, country.end)
            yield Value(note.text[slice(*span)], *span, span)
        return
    sentences = split_sentences(note.text)
    language = "zh" if note.language == "zh" else "en"
    values = _values_of_type(relation.type, note)
    if relation.type == "phrase":
        for cue in relation.after.get(language, ()):
            for _, match in _matches(cue, note.text, sentences):
                phrase = (_PHRASE_ZH if language == "zh" else _PHRASE).match(note.text, match.end())
                if phrase:
                    yield Value(phrase.group("value"), *phrase.span("value"), match.span())
        return
    seen: set[int] = set()
    for cue in relation.after.get(language, ()):
        for sentence, match in _matches(cue, note.text, sentences):
            value = _following(values, match.end(), min(sentence.end, match.end() + AFTER_WINDOW))
            if value and value[0] not in seen:
                seen.add(value[0])
                yield Value(note.text[value[0] : value[1]], *value, match.span())
    for cue in relation.before.get(language, ()):
        for sentence, match in _matches(cue, note.text, sentences):
            value = _preceding(values, max(sentence.start, match.start() - BEFORE_WINDOW), match.start())
            if value and value[0] not in seen:
                seen.add(value[0])
                yield Value(note.text[value[0] : value[1]], *value, match.span())


def states_relation(relation: Relation, sentence: str, language: str) -> bool:
    """Tell whether a sentence has a clause of the relation."""
    cues = (*relation.after.get(language, ()), *relation.before.get(language, ()))
    return any(cue.search(sentence) for cue in cues)


def _matches(cue: re.Pattern[str], text: str, sentences: list[Sentence]) -> Iterator[tuple[Sentence, re.Match[str]]]:
    for sentence in sentences:
        for match in cue.finditer(text, sentence.start, sentence.end):
            yield sentence, match


def _values_of_type(kind: str, note: Candidate) -> list[tuple[int, int]]:
    """Return the spans that may be values of a type: dates as written, mentions, for English also capitalised names."""
    if kind == "date":
        return [(date.start, date.end) for date in find_dates(note.text)]
    allowed = _COMPATIBLE.get(kind)
    typed = [(m.start, m.end) for m in note.mentions if allowed is None or m.type in allowed]
    if kind == "place" and note.language == "zh":
        return _joined(typed)
    if kind in {"number", "other"} or note.language == "zh":
        return sorted(typed)
    others = [(m.start, m.end) for m in note.mentions if not _may_be(m, kind)]
    names = [m.span() for m in _NAME.finditer(note.text)]
    if kind == "place":
        others = [span for span in others if not _ONE_NAME.fullmatch(note.text, *span)]
    if kind == "person":  # a tagger finds two names in "Isolde of Carrow"
        whole = [span for span in names if " of " in note.text[slice(*span)]]
        others = [one for one in others if not any(a <= one[0] and one[1] <= b and one != (a, b) for a, b in whole)]
    free = [span for span in names if not any(span[0] < end and start < span[1] for start, end in [*typed, *others])]
    return sorted([*typed, *free])


def _joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return Chinese places with those that follow at once as one: 陕西西安 is a city and where it lies."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


def _may_be(mention: Mention, kind: str) -> bool:
    return mention.type in _COMPATIBLE.get(kind, frozenset()) or mention.type in {"other", "concept"}


def _following(values: list[tuple[int, int]], begin: int, limit: int) -> tuple[int, int] | None:
    return next((value for value in values if begin <= value[0] < limit), None)


def _preceding(values: list[tuple[int, int]], limit: int, end: int) -> tuple[int, int] | None:
    return next((value for value in reversed(values) if limit <= value[0] and value[1] <= end), None)
