"""Answers to questions who did something to whom, read off English sentences that tell the deed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from theworld.nodes.answer_with_entity.clauses.asked_deed import AskedDeed, asked_deed
from theworld.nodes.answer_with_entity.clauses.deeds import NAMES, Span, deeds_in, tells
from theworld.nodes.answer_with_entity.clauses.relations import AskedRelation, states_relation
from theworld.nodes.answer_with_entity.clauses.verbs import verb_table
from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.answer_with_entity.reasoned import ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.values.dates import find_dates
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import Sentence, entity_key, split_sentences, tokens, without_qualifier

_PRONOUN = re.compile(
    r"(?:^|.*\s)(?:he|she|they|it|him|her|them|this)\s*$|\s*(?:his|its|their)\b|\s*the\s[a-z]+\s*$", re.IGNORECASE
)
_PREPOSITION = re.compile(
    r"\b(?:of|in|at|on|by|for|from|with|to|into|during|after|before|against|under|near|over|between|than|as)\s"
    r"(?:the\s|an?\s|his\s|her\s)?$",
    re.IGNORECASE,
)
_NO_NAME = frozenset(
    (
        "the a an in on at by from he she it they his her its their this that these after before during since and but"
    ).split()
)
_NAMES = re.compile(NAMES)
_OF_BEFORE = re.compile(
    r"\b(?!(?:city|town|village|state|kingdom|duchy|republic|island|county|province|port|battle|siege)\b)\w+\s"
    r"of\s(?:the\s)?$",
    re.IGNORECASE,
)
"""What makes a name that of a part or owner: "the army of Harold", unlike "the city of Belgard"."""
_OF = re.compile(r"\sof\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Told:
    """A name that a sentence gives the asked part of a deed."""

    text: str
    support: Support


def answer_deed(question: str, language: str, evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Return who did it, or whom it was done to; None where the notes tell it of several, or of none."""
    asked = asked_deed(question) if language != "zh" else None
    if asked is None or asked.role == "circumstance":
        return None
    told = [one for index in range(len(evidence)) for one in _told(asked, question, evidence, index)]
    if not told:
        return None
    best = max(told, key=lambda one: len(one.text))
    others = [one for one in told if not _same(one.text, best.text)]
    if others:
        return None
    reason = f"{asked.role} of {asked.verb!r}: {best.text}"
    return ReasonedAnswer(best.text, CONFIDENCE["deed"], (best.support,), reason)


def plays_other_part(
    asked: AskedDeed, note: Candidate, start: int, end: int, relations: Sequence[AskedRelation] = ()
) -> bool:
    """Tell whether the sentence of a span does not tell the deed a question is about, or gives the span no such part.

    "Who killed X?" is not answered by whom X killed, "when was X founded?" not by when X founded another, and "when did
    X leave?" not by when it was founded. A clause of one of the asked `relations` tells it as well.
    """
    sentence = next((one for one in split_sentences(note.text) if one.start <= start < one.end), None)
    if sentence is None or (asked.role != "circumstance" and asked.verb in verb_table().mutual):
        return False
    deeds = list(deeds_in(sentence.text, asked.verb))
    if not deeds:
        stated = any(states_relation(one.relation, sentence.text, "en") for one in relations)
        return not (stated or tells(sentence.text, asked.verb))
    if asked.role == "circumstance":
        known = [part for one in deeds if (part := one.patient if asked.thing_is_patient else one.agent)]
        return bool(known) and not any(_is_thing(asked, note, sentence, part) for part in known)
    at = (start - sentence.start, end - sentence.start)
    parts = [(one.agent, one.patient) if asked.role == "agent" else (one.patient, one.agent) for one in deeds]
    if any(_inside(at, part) for part, _ in parts):
        return False
    return any(_inside(at, other) or (part and _is_one(sentence.text, part)) for part, other in parts)


def _told(asked: AskedDeed, question: str, evidence: Sequence[Candidate], index: int) -> Iterator[_Told]:
    note, named = evidence[index], names_in(question)
    if note.language == "zh":
        return
    for sentence in split_sentences(note.text):
        for deed in deeds_in(sentence.text, asked.verb):
            part, other = (deed.agent, deed.patient) if asked.role == "agent" else (deed.patient, deed.agent)
            if part is None or not _is_thing(asked, note, sentence, other) or not _says_rest(asked, note, sentence):
                continue
            name = _name_in(sentence.text, part)
            if name is None:
                if asked.role == "agent" and _PRONOUN.match(sentence.text[slice(*part)]) and note.title:
                    title = without_qualifier(note.title)
                    if not named(entity_key(title)):
                        yield _Told(title, Support(index, sentence.start, sentence.end))
                continue
            begin, end = sentence.start + name[0], sentence.start + name[1]
            if not named(entity_key(note.text[begin:end])):
                yield _Told(note.text[begin:end], Support(index, begin, end))


def _is_thing(asked: AskedDeed, note: Candidate, sentence: Sentence, part: Span | None) -> bool:
    """Tell whether a part of a deed is what the question names."""
    if part is None:
        return False
    text = sentence.text[slice(*part)]
    wanted = _content(asked.thing)
    if not wanted:
        return False
    if _refers_back(text):
        return wanted <= set(tokens(f"{note.title} {text}"))
    return _names_thing(asked, text) or _short_of(wanted, text, note)


def _is_one(sentence: str, part: Span) -> bool:
    """Tell whether a part is a name or stands for one: then no other name of the sentence is meant."""
    return _name_in(sentence, part) is not None or _refers_back(sentence[slice(*part)])


def _refers_back(part: str) -> bool:
    return bool(_PRONOUN.match(part)) and _name_in(part, (0, len(part))) is None


def _names_thing(asked: AskedDeed, text: str) -> bool:
    """Tell whether a text names the thing of a question, and not another whose name only has it in it."""
    wanted = _content(asked.thing)
    if not wanted or not wanted <= set(tokens(text)):
        return False
    if not asked.thing.removeprefix("the ")[:1].isupper():
        return True
    names = [match.group() for match in _NAMES.finditer(text) if not _OF_BEFORE.search(text[: match.start()])]
    parts = [part for name in names for part in re.split(r",\s(?:and\s)?|\sand\s", name)]
    return any(wanted <= set(tokens(part)) and _ends_alike(part, asked.thing) for part in [*parts, *names])


def _ends_alike(name: str, thing: str) -> bool:
    own, asked = tokens(name), tokens(re.sub(r"^(?:the|an?)\s", "", thing))
    return own[-len(asked) :] == asked and not (len(own) > len(asked) and _OF.search(name) and not _OF.search(thing))


def _short_of(wanted: frozenset[str], text: str, note: Candidate) -> bool:
    """Tell whether a text names a thing by a part of its name that the note has in full."""
    names = [match.group() for match in _NAMES.finditer(text) if match.group().casefold() not in _NO_NAME]
    whole = set(tokens(f"{note.title} {note.text}"))
    return any(_content(name) < wanted for name in names if _content(name)) and wanted <= whole


def _says_rest(asked: AskedDeed, note: Candidate, sentence: Sentence) -> bool:
    return _content(asked.rest) <= set(tokens(f"{sentence.text} {note.title}"))


def _content(text: str) -> frozenset[str]:
    return frozenset(token for token in tokens(text) if token not in word_set("function"))


def _name_in(sentence: str, part: Span) -> Span | None:
    """Return the name in a part of a sentence that is not behind a preposition, names joined by "and" as one."""
    text = sentence[slice(*part)]
    dates = [(date.start, date.end) for date in find_dates(text)]
    at = 0
    while (match := _NAMES.search(text, at)) is not None:
        begin, end = match.span()
        first = re.split(r"[ ,]", match.group(), maxsplit=1)[0]
        if first.casefold() in _NO_NAME:
            at = begin + len(first)
            continue
        at = end
        if any(begin < stop and start < end for start, stop in dates) or _PREPOSITION.search(text[:begin]):
            continue
        if re.match(r"\s(?!and\b|of\b)[a-z]+\s[A-ZÀ-ÖØ-Þ]", text[end:]):
            continue  # "the Scottish firm Calder Optics"
        return part[0] + begin, part[0] + end
    return None


def _same(left: str, right: str) -> bool:
    return entity_key(left) == entity_key(right) or set(tokens(left)) <= set(tokens(right))


def _inside(at: Span, part: Span | None) -> bool:
    return part is not None and part[0] <= at[0] and at[1] <= part[1]
