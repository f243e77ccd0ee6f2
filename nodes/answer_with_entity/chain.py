"""Questions that follow relations from a named thing, hop by hop: "place of birth of the director of X"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.facts import birth_of, death_of
from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.answer_with_entity.reasoned import ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.relations import AskedRelation, Value, asked_relations, relation_values
from theworld.nodes.answer_with_entity.topics import Topic, named_topics, note_about
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import detect_language, entity_key, tokens
from theworld.text.folding import fold_in_place

MAX_HOPS = 3
MAX_UNEXPLAINED = 0
"""Words of a question that its topic and relations may leave unexplained; more are conditions that nobody checked."""
_CONTENT_ZH = re.compile(r"[^\s的了是在于於由谁誰哪何时時候里裡什么麼个個位名人电影電影歌曲小说小說？?，。《》「」]")
"""What is left of a Chinese question beside topic and relations, when it says more than they do."""
COMPARES = re.compile(r"\bor\b|\bboth\b|\bsame\b|还是|還是|相同|同一", re.IGNORECASE)
LINKS = frozenset(
    ["director", "performer", "author", "composer", "producer", "founder", "publisher", "spouse", "father", "mother"]
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


def _says_nothing_else(question: str, topic: Topic, steps: list[AskedRelation]) -> bool:
    """Tell whether a question is made of its topic, its relations and words that add no condition."""
    masked = list(question)
    for step in steps:
        masked[step.start : step.end] = " " * (step.end - step.start)
    if detect_language(question) == "zh":
        return not _CONTENT_ZH.search("".join(masked).replace(topic.name, ""))
    named = frozenset(tokens(topic.name))
    asked = frozenset(tokens(question)) - named - word_set("plain")
    left = frozenset(tokens("".join(masked))) - named - word_set("plain")
    spanned = asked - left
    wide = [token for token in spanned if token not in word_set("relation")]
    return len(left) <= MAX_UNEXPLAINED and len(wide) <= MAX_UNEXPLAINED


def _steps(question: str, language: str, topic: Topic) -> list[AskedRelation]:
    """Return the relations from the topic outwards: links first, by closeness; the attribute asked for last."""
    asked = _outside(asked_relations(question, language), question, topic)
    links = [step for step in asked if step.relation.name in LINKS]
    ends = [step for step in asked if step.relation.name not in LINKS]
    at = fold_in_place(question).find(fold_in_place(topic.name))
    links.sort(key=lambda step: abs(step.start - at))
    if len(ends) > 1:
        ends = _most_specific(ends)
    return [*links, *ends] if len(ends) <= 1 else []


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
