"""Which of two things is longer, higher, larger, ...: compared where the evidence states both values in like units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from theworld.nodes.answer_with_entity.clauses.facts import lead
from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.question.topics import Topic, names_thing, plain
from theworld.nodes.answer_with_entity.reasoned import NO, YES, ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.spans.ranking import CLAUSE_END
from theworld.nodes.answer_with_entity.values.measure_table import AskedMeasure, measure_table, values_in
from theworld.nodes.answer_with_entity.values.quantities import TOLERANCE, Quantity
from theworld.state import Candidate
from theworld.text import split_sentences, without_qualifier

_MASK = "＿"
_THAN = re.compile(r"\bthan\b|比(?!较|較)", re.IGNORECASE)
_YES_NO = re.compile(
    r"^\s*(?:is|are|was|were|does|do|did|has|have|had)\b|[吗嗎]\s*[？?]?\s*$|是否|是不是", re.IGNORECASE
)
_PAIRS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:[,:，：]|\bbetween\b)\s*(?P<left>[^,:?，：？]+?),?\s+(?:or|and)\s+(?P<right>[^,:?]+?)\s*[?.]?\s*$",
        r"^\s*(?:is|are|was|were|does|do|did|has|have|had)\s+(?P<left>.+?)\s+(?:(?:a|an|much|any|have|has|more)\s+)*"
        r"(?:more|less|fewer|\w+er)\b[^?]*?\bthan\s+(?P<right>[^?]+?)\s*[?.]?\s*$",
        r"[,:，：]\s*(?:是)?(?P<left>[^,:，：?？]+?)(?:还是|還是|或者?|和|与|與)(?P<right>[^,:，：?？]+?)[?？]?\s*$",
        r"^(?:请问|請問)?(?P<left>[^,，?？]+?)(?:和|与|與|跟|同|比起?)(?P<right>[^,，?？]+?)(?:相比|之间|之間|[这這][两兩]\w|[两兩]者)?[,，]?"
        r"(?:哪|[谁誰]|更|[较較]|要|[高矮低长長短大小深浅淺宽寬窄重轻輕][吗嗎])",
    )
)
"""How a question writes the two things it compares."""
_ITS = re.compile(r"(?:its|their)\b|其|[它她他]的", re.IGNORECASE)
_ITS_MEASURE = re.compile(
    r"\w+\s(?:\w+\s){0,2}(?:length|height|depth|width|area|population|elevation|altitude|weight|summit|peak|duration)\b|"
    r"\S{1,4}(?:[长長度高深宽寬重积積]|人口|海拔)",
    re.IGNORECASE,
)
"""Other sentences that begin with "its" are about a part: "Its longest tributary is 288 km long"."""
_OR = re.compile(r"\bor\b|[还還]是|或", re.IGNORECASE)
_HOW_MUCH = re.compile(r"\bhow (?:much|many)\b|多少|[几幾]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the two things a question compares."""

    name: str
    """As the question writes it."""
    note: int | None = None
    """Index of the note about it in the evidence, None when no title names it."""


@dataclass(frozen=True, slots=True)
class _Value:
    quantity: Quantity
    support: Support


def asked_measure(question: str, names: Sequence[str] = ()) -> AskedMeasure | None:
    """Return what a question compares the named things by, None when it compares no measure."""
    masked = question
    for name in names:
        masked = re.sub(re.escape(name), _MASK, masked, flags=re.IGNORECASE)
    if _HOW_MUCH.search(masked) or (asks_yes_no(masked) and not _THAN.search(masked)):
        return None
    return next((asked for pattern, asked in measure_table().asked if pattern.search(masked)), None)


def asks_yes_no(question: str) -> bool:
    """Tell whether yes or no answers a question: one that offers no choice."""
    return bool(_YES_NO.search(question)) and not _OR.search(question)


def compared_things(question: str, topics: Sequence[Topic]) -> tuple[Compared, Compared] | None:
    """Return the two things in the order of the question: the notes it names, else the names as it writes them."""
    if len(topics) == 2:
        first, second = sorted(topics, key=lambda topic: topic.start)
        return Compared(first.name, first.note), Compared(second.name, second.note)
    for pattern in _PAIRS:
        match = pattern.search(question)
        if match:
            left, right = (
                re.sub(r"^(?:the|an?)\s", "", match[side].strip(), flags=re.IGNORECASE) for side in ("left", "right")
            )
            if plain(left) and plain(right) and plain(left) != plain(right):
                return Compared(left), Compared(right)
    return None


def by_measure(
    question: str, language: str, topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> ReasonedAnswer | None:
    """Return the greater or lesser of two things by values the evidence states, yes or no for "is X longer than Y?".

    None where a value is missing, stated differently twice, or too vague to tell which is greater.
    """
    things = compared_things(question, topics)
    asked = asked_measure(question, [thing.name for thing in things]) if things else None
    if things is None or asked is None:
        return None
    first, second = things
    compared = {
        name: (left, right)
        for name in asked.measures
        if (left := _value(name, first, second, evidence)) and (right := _value(name, second, first, evidence))
    }
    signs = {left.quantity.compared(right.quantity) for left, right in compared.values()}
    if len(signs) != 1 or 0 in signs:
        return None
    name, (left, right) = next(iter(compared.items()))
    is_first = (signs == {1}) != asked.less
    if asks_yes_no(question):
        text = YES[language] if is_first else NO[language]
    else:
        text = (first if is_first else second).name
    said = [evidence[v.support.note].text[v.support.start : v.support.end] for v in (left, right)]
    reason = f"{name}: {first.name} {said[0]}, {second.name} {said[1]}"
    return ReasonedAnswer(text, CONFIDENCE["measure"], (left.support, right.support), reason)


def _value(measure: str, thing: Compared, other: Compared, evidence: Sequence[Candidate]) -> _Value | None:
    """Return the one value stated of a thing: in its document's opening or first sentence with one, else elsewhere."""
    if thing.note is not None:
        document = evidence[thing.note].document_id
        own = [index for index, note in enumerate(evidence) if note.document_id == document]
        values = [value for index in own for value in _stated(measure, index, evidence, without=other.name)]
        if values:
            return _single(_first_stated(values, own, evidence))
    every = range(len(evidence))
    return _single(
        [value for index in every for value in _stated(measure, index, evidence, without=other.name, of=thing.name)]
    )


def _first_stated(values: Sequence[_Value], own: Sequence[int], evidence: Sequence[Candidate]) -> list[_Value]:
    """Return the values in a document's opening, else those in the first sentence that states one."""
    first = min(own, key=lambda index: evidence[index].start)
    opening = [v for v in values if v.support.note == first and v.support.end <= len(lead(evidence[first].text))]
    if opening:
        return opening
    earliest = min(values, key=lambda v: evidence[v.support.note].start + v.support.start).support
    sentences = split_sentences(evidence[earliest.note].text)
    end = next(sentence.end for sentence in sentences if sentence.end >= earliest.end)
    return [v for v in values if v.support.note == earliest.note and v.support.end <= end]


def _single(values: Sequence[_Value]) -> _Value | None:
    """Return what all values allow, at the first one's place; None when they contradict each other or are none."""
    if not values:
        return None
    low, high = max(v.quantity.low for v in values), min(v.quantity.high for v in values)
    if low > high * (1 + TOLERANCE):
        return None
    first = values[0]
    return _Value(replace(first.quantity, low=min(low, high), high=max(low, high)), first.support)


def _stated(
    measure: str, index: int, evidence: Sequence[Candidate], *, without: str, of: str | None = None
) -> Iterator[_Value]:
    """Yield a measure's values from a thing's own note, or, with `of`, from sentences that name it first.

    A sentence that names the other thing is left out, unless the note's own title opens it and the clause does not.
    """
    note = evidence[index]
    for sentence in split_sentences(note.text):
        if of is not None and names_thing(sentence.text, without):
            continue
        if _ITS.match(sentence.text) and not _ITS_MEASURE.match(sentence.text):
            continue
        for quantity in values_in(sentence.text, measure):
            before = sentence.text[: quantity.start]
            clause = CLAUSE_END.split(before)[-1] + CLAUSE_END.split(sentence.text[quantity.end :])[0]
            opens = plain(before).startswith(plain(without_qualifier(note.title)))
            if names_thing(clause, without) or (names_thing(sentence.text, without) and not opens):
                continue
            if of is None or names_thing(before, of):
                start = sentence.start + quantity.start
                yield _Value(quantity, Support(index, start, sentence.start + quantity.end))
