"""Choose, as a set, the sentences of the evidence that answer a question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import yaml

from theworld.nodes.answer_with_entity.clauses.relations import asked_relations, states_relation
from theworld.nodes.answer_with_entity.stated.chain import COMPARES, Followed
from theworld.nodes.answer_with_entity.words import word_set
from theworld.nodes.answer_with_extract.asked import describes
from theworld.nodes.answer_with_extract.confidence import SIGNS, probability, read_signs, says_of_names
from theworld.nodes.answer_with_extract.options import Option, read_options
from theworld.nodes.answer_with_extract.question_tokens import question_weights, said_tokens
from theworld.nodes.answer_with_extract.signals import PAIR_SIGNALS, SENTENCE_SIGNALS, Floats, Signals, read_signals
from theworld.state import Candidate

LEFT_OPEN = 0.3
"""Share of the question left uncovered by two sentences from which a third may be needed."""
MOSTLY_OPEN = 0.8
"""The same for a question that describes nothing: two sentences say next to nothing of it."""
COVERS, TYPED = list(SENTENCE_SIGNALS).index("covers"), list(SENTENCE_SIGNALS).index("typed")
ONE_NOTE = 0.6
"""Share of a question that one sentence and its title must say for the question to be of one note; that sentence alone
tells then how likely the extract holds the answer."""
GAIN_WEIGHT = 6.0
"""Worth of what a third sentence adds, on the scale of the pairs' scores."""


@dataclass(frozen=True, slots=True)
class ChosenSentence:
    """A sentence of the answer and where it stands."""

    note: int
    """Index of the note in the evidence."""
    text: str
    start: int
    """Character offset in the note's text."""
    end: int


@dataclass(frozen=True, slots=True)
class Extract:
    """The chosen sentences and how much of the question they cover."""

    sentences: tuple[ChosenSentence, ...]
    coverage: float
    """Share of the question's idf-weighted tokens that sentences and their titles cover, in [0, 1]."""
    confidence: float = 0.0
    """Probability that the sentences hold the answer."""
    signs: tuple[float, ...] = ()
    """What the confidence follows from, in the order of SIGNS."""


def choose_sentences(
    question: str,
    evidence: Sequence[Candidate],
    limit: int,
    *,
    language: str | None = None,
    background: Sequence[Candidate] = (),
    given: Sequence[tuple[int, int]] = (),
    followed: Followed | None = None,
    weights: Weights | None = None,
) -> Extract:
    """Return at most two sentences that together answer the question, a third where the chain of notes needs it.

    `background` are further notes from which token weights are taken. `given` are (note, offset) places known to
    hold the answer: their sentences are taken first. `followed` says to which note the given ones lead: a
    sentence of it comes with them. `weights` are those of the language unless others are given.
    Same input, same sentences.
    """
    wanted = question_weights(question, background or evidence)
    options = read_options(evidence, given)
    if not wanted or not options:
        return Extract((), 0.0)
    signals = read_signals(question, language, evidence, options, wanted)
    one_note = _asks_of_one_note(question, language, signals)
    weights = weights or weights_for(language, one_note=one_note)
    kept = _kept(language, evidence, options, signals, given)
    options, signals = [options[number] for number in kept], signals.only(kept)
    known = [number for number, option in enumerate(options) if _is_at(option, given)]
    scores = pair_scores(signals, weights)
    there = _sentences_there(followed, evidence, options, known)
    chosen = choose_set(
        signals, scores, options, limit, known=known, there=there, described=describes(question, language)
    )
    stated = bool(known) and followed is None
    signs = read_signs(question, language, evidence, options, chosen, signals, scores, stated=stated)
    told = 1.0
    if one_note and not known:
        told = max(says_of_names(question, language, evidence, options[number]) for number in chosen)
    return Extract(
        tuple(ChosenSentence(*options[number][:4]) for number in chosen),
        _said(question, language, wanted, signals, chosen) if known else float(signs[list(SIGNS).index("coverage")]),
        probability(signs, weights.confidence) * (1 + told) / 2,
        tuple(signs.tolist()),
    )


def _asks_of_one_note(question: str, language: str | None, signals: Signals) -> bool:
    """Tell whether an English question names all it is about, and one sentence with its title says most of it."""
    plain = language != "zh" and not describes(question, language) and not COMPARES.search(question)
    return plain and float(np.max(signals.covers @ signals.wanted)) >= ONE_NOTE


def _said(
    question: str, language: str | None, wanted: Mapping[str, float], signals: Signals, chosen: Sequence[int]
) -> float:
    """Return the share of the question that sentences of a stated chain cover: they say what its relations ask."""
    asked = {
        token for one in asked_relations(question, language) for token in said_tokens(question[one.start : one.end])
    }
    if language != "zh":  # English patterns span other words as well
        asked &= word_set("relation")
    covered = np.max(signals.covers[list(chosen)], axis=0)
    shares = zip(wanted.items(), covered, strict=True)
    return min(math.fsum(weight for (token, weight), has in shares if has or token in asked), 1.0)


@dataclass(frozen=True)
class Weights:
    """Weights of the signals, in their order."""

    sentence: Floats
    pair: Floats
    confidence: Floats
    """Of the signs of a chosen set."""


@cache
def weights_for(language: str | None, *, one_note: bool = False) -> Weights:
    """Return the weights of weights.yaml for a language; English ones for all but Chinese.

    The English sets ask over several notes. The sentences for a question of `one_note` are chosen by the weights of the
    Chinese set, which asks so; the signals are those of any language.

    They were fitted by conditional logistic regression over all pairs of sentences (L2 = 0.5), a pair being right when
    it holds the gold answer; those of the confidence by logistic regression over the sets chosen out of fold:
    benchmarks/extract_weights.py.
    """
    file = resources.files("theworld.nodes.answer_with_extract").joinpath("weights.yaml")
    table: Mapping[str, Mapping[str, Mapping[str, float]]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    own = table["zh" if language == "zh" else "en"]
    choosing = table["zh"] if one_note else own
    return Weights(
        np.array([choosing["sentence"][name] for name in SENTENCE_SIGNALS]),
        np.array([choosing["pair"][name] for name in PAIR_SIGNALS]),
        np.array([own["confidence"][name] for name in SIGNS]),
    )


def pair_scores(signals: Signals, weights: Weights) -> Floats:
    """Return the score of every two sentences, symmetric, shape (n, n); -inf for a sentence with itself."""
    single = signals.sentence @ weights.sentence
    scores: Floats = single[:, None] + single[None, :] + np.tensordot(weights.pair, signals.pair, axes=1)
    np.fill_diagonal(scores, -np.inf)
    return scores


def _sentences_there(
    followed: Followed | None, evidence: Sequence[Candidate], options: Sequence[Option], known: Sequence[int]
) -> list[int]:
    """Return the sentences of the note that links lead to: those that state what is asked at their end, else all."""
    if followed is None:
        return []
    language = "zh" if evidence[followed.note].language == "zh" else "en"
    there = [number for number, one in enumerate(options) if one.note == followed.note and number not in known]
    stating = [
        number
        for number in there
        if any(states_relation(relation, options[number].text, language) for relation in followed.asked)
    ]
    return stating or there


def choose_set(
    signals: Signals,
    scores: Floats,
    options: Sequence[Option],
    limit: int,
    *,
    known: Sequence[int] = (),
    there: Sequence[int] = (),
    described: bool = True,
) -> list[int]:
    """Return indexes of the set, the sentence that covers most of the question first; `known` ones are taken first.

    Of those `there`, the one that goes best with the last known one is taken too.
    """
    notes = {options[number].note for number in known[:3]}
    chosen = list(known[:3] if len(notes) == 3 else known[:2])[:limit]
    if not chosen:
        chosen = _best(signals, scores, limit)
    elif there and len(chosen) < limit:
        chosen.append(max(there, key=lambda number: (round(float(scores[chosen[-1], number]), 9), -number)))
    elif len(chosen) == 1 and limit > 1 and len(options) > 1:
        chosen.append(int(np.argmax(np.round(scores[chosen[0]], 9))))
    if len(chosen) == 2 < limit and (there or not known):
        left_open = LEFT_OPEN if described else MOSTLY_OPEN
        third = _third(signals, scores, options, chosen, left_open, onward=bool(there))
        chosen += [] if third is None else [third]
    coverage = signals.covers @ signals.wanted
    return sorted(chosen, key=lambda number: (-round(float(coverage[number]), 9), number))


def _best(signals: Signals, scores: Floats, limit: int) -> list[int]:
    if limit < 2 or len(scores) < 2:
        return [int(np.argmax(np.round(signals.covers @ signals.wanted, 9)))]
    first, second = np.unravel_index(int(np.argmax(np.round(scores, 9))), scores.shape)
    return [int(first), int(second)]


def _third(
    signals: Signals,
    scores: Floats,
    options: Sequence[Option],
    chosen: Sequence[int],
    left_open: float,
    *,
    onward: bool,
) -> int | None:
    """Return the sentence of another note that goes best with the chosen ones, None where it is not needed.

    It is where they stand in one note or leave much of the question open, and neither leads to the other: their chain
    misses a link. A chain that was followed goes `onward` only to a note that its end leads to.
    """
    covered = np.max(signals.covers[list(chosen)], axis=0)
    taken = {options[number].note for number in chosen}
    open_share = 1.0 - float(covered @ signals.wanted)
    if ((len(taken) > 1 or left_open > LEFT_OPEN) and open_share < left_open) or (
        signals.linked[chosen[0], chosen[1]] and not onward
    ):
        return None
    gain = np.clip(signals.covers - covered, 0.0, 1.0) @ signals.wanted
    worth = np.max(scores[list(chosen)], axis=0) + GAIN_WEIGHT * gain
    worth[[option.note in taken for option in options]] = -np.inf
    if onward:
        worth[(signals.linked[chosen[-1]] == 0) | (gain <= 0)] = -np.inf
    best = int(np.argmax(np.round(worth, 9)))
    return best if np.isfinite(worth[best]) else None


def _kept(
    language: str | None,
    evidence: Sequence[Candidate],
    options: Sequence[Option],
    signals: Signals,
    given: Sequence[tuple[int, int]],
) -> list[int]:
    """Return the sentences to choose from: one in another language than the question's only where it is given, or none
    of the question's own has as much of it and a span of the expected type as well."""
    holds = np.stack([signals.sentence[:, COVERS], signals.sentence[:, TYPED]], axis=1).round(9)
    own = np.array([evidence[option.note].language == language for option in options])
    return [
        number
        for number, option in enumerate(options)
        if own[number] or _is_at(option, given) or not np.any(np.all(holds[own] >= holds[number], axis=1))
    ]


def _is_at(option: Option, places: Sequence[tuple[int, int]]) -> bool:
    return any(option.note == note and option.start <= offset < option.end for note, offset in places)
