"""How sure it is that the notes found hold what is asked: a probability, from what retrieval saw.

Wording does not decide: no word list is looked at. The signs are few, because more of them judged sets left out of the
fit no better. `benchmarks/fit_evidence.py` fits the weights on sets of documents and of encyclopedia
passages together, their gold documents there and hidden, and judges each set with weights fitted on the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from theworld.questions import Question, read_question
from theworld.state import Candidate, ChannelResult, Context, QueryState, Sureness
from theworld.stores.protocols import FEWEST_NOTES, best_by_chance
from theworld.text.tokens import token_set

SIGNS = ("always", "words", "meaning", "coverage", "unknown names")
"""What the probability is a logistic function of; see `signs`."""
WEIGHTS = {
    "en": (-4.85, 0.72, 0.3, 3.79, -1.91),
    "zh": (-3.97, 0.58, 0.4, 4.13, -3.18),
    "across": (-2.96, 0.0, 0.96, 0.0, 0.0),
}
"""Of SIGNS, by the language of question and best note; "across" two languages only meaning tells."""
USUAL = {"words": 2.7, "meaning": 4.5, "coverage": 0.5}
"""About the medians of questions that documents answer."""
NOT_KNOWN = 0.3
"""Probability where nothing is known: between two languages, among so few notes that no distance says anything."""
SURE, LIKELY = 0.8, 0.4
"""Probabilities from which an answer is called sure, and likely: more probable than not; below, unsure.

Questions in other words than their documents' seem less probable than they are (see benchmarks/README.md)."""
USUAL_NOTES = 1000
"""About as many as in the stores that the weights were fitted on."""
SHOWN = 3
"""Notes that an answer mostly shows: where a year that is asked for is in none of them, they tell of other years."""

Found = Mapping[str, ChannelResult]


def searched_notes(found: Found, *, filtered: bool) -> int:
    """Return how many notes were searched, USUAL_NOTES where that is not known: filters pass a part, all at most."""
    dense = found.get("dense")
    searched = dense.searched if dense else 0
    return min(searched, USUAL_NOTES) if filtered and searched else searched or USUAL_NOTES


def language_of(question: Question, ranked: Sequence[Candidate]) -> Literal["en", "zh", "across"]:
    """Return whose weights count: of the language of question and best note, or of two languages.

    Where notes of the question's own language were found too, the best one of another language is less likely to help.
    """
    if not any((note.language == "zh") == (question.language == "zh") for note in ranked):
        return "across"
    return "zh" if "zh" in {question.language, ranked[0].language} else "en"


def signs(
    ranked: Sequence[Candidate], question: Question, found: Found, *, filtered: bool = False
) -> tuple[float, ...]:
    """Return the signs of ranked candidates for a question, in the order of SIGNS, from what the channels found.

    words: log of 1 + the best note's BM25; meaning: how many standard deviations its similarity lies above the mean
    of all notes; coverage: the share of the question that it covers; unknown names: 1 where what the question
    writes as a name, or an identifier of it, is in none of the candidates, or a year of it in none of the first. In a
    larger store a word of one note is rarer, and the best of all notes stands out further by chance, so that words and
    meaning are as they would be among USUAL_NOTES.
    What is not known (the channel failed, the best note is in another language than the question, there are too few
    notes, another reranker has no coverage) has its usual value; a note that is not in a channel's list can score no
    more there than the last one that is, and is taken to.
    """
    best, dense, notes = ranked[0], found.get("dense"), searched_notes(found, filtered=filtered)
    same = (question.language == "zh") == (best.language == "zh")
    # BM25's weight of a word that one note of so many has.
    rarer = math.log1p((USUAL_NOTES - 0.5) / 1.5) / math.log1p((notes - 0.5) / 1.5)
    words, meaning = USUAL["words"], USUAL["meaning"]
    if same and ("sparse" in found or any("sparse" in candidate.channels for candidate in ranked)):
        words = math.log1p(rarer * max(_score(best, found, "sparse"), 0.0))
    if dense and dense.deviation > 0 and notes >= FEWEST_NOTES:
        meaning = (_score(best, found, "dense") - dense.mean) / dense.deviation
        meaning += best_by_chance(USUAL_NOTES) - best_by_chance(notes)
    across = language_of(question, ranked) == "across"
    coverage = USUAL["coverage"] if best.covered is None or across else best.covered
    return 1.0, words, meaning, coverage, float(_asks_for_unknown(question, ranked))


def _asks_for_unknown(question: Question, ranked: Sequence[Candidate]) -> bool:
    """Return whether a name or identifier of a question is in none of the notes, or a year in none of the first."""
    # Among Chinese notes an English name has another form.
    names = question.name_tokens if question.language == "zh" or ranked[0].language != "zh" else frozenset[str]()
    missing = names - frozenset[str]().union(*(token_set(f"{n.title} {n.text}") for n in ranked)) if names else set()
    if not (missing or question.identifiers or question.years):
        return False
    held = ["\n".join((n.document_id, n.title, *n.section, n.lead, n.text)).casefold() for n in ranked]
    numbered = {name for name in missing if any(map(str.isdigit, name))}
    together = "".join("".join(held).split()) if numbered else ""
    return (
        missing > numbered
        or any(name not in together for name in numbered)  # DSM 6 is dsm6 too
        or not all(any(one.casefold() in text for text in held) for one in question.identifiers)
        or not all(any(form in text for text in held[:SHOWN] for form in forms) for forms in question.years)
    )


def _score(note: Candidate, found: Found, channel: Literal["sparse", "dense"]) -> float:
    """Return a note's score in a channel, or the most that it can be where the channel's list ends before it."""
    if hit := note.channels.get(channel):
        return hit.score
    hits = found[channel].hits if channel in found else ()
    return hits[-1][1] if hits else 0.0


def probability(ranked: Sequence[Candidate], question: Question, found: Found, *, filtered: bool = False) -> float:
    """Return the probability that the best notes hold what a question asks, 0 without any.

    `found` is what each channel found; `filtered` whether only some of the store's notes were searched.
    """
    if not ranked:
        return 0.0
    language = language_of(question, ranked)
    if language == "across" and searched_notes(found, filtered=filtered) < FEWEST_NOTES:
        return NOT_KNOWN
    weights = WEIGHTS[language]
    seen = signs(ranked, question, found, filtered=filtered)
    return 1 / (1 + math.exp(-math.fsum(w * s for w, s in zip(weights, seen, strict=True))))


def probability_in(state: QueryState, context: Context) -> float:
    """Return the probability that the candidates of a state hold what its query asks."""
    question = read_question(state.query, state.language)
    return probability(state.candidates, question, state.channel_results, filtered=bool(context.filters))


def sureness_of(confidence: float) -> Sureness:
    """Return the word for a probability."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"
