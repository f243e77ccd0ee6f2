"""Typed spans as answers: which mention of the expected type stands where the question's words stand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass

from theworld.nodes.answer_with_entity.answer_type import AnswerType
from theworld.nodes.answer_with_entity.one_entity import OneEntity
from theworld.nodes.answer_with_entity.typed_spans import typed_spans
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import Sentence, entity_key, fold, split_sentences, tokens

CLAUSE_END = re.compile(r"[，,；;：:、()（）]|\s[-–—]\s")
WINDOW = 14
"""Characters beside a span that are compared with the words beside the question word."""

EVENT_TOKENS = 4
"""Tokens after the question word that name the event."""
EVENT_REACH = 40
"""Characters after a Chinese date in which its event is told; before it, twice as many."""


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
MIN_SENTENCE = 0.75
"""English only: share of the question one sentence must cover; questions over several notes are not for spans."""
MIN_GROUNDED = {"en": 0.6, "zh": 0.25}
"""Share of the question's content tokens, known to the notes or not, that the answering sentence or title must have.

With the evidence of other questions, 146 of 147 spans of DRCD's questions stay below; with their own, 6 of 278.
Chinese tokens are overlapping bigrams, of which a paraphrase keeps few."""


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
    best: dict[str, ScoredSpan] = {}
    for note, start, end, features in span_features(question, language, expected, evidence, one):
        text = evidence[note].text[start:end]
        score = math.fsum(w * f for w, f in zip(weights, astuple(features), strict=True))
        key = one.key(entity_key(text))
        if not vetoed.isdisjoint(one.keys(key)):
            continue
        if key not in best or score > best[key].score:
            best[key] = ScoredSpan(note, start, end, text, features, score)
    return sorted(best.values(), key=lambda span: (-round(span.score, 9), span.note, span.start))


def share_and_margin(ranking: Sequence[ScoredSpan]) -> tuple[float, float]:
    """Return the best span's softmax share of all spans and its relative margin to the runner-up's share."""
    if not ranking:
        return 0.0, 0.0
    weights = [math.exp(span.score - ranking[0].score) for span in ranking]
    return 1 / math.fsum(weights), 1 - (weights[1] if len(weights) > 1 else 0.0)


def grounding(question: str, language: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> float:
    """Return the share of the question's content tokens in the best span's sentence or title."""
    note = evidence[best.note]
    asked = _Question.read(question, language, evidence)
    for sentence in split_sentences(note.text):
        if sentence.start <= best.start < sentence.end:
            return asked.grounded(set(tokens(sentence.text)) | set(tokens(note.title)))
    return 0.0


def says_event(question: str, language: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> bool:
    """Tell whether a Chinese date stands with what the question asks the date of.

    In a biography every clause has its year: the words beside "which year" must stand in the clauses around the
    date, within its sentence. True for other languages and types.
    """
    if language != "zh" or not any(mark in best.text for mark in "年月日世代"):
        return True
    match = QUESTION_WORD["zh"].search(question)
    end = match.start("unit") if match else 0
    asked = tokens(question[end:].lstrip("年月日個个世紀纪"))[:EVENT_TOKENS]
    event = [token for token in asked if token not in word_set("function")]
    if not event:
        return True
    text = evidence[best.note].text
    before = "".join(CLAUSE_END.split(text[max(0, best.start - 2 * EVENT_REACH) : best.start])[-2:])
    after = "".join(CLAUSE_END.split(text[best.end : best.end + EVENT_REACH])[:4])
    near = set(tokens(re.split(r"[。！？；]", before)[-1])) | set(tokens(re.split(r"[。！？；]", after)[0]))
    return not near.isdisjoint(event)


def span_features(
    question: str,
    language: str,
    expected: AnswerType,
    evidence: Sequence[Candidate],
    one: OneEntity = OneEntity(),  # noqa: B008 - frozen
) -> Iterator[tuple[int, int, int, SpanFeatures]]:
    """Yield (note, start, end, features) of every span of the expected type that the question does not name."""
    asked = _Question.read(question, language, evidence)
    spans = {index: list(typed_spans(note, expected)) for index, note in enumerate(evidence)}
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
                if not key or asked.names(key) or asked_by_name(key):
                    continue
                yield (
                    index,
                    start,
                    end,
                    _features(
                        asked, note, index, sentence, (start, end), len(inside), place == 0, len(counts[one.key(key)])
                    ),
                )


@dataclass(frozen=True, slots=True)
class _Question:
    folded: str
    tokens: tuple[str, ...]
    weights: Mapping[str, float]
    total: float
    left: frozenset[str]
    right: frozenset[str]
    unit: frozenset[str]

    @classmethod
    def read(cls, question: str, language: str, evidence: Sequence[Candidate]) -> _Question:
        texts = [set(tokens(f"{note.title} {note.text}")) for note in evidence]
        count = len(texts)
        weights = {}
        for token in dict.fromkeys(tokens(question)):
            found = sum(token in text for text in texts)
            if found:
                weights[token] = math.log(1 + (count - found + 0.5) / (found + 0.5)) + 0.1
        match = QUESTION_WORD[language if language == "zh" else "en"].search(question)
        before, after = (question[: match.start()], question[match.end() :]) if match else ("", question)
        return cls(
            fold(question),
            tuple(token for token in dict.fromkeys(tokens(question)) if token not in word_set("function")),
            weights,
            sum(weights.values()) or 1.0,
            frozenset(tokens(before)[-5:]),
            frozenset(tokens(after)[:6]),
            frozenset(tokens(match.group("unit") or "")) if match else frozenset(),
        )

    def grounded(self, found: set[str]) -> float:
        """Return the share of all the question's tokens found, those that no note has included."""
        return sum(token in found for token in self.tokens) / max(1, len(self.tokens))

    def names(self, key: str) -> bool:
        """Tell whether the question names a key itself."""
        return key in self.folded

    def share(self, found: set[str]) -> float:
        """Return the weighted share of the question's tokens found."""
        return sum(weight for token, weight in self.weights.items() if token in found) / self.total


QUESTION_WORD = {
    "en": re.compile(
        r"\b(?:who|whom|whose|when|where|how (?:many|much|long|far|tall|old)|in (?:what|which)|what|which)\b"
        r"(?:\s+(?P<unit>[a-z]+))?",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:誰|谁|何人|何時|何时|什[麼么]時候|什么时候|何[處处地]|哪[裡里]|哪邊|多少|多[大高長长遠远深寬宽久]|為何|(?:哪|幾|几|何|什麼|什么)(?:一|個|个|位|種|种|座|家|所|部|本|條|条|間|间|名)?)"
        r"(?P<unit>[\u4e00-\u9fff]{0,2})"
    ),
}


def _features(  # noqa: PLR0917
    asked: _Question,
    note: Candidate,
    position: int,
    sentence: Sentence,
    span: tuple[int, int],
    rivals: int,
    lead: bool,
    notes: int,
) -> SpanFeatures:
    start, end = span
    text = note.text
    title = set(tokens(note.title))
    before, after = text[sentence.start : start], text[end : sentence.end]
    around = set(tokens(before)) | set(tokens(after))
    clause_before = CLAUSE_END.split(before)[-1]
    clause_after = CLAUSE_END.split(after, maxsplit=1)[0]
    clause = set(tokens(clause_before)) | set(tokens(clause_after))
    wide = 2 if note.language != "zh" else 1
    left, right = set(tokens(before[-WINDOW * wide :])), set(tokens(after[: WINDOW * wide]))
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
