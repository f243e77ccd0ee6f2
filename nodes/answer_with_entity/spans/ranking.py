"""Typed spans as answers: which mention of the expected type stands where the question's words stand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from theworld.nodes.answer_with_entity.clauses.asked_deed import asked_deed
from theworld.nodes.answer_with_entity.clauses.deed_answers import plays_other_part
from theworld.nodes.answer_with_entity.clauses.relations import asked_relations
from theworld.nodes.answer_with_entity.one_entity import OneEntity
from theworld.nodes.answer_with_entity.question.amounts import asked_amount, notes_stating
from theworld.nodes.answer_with_entity.question.answer_type import AnswerType
from theworld.nodes.answer_with_entity.question.attribute import asked_attribute, is_of_other
from theworld.nodes.answer_with_entity.question.counted import asked_count
from theworld.nodes.answer_with_entity.question.read_question import ReadQuestion
from theworld.nodes.answer_with_entity.spans.offices import asked_office
from theworld.nodes.answer_with_entity.spans.typed_spans import typed_spans
from theworld.state import Candidate
from theworld.text import Sentence, entity_key, split_sentences, tokens
from theworld.text.folding import simplified

CLAUSE_END = re.compile(r"[，,；;：:、()（）]|\s[-–—]\s")
_CLAUSE_ZH = re.compile(r"[，；。！？\n]")
WINDOW = 14
"""Characters beside a span that are compared with the words beside the question word."""
LEADING = 4
"""Characters before a date that begins its sentence: "In ", "On "."""


@dataclass(frozen=True, slots=True)
class SpanFeatures:
    """What speaks for a span, each in [0, 1]."""

    sentence: float
    """Share of the question's weighted tokens in the span's sentence or title."""
    clause: float
    """The same for the span's clause."""
    near: float
    """The same for the characters around the span."""
    right: float
    """Share of the tokens after the question word that stand after the span."""
    left: float
    """Share of the tokens before the question word that stand before the span."""
    title: float
    """Share of the question's tokens in the note's title."""
    note: float
    """1 / the note's place in the evidence."""
    alone: float
    """1 / number of spans of the type in the sentence."""
    lead: float
    """1 in the note's first sentence."""
    agreement: float
    """min(notes that have the span - 1, 2) / 2."""
    unit: float
    """1 when the word after a number, or the kind word after `which`, is in or beside the span."""


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A candidate answer with its place and score."""

    note: int
    start: int
    end: int
    text: str
    features: SpanFeatures
    score: float = 0.0


WEIGHTS = SpanFeatures(
    sentence=5.61,
    clause=2.72,
    near=1.10,
    right=1.41,
    left=0.27,
    title=0.26,
    note=4.62,
    alone=0.75,
    lead=0.59,
    agreement=0.22,
    unit=1.26,
)
"""Fitted by conditional logistic regression (L2 = 1) on DRCD's development questions: benchmarks/answers.py."""
MIN_SENTENCE = 0.85
"""English only: share of the question one sentence must cover; questions over several notes are not for spans."""


def rank_spans(
    question: str,
    language: str,
    expected: AnswerType,
    evidence: Sequence[Candidate],
    *,
    one: OneEntity = OneEntity(),  # noqa: B008 - frozen
    vetoed: frozenset[str] = frozenset(),
) -> list[ScoredSpan]:
    """Return candidate spans of the expected type, best first, each entity once.

    `one` knows names of one entity; `vetoed` are identity keys that are no answer.
    """
    weights = astuple(WEIGHTS)
    deed = asked_deed(question) if language != "zh" else None
    relations = asked_relations(question, language) if deed else []
    best: dict[str, ScoredSpan] = {}
    found = list(span_features(question, language, expected, evidence, one))
    noun = asked_attribute(question, evidence) if language == "zh" and expected.name == "quantity" else ""
    beside = [span for span in found if noun and noun in _clause_of(evidence[span[0]].text, span[1])]
    own = [span for span in beside if not is_of_other(noun, question, evidence[span[0]], span[1])]
    for note, start, end, features in own or ([] if beside else found):
        text = evidence[note].text[start:end]
        score = math.fsum(w * f for w, f in zip(weights, astuple(features), strict=True))
        key = one.key(entity_key(text))
        if not vetoed.isdisjoint(one.keys(key)) or (
            deed and plays_other_part(deed, evidence[note], start, end, relations)
        ):
            continue
        if key not in best or score > best[key].score:
            best[key] = ScoredSpan(note, start, end, text, features, score)
    return sorted(best.values(), key=lambda span: (-round(span.score, 9), span.note, span.start))


def _clause_of(text: str, at: int) -> str:
    """Return the Chinese clause around an offset, in simplified characters."""
    begin = max((match.end() for match in _CLAUSE_ZH.finditer(text, 0, at)), default=0)
    stop = _CLAUSE_ZH.search(text, at)
    return simplified(text[begin : stop.start() if stop else len(text)])


def share_and_margin(ranking: Sequence[ScoredSpan]) -> tuple[float, float]:
    """Return the best span's softmax share of all spans and its relative margin to the runner-up's share."""
    if not ranking:
        return 0.0, 0.0
    weights = [math.exp(span.score - ranking[0].score) for span in ranking]
    return 1 / math.fsum(weights), 1 - (weights[1] if len(weights) > 1 else 0.0)


def span_features(
    question: str,
    language: str,
    expected: AnswerType,
    evidence: Sequence[Candidate],
    one: OneEntity = OneEntity(),  # noqa: B008 - frozen
) -> Iterator[tuple[int, int, int, SpanFeatures]]:
    """Yield (note, start, end, features) of every span of the expected type that the question does not name."""
    asked = ReadQuestion.of(question, language, evidence)
    amount = asked_amount(question, language)
    stating = notes_stating(amount, question, evidence, only_named=True)
    said = amount.tokens if amount and stating else frozenset[str]()
    office, counted = asked_office(question) if language == "zh" else None, asked_count(question)

    def spans_of(index: int, note: Candidate) -> list[tuple[int, int]]:
        if office:
            return office.holders(note)
        if stating or (amount and language == "zh"):
            return stating.get(index, [])
        return list(typed_spans(note, expected, counted))

    spans = {index: spans_of(index, note) for index, note in enumerate(evidence)}
    parted = bool(stating) or "date" in (expected.types or ())
    asked_by_name = one.named_in(question)
    counts: dict[str, set[int]] = {}
    for index, found in spans.items():
        for start, end in found:
            counts.setdefault(one.key(entity_key(evidence[index].text[start:end])), set()).add(index)
    for index, note in enumerate(evidence):
        sentences = split_sentences(note.text)
        for place, sentence in enumerate(sentences):
            inside = [span for span in spans[index] if sentence.start <= span[0] and span[1] <= sentence.end]
            for start, end in inside:
                key = entity_key(note.text[start:end])
                if not key or asked_by_name(key):
                    continue
                yield (
                    index,
                    start,
                    end,
                    _features(
                        asked,
                        note,
                        index,
                        sentence,
                        (start, end),
                        _part(note, sentence, (start, end), inside) if parted else (sentence.start, sentence.end),
                        len(inside),
                        place == 0,
                        len(counts[one.key(key)]),
                        said,
                    ),
                )


def _part(
    note: Candidate, sentence: Sentence, span: tuple[int, int], spans: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return the part of an English sentence that one of its dates or amounts is of: from the one before it.

    Behind it where the sentence begins with a date: "In 1903 she won one prize and in 1911 another".
    """
    if note.language == "zh" or len(spans) < 2:
        return sentence.start, sentence.end
    place = spans.index(span)
    if spans[0][0] - sentence.start <= LEADING:
        return span[0], spans[place + 1][0] if place + 1 < len(spans) else sentence.end
    return spans[place - 1][1] if place else sentence.start, span[1] if place + 1 < len(spans) else sentence.end


def _features(  # noqa: PLR0917
    asked: ReadQuestion,
    note: Candidate,
    position: int,
    sentence: Sentence,
    span: tuple[int, int],
    part: tuple[int, int],
    rivals: int,
    lead: bool,
    notes: int,
    said: frozenset[str],
) -> SpanFeatures:
    start, end = span
    text = note.text
    title = set(tokens(note.title))
    around = said.union(tokens(text[sentence.start : start]), tokens(text[end : sentence.end]))
    before, after = text[part[0] : start], text[end : part[1]]
    if part != (sentence.start, sentence.end):
        said |= title  # the subject of the first part is that of the others
    clause_before = CLAUSE_END.split(before)[-1]
    clause_after = CLAUSE_END.split(after, maxsplit=1)[0]
    clause = said.union(tokens(clause_before), tokens(clause_after))
    wide = 2 if note.language != "zh" else 1
    left, right = said.union(tokens(before[-WINDOW * wide :])), said.union(tokens(after[: WINDOW * wide]))
    beside = set(tokens(text[max(sentence.start, start - 8) : min(sentence.end, end + 12)]))
    return SpanFeatures(
        asked.share(around | title),
        asked.share(clause),
        asked.share(left | right),
        len(asked.right & right) / max(1, len(asked.right)),
        len(asked.left & left) / max(1, len(asked.left)),
        asked.share(title),
        1 / (1 + position),
        1 / rivals,
        float(lead),
        min(notes - 1, 2) / 2,
        float(bool(asked.unit & beside)),
    )
