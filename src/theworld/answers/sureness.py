"""How sure it is that the notes found hold what is asked: a probability, from what retrieval saw.

Wording does not decide: no word list is looked at. The signs are few, because more of them fitted the development sets
better and other sets worse. `benchmarks/fit_evidence.py` fits the weights on sets of documents and of encyclopedia
passages together, their gold documents there and hidden, and judges each set with weights fitted on the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from theworld.state import Candidate, Context, QueryState, Sureness

SIGNS = ("always", "words", "relevance")
"""What the probability is a logistic function of; see `signs`."""
WEIGHTS = {"en": (-5.3, 1.02, 6.93), "zh": (-4.22, 1.35, 1.4)}
"""Of SIGNS; "en" where question and best note are English: without token vectors the reranker's relevance says less."""
USUAL = {"words": 2.7, "relevance": 0.3}
"""About the medians of questions that documents answer."""
SURE, LIKELY = 0.8, 0.3
"""Probabilities from which an answer is called sure, and likely; below, unsure."""


ENOUGH_NOTES = 30
"""Notes from which BM25 is taken as it is: among fewer, every word is common and no score is high."""


def searched_notes(state: QueryState, context: Context) -> int:
    """Return how many notes meaning was searched among, as far as ENOUGH_NOTES; those, where that is not known."""
    dense = state.channel_results.get("dense")
    return min(len(dense.hits), ENOUGH_NOTES) if dense and dense.hits and not context.filters else ENOUGH_NOTES


def signs(ranked: Sequence[Candidate], language: str, notes: int = ENOUGH_NOTES) -> tuple[float, ...]:
    """Return the signs of ranked candidates for a question in a language, in the order of SIGNS.

    words: log of 1 + the best BM25, as it would be if a word of one note were as rare as among ENOUGH_NOTES;
    relevance: that of the best note on the evidence set's scale, which alone fills `covered`. A sign that is not known
    (the channel failed, the best note is in another language than the question, another reranker has another scale) has
    its usual value.
    """
    same = (language == "zh") == (ranked[0].language == "zh")
    said = [c.channels["sparse"].score for c in ranked if same and "sparse" in c.channels]
    rarer = _rarest(ENOUGH_NOTES) / _rarest(min(notes, ENOUGH_NOTES))
    words = math.log1p(rarer * max(*said, 0.0)) if said else USUAL["words"]
    return 1.0, words, ranked[0].final_score if ranked[0].covered is not None else USUAL["relevance"]


def _rarest(notes: int) -> float:
    """Return BM25's weight of a word that one of so many notes has."""
    return math.log1p((notes - 0.5) / 1.5)


def probability(ranked: Sequence[Candidate], language: str, notes: int = ENOUGH_NOTES) -> float:
    """Return the probability that the best of so many notes hold what is asked in a language, 0 without any."""
    if not ranked:
        return 0.0
    weights = WEIGHTS["zh" if "zh" in {language, ranked[0].language} else "en"]
    return 1 / (1 + math.exp(-math.fsum(w * s for w, s in zip(weights, signs(ranked, language, notes), strict=True))))


def sureness_of(confidence: float) -> Sureness:
    """Return the word for a probability."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"
