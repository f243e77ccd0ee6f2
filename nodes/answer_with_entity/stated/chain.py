"""Questions that follow relations from a named thing, hop by hop: "place of birth of the director of X"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theworld.nodes.answer_with_entity.clauses.facts import birth_of, death_of
from theworld.nodes.answer_with_entity.clauses.relations import (
    AskedRelation,
    Relation,
    Value,
    asked_relations,
    relation_values,
)
from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.answer_with_entity.question.topics import Topic, named_topics, note_about
from theworld.nodes.answer_with_entity.reasoned import ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import detect_language, entity_key, tokens
from theworld.text.folding import fold_in_place

MAX_HOPS = 3
MAX_UNEXPLAINED = 0
"""Words of a question that its topic and relations may leave unexplained; more are conditions that nobody checked."""
_CONTENT_ZH = re.compile(
    r"[^\s的了是在于於由为為谁誰哪何时時候里裡什么麼个個位名人电影電影歌曲小说小說？?，。《》「」]"
)
"""What is left of a Chinese question beside topic and relations, when it says more than they do."""
COMPARES = re.compile(r"\bor\b|\bboth\b|\bsame\b|还是|還是|相同|同一", re.IGNORECASE)
_ASKING_ZH = re.compile(
    r"(?:哪|什[么麼]|何)一?[个個位名所家间間座部首本]?(?:[学學]校|大[学學]|院校|[学學]院|[国國]家|城市|地方|[时時](?:候|[间間])|作家|[导導]演|"
    r"[公機机][司构構]|年份?|天|日期?|[里裡裏]|[处處地国國人])?|(?:的|[这這]位)(?:人|作家|[导導]演|[学學]者|科[学學]家|[药藥][学學]家|歌手|演[员員])|出生地"
)
"""Chinese words that ask, with what they ask for, and those for whoever a clause describes."""
LINKS = frozenset(
    ("director performer author composer lyricist producer founder publisher discoverer spouse father mother").split()
)
"""Relations that lead to another thing a question may ask about."""
_LIFE = {"birth_date": birth_of, "death_date": death_of}


def answer_chain(question: str, language: str, evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Return the value at the end of the question's relations, None when a hop is not stated."""
    topics = named_topics(question, evidence)
    if len(topics) != 1 or COMPARES.search(question):
        return None
    steps = _steps(question, language, topics[0])
    names = [name for step in steps for name in step.relation.path]
    if not names or len(names) > MAX_HOPS or not _says_nothing_else(question, topics[0], steps):
        return None
    return _follow(names, topics[0], question, evidence)


@dataclass(frozen=True, slots=True)
class Followed:
    """How far the links of a question lead, whatever it asks at their end."""

    support: tuple[Support, ...]
    """What states each link, in the order of the links."""
    note: int
    """Index of the note they lead to."""
    asked: tuple[Relation, ...]
    """The relations asked for besides them."""


def follow_links(question: str, language: str, evidence: Sequence[Candidate]) -> Followed | None:
    """Follow the links from a question's one topic: "what did the wife of the author of X translate?".

    None when a link is not stated or leads to no note.
    """
    topics = named_topics(question, evidence)
    if len(topics) != 1 or COMPARES.search(question):
        return None
    asked = _outside(asked_relations(question, language), question, topics[0])
    names = [name for step in _links(asked, question, topics[0]) for name in step.relation.path]
    at, support = topics[0].note, list[Support]()
    for name in names:
        value = _value(name, evidence[at], question)
        following = note_about(value.text, evidence, frozenset({topics[0].note, at})) if value else None
        if value is None or following is None:
            return None
        support.append(Support(at, value.start, value.end))
        at = following
    ends = tuple(step.relation for step in asked if step.relation.name not in LINKS)
    return Followed(tuple(support), at, ends) if support else None


def _says_nothing_else(question: str, topic: Topic, steps: list[AskedRelation]) -> bool:
    """Tell whether a question is made of its topic, its relations and words that add no condition."""
    masked = list(question)
    for step in steps:
        masked[step.start : step.end] = " " * (step.end - step.start)
    if detect_language(question) == "zh":
        rest = fold_in_place("".join(masked)).replace(fold_in_place(topic.name), "")
        return not _CONTENT_ZH.search(_ASKING_ZH.sub("", rest))
    named = frozenset(tokens(topic.name))
    asked = frozenset(tokens(question)) - named - word_set("plain")
    left = frozenset(tokens("".join(masked))) - named - word_set("plain")
    spanned = asked - left
    wide = [token for token in spanned if token not in word_set("relation")]
    return len(left) <= MAX_UNEXPLAINED and len(wide) <= MAX_UNEXPLAINED


def _steps(question: str, language: str, topic: Topic) -> list[AskedRelation]:
    """Return the relations from the topic outwards: links first, by closeness; the attribute asked for last."""
    asked = _outside(asked_relations(question, language), question, topic)
    links = _links(asked, question, topic)
    ends = [step for step in asked if step.relation.name not in LINKS]
    if len(ends) > 1:
        ends = _most_specific(ends)
    return [*links, *ends] if len(ends) <= 1 else []


def _links(asked: Sequence[AskedRelation], question: str, topic: Topic) -> list[AskedRelation]:
    """Return the relations that lead to another thing, the one nearest to the topic first."""
    at = fold_in_place(question).find(fold_in_place(topic.name))
    links = (step for step in asked if step.relation.name in LINKS)
    return sorted(links, key=lambda step: abs(step.start - at))


def _outside(asked: list[AskedRelation], question: str, topic: Topic) -> list[AskedRelation]:
    """Leave out relations that only the topic's own name seems to ask for."""
    begin = fold_in_place(question).find(fold_in_place(topic.name))
    end = begin + len(topic.name)
    return [step for step in asked if begin < 0 or not (begin <= step.start and step.end <= end)]


def _most_specific(ends: list[AskedRelation]) -> list[AskedRelation]:
    longest = max(step.end - step.start for step in ends)
    return [step for step in ends if step.end - step.start == longest][:1]


def _follow(names: list[str], topic: Topic, question: str, evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    at, support, path = topic.note, list[Support](), [topic.name]
    visited = {topic.note}
    for place, name in enumerate(names):
        last = place == len(names) - 1
        value = _value(name, evidence[at], question)
        if value is None:
            return None
        support.append(Support(at, value.start, value.end))
        path.append(f"{name}: {value.text}")
        if last:
            confidence = CONFIDENCE[f"chain of {len(names)}"]
            return ReasonedAnswer(value.text, confidence, tuple(reversed(support)), ", ".join(path))
        following = note_about(value.text, evidence, frozenset(visited))
        if following is None:
            return None
        at = following
        visited.add(at)
    return None


def _value(name: str, note: Candidate, question: str) -> Value | None:
    """Return the first value a note states that the question does not name itself."""
    if name in _LIFE:
        date = _LIFE[name](note.text)
        return Value(note.text[date.start : date.end], date.start, date.end, (date.start, date.end)) if date else None
    own, asked = names_in(note.title), names_in(question)
    for value in relation_values(name, note):
        key = entity_key(value.text)
        if key and not own(key) and not asked(key):
            return value
    return None
