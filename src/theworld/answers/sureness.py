"""How sure it is that the passages shown hold what is asked: a probability, from what retrieval saw.

Wording does not decide, and no word list is looked at: the signs say how far the best notes stand out, whether the
channels agree on them, and how much of the question they hold. `benchmarks/fit_sureness.py` fits the weights on
sets of documents and of encyclopedia passages together, and judges them on sets left out of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import pstdev

from theworld.answers.question_words import QuestionWords
from theworld.state import Candidate, Sureness

SIGNS = ("always", "nearness", "stands_out", "agreement", "covered", "relevance")
"""What the probability is a logistic function of; see `signs`."""
TOP = 5
WEIGHTS = {"en": (-3.0, 2.0, 1.0, 1.0, 1.0, 2.0), "zh": (-3.0, 2.0, 1.0, 1.0, 1.0, 2.0)}
"""Of SIGNS, by the language of the question (the models' cosines differ)."""
SURE, LIKELY = 0.8, 0.5
"""Probabilities from which an answer is called sure, and likely; below, unsure."""


def signs(ranked: Sequence[Candidate], words: QuestionWords) -> list[float]:
    """Return the signs of ranked candidates, each about in [0, 1], in the order of SIGNS.

    nearness: best score of the dense channel; stands_out: how far it lies above the tenth, in deviations of the list;
    agreement: share of the dense channel's best five among the sparse channel's; covered: share of the question's
    words in the best three notes together; relevance: that of the best note.
    """
    dense, sparse = _scores(ranked, "dense"), _scores(ranked, "sparse")
    near = sorted(dense.values(), reverse=True)
    deviation = pstdev(near) if len(near) > 1 else 0.0
    apart = (near[0] - near[min(9, len(near) - 1)]) / deviation if deviation else 0.0
    top = [set(sorted(scores, key=lambda note: (-scores[note], note))[:TOP]) for scores in (dense, sparse)]
    held = words.covered("\n".join(f"{note.title} {' '.join(note.section)} {note.text}" for note in ranked[:3]))
    return [
        1.0,
        near[0] if near else 0.0,
        min(apart / 4, 1.0),
        len(top[0] & top[1]) / TOP,
        held,
        ranked[0].final_score if ranked else 0.0,
    ]


def probability(ranked: Sequence[Candidate], words: QuestionWords, language: str) -> float:
    """Return the probability that the best notes hold what is asked, 0 without any."""
    if not ranked:
        return 0.0
    weights = WEIGHTS["zh" if language == "zh" else "en"]
    return 1 / (1 + math.exp(-math.fsum(w * s for w, s in zip(weights, signs(ranked, words), strict=True))))


def sureness_of(confidence: float) -> Sureness:
    """Return the word for a probability."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"


def _scores(ranked: Sequence[Candidate], channel: str) -> dict[str, float]:
    return {note.note_id: note.channels[channel].score for note in ranked if channel in note.channels}
