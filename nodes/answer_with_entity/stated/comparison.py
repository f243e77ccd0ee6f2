"""Comparison and yes/no questions, answered from dates, countries and kinds that the notes state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.nodes.answer_with_entity.clauses.facts import begin_of, birth_of, country_of, death_of
from theworld.nodes.answer_with_entity.clauses.relations import relation_values
from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.question.topics import Topic, compared_topics, named_topics, note_about
from theworld.nodes.answer_with_entity.reasoned import NO, YES, ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.stated.kinds import (
    asks_amount,
    by_amount,
    by_statement,
    is_kind,
    same_kind,
    shared_kind,
)
from theworld.nodes.answer_with_entity.stated.measures import asked_measure, by_measure
from theworld.nodes.answer_with_entity.values.dates import DateSpan, lifespan
from theworld.state import Candidate
from theworld.text import split_sentences


@dataclass(frozen=True, slots=True)
class _Order:
    """A question for the first or last of two moments."""

    moment: str
    pattern: re.Pattern[str]
    latest: bool


_METHODS = {"birth": "order of birth", "death": "order of death", "begin": "order of beginning"}
_MOMENTS: Mapping[str, Callable[[str], DateSpan | None]] = {"birth": birth_of, "death": death_of, "begin": begin_of}


@cache
def _orders() -> tuple[_Order, ...]:
    table = resources.files("theworld.nodes.answer_with_entity.stated").joinpath("orders.yaml")
    content = yaml.safe_load(table.read_text(encoding="utf-8"))
    return tuple(
        _Order(
            entry["moment"],
            re.compile(
                entry["pattern"].replace("BEGIN_ZH", content["begin_zh"]).replace("BEGIN", content["begin"]),
                re.IGNORECASE,
            ),
            entry["latest"],
        )
        for entry in content["orders"]
    )


_LONGER_LIFE = re.compile(
    r"\b(lived?|life)\b[^?]*\b(longer|longest|older age)\b|(更长寿|更長壽|活得更久|活得更长)", re.IGNORECASE
)
_SAME_COUNTRY = re.compile(
    r"\bsame (country|nationality)\b|\bnationality\b[^?]*\bsame\b|\bshare\b[^?]*\b(nationality|country)\b|"
    r"(同一|相同)(个|個|的)?(国|國)|(国籍|國籍)(是否)?(相同|一样|一樣)",
    re.IGNORECASE,
)
_BY_DIRECTOR = re.compile(r"\bdirectors?\b|导演|導演", re.IGNORECASE)
_BY_PERFORMER = re.compile(r"\b(performers?|singers?)\b|演唱者|歌手|原唱|主唱|演唱", re.IGNORECASE)
_CHOICE = re.compile(
    r"\bor\b|[还還]是|或者?|([谁誰哪]).*(先|早|晚|后|後|更|[较較]|最|年[长長]|年[轻輕]|大|小)|[谁誰]是|哪一?[个個位名部首本座家所条條](是|有|在|位[于於]|曾)",
    re.IGNORECASE,
)
_YES_NO = re.compile(r"^\s*(is|are|was|were|do|does|did|has|have|had|can)\b|吗|嗎|是否|都是", re.IGNORECASE)


def answer_comparison(question: str, language: str, evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Return the answer to a question that compares two named things, None when the notes do not state enough."""
    topics = compared_topics(question, evidence)
    if len(topics) != 2:
        return by_measure(question, language, (), evidence) or _of_one(question, language, evidence)
    if _SAME_COUNTRY.search(question):
        return _same_country(question, language, topics, evidence)
    if _CHOICE.search(question):
        measured = (
            _longer_life(question, topics, evidence)
            or _by_order(question, topics, evidence)
            or by_amount(question, topics, evidence)
            or by_measure(question, language, topics, evidence)
        )
        return measured or (None if _measures(question, topics) else by_statement(question, topics, evidence))
    if asked_measure(question, [topic.name for topic in topics]):
        return by_measure(question, language, topics, evidence)
    kind = same_kind(question, language, topics, evidence) if _YES_NO.search(question) else None
    return kind or shared_kind(question, topics, evidence)


def _of_one(question: str, language: str, evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Return yes to a question whether the one thing it names is of a kind that its note states."""
    named = named_topics(question, evidence)
    return is_kind(question, language, named[0], evidence) if len(named) == 1 else None


def _measures(question: str, topics: Sequence[Topic]) -> bool:
    """Tell whether a question is for the greater or the earlier, which words alone cannot decide."""
    return bool(
        _LONGER_LIFE.search(question)
        or asks_amount(question)
        or asked_measure(question, [topic.name for topic in topics])
        or any(order.pattern.search(question) for order in _orders())
    )


def _by_order(question: str, topics: list[Topic], evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    order = next((order for order in _orders() if order.pattern.search(question)), None)
    if order is None:
        return None
    subjects = [_subject(question, topic, evidence, person=order.moment != "begin") for topic in topics]
    moments = [_MOMENTS[order.moment](evidence[index].text) if index is not None else None for index in subjects]
    left, right = moments
    if left is None or right is None or _tied(left, right):
        return None
    first = left.moment < right.moment
    winner = topics[0] if first != order.latest else topics[1]
    dates = [
        Support(index, date.start, date.end)
        for index, date in zip(subjects, moments, strict=True)
        if date and index is not None
    ]
    support = [dates[topics.index(winner)], dates[1 - topics.index(winner)]]
    if winner.note != support[0].note:
        support.insert(0, _opening(winner, evidence))
    reason = f"{order.moment}: {topics[0].name} {left.year}, {topics[1].name} {right.year}"
    return ReasonedAnswer(winner.name, CONFIDENCE[_METHODS[order.moment]], tuple(support), reason)


def _opening(topic: Topic, evidence: Sequence[Candidate]) -> Support:
    """Return the first sentence of a topic's note."""
    first = next(iter(split_sentences(evidence[topic.note].text)), None)
    return Support(topic.note, first.start, first.end) if first else Support(topic.note, 0, 0)


def _tied(left: DateSpan, right: DateSpan) -> bool:
    """Tell whether two moments cannot be told apart at the precision both have."""
    parts = 1 + (left.month > 0 and right.month > 0) + (left.day > 0 and right.day > 0)
    return left.moment[:parts] == right.moment[:parts]


def _longer_life(question: str, topics: list[Topic], evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    if not _LONGER_LIFE.search(question):
        return None
    lives = [lifespan(evidence[topic.note].text) for topic in topics]
    years = [life.death.year - life.birth.year if life.birth and life.death else None for life in lives]
    if years[0] is None or years[1] is None or years[0] == years[1]:
        return None
    winner = topics[0] if years[0] > years[1] else topics[1]
    support = [
        Support(topic.note, life.birth.start, life.death.end)
        for topic, life in zip(topics, lives, strict=True)
        if life.birth and life.death
    ]
    return ReasonedAnswer(
        winner.name, CONFIDENCE["lifetime"], tuple(support), f"lifetimes of about {years[0]} and {years[1]} years"
    )


def _subject(question: str, topic: Topic, evidence: Sequence[Candidate], *, person: bool) -> int | None:
    """Return the note compared: the topic's own, or that of its director or performer when the question says so."""
    relation = "director" if _BY_DIRECTOR.search(question) else "performer" if _BY_PERFORMER.search(question) else None
    note = evidence[topic.note]
    if relation is None or not person or lifespan(note.text[:300]).birth is not None:
        return topic.note
    for value in relation_values(relation, note):
        found = note_about(value.text, evidence, frozenset({topic.note}))
        if found is not None:
            return found
    return None


def _same_country(
    question: str, language: str, topics: list[Topic], evidence: Sequence[Candidate]
) -> ReasonedAnswer | None:
    subjects = [_subject(question, topic, evidence, person=True) for topic in topics]
    if subjects[0] is None or subjects[1] is None:
        return None
    left, right = (country_of(evidence[index].text) for index in subjects if index is not None)
    if left is None or right is None:
        return None
    same = left.country == right.country
    support = (Support(subjects[0], left.start, left.end), Support(subjects[1], right.start, right.end))
    reason = f"{topics[0].name}: {left.country}, {topics[1].name}: {right.country}"
    return ReasonedAnswer(YES[language] if same else NO[language], CONFIDENCE["same country"], support, reason)
