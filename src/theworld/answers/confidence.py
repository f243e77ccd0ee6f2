"""An answer read off notes, and the probability that it is right.

The probability is one logistic function of few signs for every way of answering. `benchmarks/fit_answers.py` fits its
weights over data sets and judges each set with weights fitted on the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from theworld.state import AnswerScores

YES, NO = {"en": "yes", "zh": "是"}, {"en": "no", "zh": "否"}
SIGNS = ("always", "stated", "links", "share", "grounded", "chinese")
"""What the probability is a logistic function of; see `stated_signs` and `span_signs`."""
WEIGHTS = (-3.6, 6.62, -0.81, 0.5, 2.08, 2.15)
"""Of SIGNS."""
BY_FACTS = 0.85
"""Of an answer by facts of the ontology, which no data set has: they were confirmed one by one."""
CLEAR = 2.5
"""Log odds of a span's share from which more says nothing: one candidate alone has a share of 1."""


@dataclass(frozen=True, slots=True)
class Support:
    """A piece of a note that an answer rests on."""

    note: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """An answer read off notes."""

    text: str
    confidence: float
    support: tuple[Support, ...]
    reason: str
    signs: tuple[float, ...] = ()
    """What its confidence was computed from, in the order of SIGNS."""
    scores: AnswerScores | None = None


def stated_signs(links: int) -> tuple[float, ...]:
    """Return the signs of an answer that follows from stated facts over this many linked notes."""
    return 1.0, 1.0, float(links), 0.0, 0.0, 0.0


def stated_answer(text: str, support: Sequence[Support], reason: str, *, links: int) -> FoundAnswer:
    """Return an answer that follows from stated facts over this many linked notes."""
    signs = stated_signs(links)
    return FoundAnswer(text, probability_of(signs), tuple(support), reason, signs)


def span_signs(share: float, grounded: float, language: str) -> tuple[float, ...]:
    """Return the signs of a best span: its share of the softmax, and how much of the question is said beside it."""
    odds = math.log(max(share, 1e-9) / max(1 - share, 1e-9))
    return 1.0, 0.0, 0.0, min(odds, CLEAR), grounded, float(language == "zh")


def probability_of(signs: Sequence[float]) -> float:
    """Return the probability that an answer with these signs is right."""
    odds = math.fsum(weight * sign for weight, sign in zip(WEIGHTS, signs, strict=True))
    return 1 / (1 + math.exp(-odds))
