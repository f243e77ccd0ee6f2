"""Short answers: the spans of the notes that are of the type a question expects, best first.

A span is a name of that type as the tagger found it, a date or a number. Its score is a linear function of few
features of where it stands; its share of the softmax over all spans says how clear it is. Wording does not decide what
is right: a span only stands better where more of the question's words do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from theworld.answers.one_entity import OneEntity
from theworld.questions import Question
from theworld.questions.answer_type import AnswerType
from theworld.questions.words import QuestionWords
from theworld.state import Candidate
from theworld.text import Sentence, entity_key, split_sentences, tokens
from theworld.text.dates import find_dates
from theworld.text.folding import simplified
from theworld.text.quantities import find_quantities

Span = tuple[int, int]
FLOOR = 0.1
"""Weight of a word that all notes have."""
WINDOW = {"en": 28, "zh": 14}
"""Characters beside a span that are compared with the question."""
_DATE_ZH = re.compile(
    r"(?:西元前|公元前|前|西元|公元)?\d{1,4}(?:年代|世纪)(?:初期?|末期?|中[期叶]?|晚期|早期|[前后]期|[上下]半叶)?|"
    r"[一二三四五六七八九十]+世纪(?:初|末|中叶|晚期)?|\d{1,2}月\d{1,2}日|[明清宋元唐汉隋秦晋]朝?[初末代](?:期|年)?"
)
"""Dates that are no days or years of a calendar."""
_TELLS_YEAR = re.compile(r"年|世纪|代|朝|[明清宋元唐汉隋秦晋][初末]|(?<!\d)[12]\d{3}(?!\d)")
_YEAR = re.compile(
    r"(?:民国|西元前|公元前|前)?\d{1,4}\s?年(?!代)|\b[12]\d{3}\b|(?:民国)?[〇零一二三四五六七八九十元]+年"
)
_PARTICLES = "的是在和与由及于之为被将对从以向称发曾认等所"
_PART = rf"(?:(?![{_PARTICLES}])[\u4e00-\u9fff]){{1,5}}"
_FURTHER_PART = re.compile(rf"[·•‧・]{_PART}")
_EARLIER_PART = re.compile(rf"(?:^|[^\u4e00-\u9fff]|[{_PARTICLES}])(?P<part>{_PART})[·•‧・]$")


@dataclass(frozen=True, slots=True)
class SpanFeatures:
    """What speaks for a span, each in [0, 1]."""

    sentence: float
    """Share of the question's weighted tokens in the span's sentence or title."""
    near: float
    """The same for the characters around the span."""
    note: float
    """1 / the note's place in the evidence."""
    unit: float
    """1 when the word after the question word is in or beside the span."""
    alone: float
    """1 / number of spans of the type in the sentence."""


WEIGHTS = SpanFeatures(sentence=5.77, near=2.6, note=3.91, unit=1.54, alone=1.14)
"""Fitted by `benchmarks/fit_answers.py`."""


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A candidate answer with its place and score."""

    note: int
    start: int
    end: int
    text: str
    features: SpanFeatures
    score: float = 0.0


def span_words(question: Question, evidence: Sequence[Candidate]) -> QuestionWords:
    """Return the question's words weighed over the evidence as spans are compared with."""
    return question.words_over([f"{note.title} {note.text}" for note in evidence], FLOOR)


def rank_spans(
    question: Question, words: QuestionWords, evidence: Sequence[Candidate], one: OneEntity | None = None
) -> list[ScoredSpan]:
    """Return the spans of the type asked for that the question does not name, best first, each entity once.

    `words` are the question's over the evidence, see `span_words`; `one` knows which names are one entity.
    """
    one, weights = one or OneEntity(), astuple(WEIGHTS)
    best: dict[str, ScoredSpan] = {}
    for place, note in enumerate(evidence):
        spans = list(typed_spans(note, question.answer_type))
        for sentence in split_sentences(note.text):
            inside = [span for span in spans if sentence.start <= span[0] and span[1] <= sentence.end]
            for start, end in inside:
                text = note.text[start:end]
                key = entity_key(text)
                if not key or any(map(question.names, one.keys(key))):
                    continue
                shares = 1 / (1 + place), 1 / len(inside)
                features = _features(words, question.unit, note, sentence, (start, end), shares=shares)
                score = math.fsum(w * f for w, f in zip(weights, astuple(features), strict=True))
                found = ScoredSpan(place, start, end, text, features, score)
                if one.key(key) not in best or score > best[one.key(key)].score:
                    best[one.key(key)] = found
    return sorted(best.values(), key=lambda span: (-round(span.score, 9), span.note, span.start))


def share_and_margin(ranking: Sequence[ScoredSpan]) -> tuple[float, float]:
    """Return the best span's softmax share of all spans and its relative margin to the runner-up's share."""
    if not ranking:
        return 0.0, 0.0
    weights = [math.exp(span.score - ranking[0].score) for span in ranking]
    return 1 / math.fsum(weights), 1 - (weights[1] if len(weights) > 1 else 0.0)


def grounding(words: QuestionWords, span: ScoredSpan, evidence: Sequence[Candidate]) -> float:
    """Return the share of the question's content tokens in the span's sentence or title."""
    note = evidence[span.note]
    sentence = next(one for one in split_sentences(note.text) if one.start <= span.start < one.end)
    return words.grounded({*tokens(sentence.text), *tokens(note.title)})


def typed_spans(note: Candidate, expected: AnswerType) -> Iterator[Span]:
    """Yield the spans of a note that are of the expected type, by position, overlapping ones once."""
    types, chinese, text = expected.types or frozenset(), note.language == "zh", simplified(note.text)
    found: list[Span] = []
    dates = [(date.start, date.end) for date in find_dates(text)] if types & {"date", "quantity"} else []
    if "date" in types:
        found += [*dates, *((m.start(), m.end()) for m in _DATE_ZH.finditer(text) if chinese)]
    if "quantity" in types:
        numbers = ((one.start, one.end) for one in find_quantities(text))
        found += [one for one in numbers if not any(one[0] < end and start < one[1] for start, end in dates)]
    if not types <= {"date", "number", "quantity"}:
        named = [(m.start, m.end) for m in note.mentions if m.type in types and m.end - m.start > 1]
        found += [whole_name(text, *span) for span in named] if chinese else named
    if expected.name == "year":
        years = [_YEAR.search(text, *span) for span in found if _TELLS_YEAR.search(text, *span)]
        found = [match.span() for match in years if match]
    last = -1
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if start >= last:
            last = end
            yield start, end


def whole_name(text: str, start: int, end: int) -> Span:
    """Return a transliterated Chinese name with the parts that its dots join to it."""
    while (match := _FURTHER_PART.match(text, end)) is not None:
        end = match.end()
    while (match := _EARLIER_PART.search(text[max(0, start - 8) : start])) is not None:
        start -= len(match["part"]) + 1
    return start, end


def _features(
    words: QuestionWords,
    unit: frozenset[str],
    within: Candidate,
    sentence: Sentence,
    span: Span,
    *,
    shares: tuple[float, float],
) -> SpanFeatures:
    """Return the features of a span; `shares` are those named `note` and `alone`."""
    start, end = span
    window = WINDOW["zh" if within.language == "zh" else "en"]
    before, after = within.text[sentence.start : start], within.text[end : sentence.end]
    around = {*tokens(before), *tokens(after), *tokens(within.title)}
    near = {*tokens(before[-window:]), *tokens(after[:window])}
    beside = set(tokens(within.text[max(sentence.start, start - 8) : min(sentence.end, end + 12)]))
    return SpanFeatures(
        sentence=words.share(around),
        near=words.share(near),
        note=shares[0],
        unit=float(bool(unit & beside)),
        alone=shares[1],
    )
