"""Chinese questions for an attribute that no note about the thing has: its price, its population, who heads it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.nodes.answer_with_entity.clauses.relations import asked_relations, states_relation
from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.answer_with_entity.question.amounts import AskedAmount, asked_amount
from theworld.nodes.answer_with_entity.question.attribute import asked_attribute, names_of
from theworld.nodes.answer_with_entity.spans.offices import asked_office
from theworld.nodes.answer_with_extract.asked import describes
from theworld.state import Candidate
from theworld.text import fold, split_sentences

_OFTEN_IMPLIED = frozenset({"running time", "frequency", "duration"})
"""Measures that many words state: 用了三年, 十天内."""
_DESCRIBED = re.compile(
    r"的(?:那[一]?[个座家所条位]?)?(?:城市|地方|地区|省份?|县|国家|学校|大学|学院|公司|企业|机构|组织|人|作家|导演|作者|江|河|山|岛|书|电影|小说)"
)
"""A thing told by its kind behind a clause: 聂耳出生的城市. What is asked may then stand in a note that has no name of
the question."""
SHARED = 3
"""Characters that a note's title has in common with a question for its thing."""


def leaves_unstated(question: str, evidence: Sequence[Candidate]) -> bool:
    """Tell whether a question asks for an attribute that no note about what it names states.

    `question` is in simplified characters. An attribute is an office, an amount of a measure, or the noun before
    是谁, 是多少 and the like; a noun is stated where a note has two characters of it in a row.
    """
    described = describes(question, "zh") or _DESCRIBED.search(question)
    about = list(evidence) if described else _notes_about(question, evidence)
    if not about:
        return False
    office = asked_office(question)
    if office:
        return not any(office.forms.search(fold(note.text)) for note in about)
    amount = asked_amount(question, "zh")
    if amount and _OFTEN_IMPLIED.isdisjoint(amount.measures):
        return not _states(amount, about)
    noun = asked_attribute(question, evidence)
    if not noun:
        return False
    texts = [fold(note.text) for note in about]
    relations = asked_relations(question, "zh")
    return not (
        any(noun[place : place + 2] in text for text in texts for place in range(len(noun) - 1))
        or any(states_relation(one.relation, note.text, note.language) for one in relations for note in about)
    )


def _states(amount: AskedAmount, about: Sequence[Candidate]) -> bool:
    return any(amount.spans(sentence.text) for note in about for sentence in split_sentences(note.text))


def _notes_about(question: str, evidence: Sequence[Candidate]) -> list[Candidate]:
    """Return the notes that have a name of the question, or a good part of it in their title; all where it has none."""
    has, asked = names_in(question), fold(question)
    pieces = {asked[place : place + SHARED] for place in range(len(asked) - SHARED + 1)}
    keys = {key for key in names_of(evidence) if len(key) > 1 and has(key)}
    keys = {key for key in keys if not any(key != other and key in other for other in keys)}

    def is_about(note: Candidate) -> bool:
        title = fold(note.title)
        named = names_in(f"{note.title}\n{note.text}")
        return any(piece in title for piece in pieces) or any(named(key) for key in keys)

    return [note for note in evidence if is_about(note)] or ([] if keys else list(evidence))
