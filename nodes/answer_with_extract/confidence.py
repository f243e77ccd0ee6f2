"""How likely the chosen sentences hold the answer: a probability, from what they say of what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from theworld.nodes.answer_with_entity.clauses.relations import asked_relations, states_relation
from theworld.nodes.answer_with_entity.notes import sigmoid
from theworld.nodes.answer_with_entity.one_entity import without_names
from theworld.nodes.answer_with_entity.question.amounts import asked_amount
from theworld.nodes.answer_with_entity.question.answer_type import expected_answer_type
from theworld.nodes.answer_with_entity.question.read_question import QUESTION_WORD
from theworld.nodes.answer_with_entity.spans.grounding import has_names, named_tokens
from theworld.nodes.answer_with_entity.words import word_set
from theworld.nodes.answer_with_extract.options import Option
from theworld.nodes.answer_with_extract.signals import SENTENCE_SIGNALS, Floats, Signals
from theworld.state import Candidate
from theworld.text import entity_key, tokens

SIGNS: Mapping[str, str] = {
    "always": "1",
    "coverage": "share of the question's weighted tokens that the sentences and their titles cover",
    "asked": "greatest share of the tokens beside the question word in one sentence",
    "typed": "1 when a sentence has a span of the expected type that the question does not name",
    "untyped": "1 when the question does not say what type it expects",
    "says": "share of what is asked of the names, in the sentence of theirs that has the expected type; see says_asked",
    "share": "softmax share of the chosen pair among all pairs",
    "stated": "1 when a stated comparison or chain of relations chose the sentences",
    "relevance": "the first sentence's note's relevance",
    "best": "the best note's relevance",
    "rank": "1 / the first sentence's note's place in the evidence",
}
"""Each in [0, 1]."""


def read_signs(  # noqa: PLR0917
    question: str,
    language: str | None,
    evidence: Sequence[Candidate],
    options: Sequence[Option],
    chosen: Sequence[int],
    signals: Signals,
    scores: Floats,
    *,
    stated: bool,
) -> Floats:
    """Return the signs of a chosen set, in the order of SIGNS."""
    names = list(SENTENCE_SIGNALS)
    rows = signals.sentence[list(chosen)]
    asked, typed = rows[:, names.index("asked")], rows[:, names.index("typed")]
    expected = expected_answer_type(question, language)
    sentences = [options[number] for number in chosen]
    eligible = [one for one, has in zip(sentences, typed, strict=True) if has] if expected.types else sentences
    found = {
        "always": 1.0,
        "coverage": float(min(np.max(signals.covers[list(chosen)], axis=0) @ signals.wanted, 1.0)),
        "asked": float(asked.max()),
        "typed": float(typed.max()),
        "untyped": float(not expected.types),
        "says": says_asked(question, language, evidence, eligible),
        "share": _share(scores),
        "stated": float(stated),
        "relevance": float(rows[0, names.index("relevance")]),
        "best": max(note.final_score for note in evidence),
        "rank": float(rows[0, names.index("rank")]),
    }
    return np.array([found[name] for name in SIGNS])


def probability(signs: Floats, weights: Floats) -> float:
    """Return the probability that sentences with these signs hold the answer."""
    return sigmoid(float(signs @ weights))


def says_asked(
    question: str, language: str | None, evidence: Sequence[Candidate], sentences: Sequence[Option]
) -> float:
    """Return how much of what a question asks one sentence says: "founded" of "When was Acme founded?".

    1 where a sentence has a clause of a relation or the amount that the question asks for, or nothing is asked beside
    names.
    """
    relations = asked_relations(question, language)
    wanted = asked_tokens(question, language, evidence)
    if not sentences:
        return 0.0
    amount = asked_amount(question, language)
    for sentence in sentences:
        note = evidence[sentence.note]
        if amount and amount.spans(sentence.text):
            return 1.0
        if any(states_relation(one.relation, sentence.text, note.language) for one in relations):
            return 1.0
    if not wanted:
        return 1.0
    return max(len(wanted & set(tokens(sentence.text))) / len(wanted) for sentence in sentences)


def says_of_names(question: str, language: str | None, evidence: Sequence[Candidate], sentence: Option) -> float:
    """Return how much of what a question asks a sentence says, 0 where it has not the names that it is asked of."""
    named = has_names(named_tokens(question, evidence), sentence.text, evidence[sentence.note])
    return says_asked(question, language, evidence, [sentence]) if named else 0.0


def asked_tokens(question: str, language: str | None, evidence: Sequence[Candidate]) -> frozenset[str]:
    """Return a question's content tokens without its question word and the names that the evidence knows."""
    if language == "zh":
        left = QUESTION_WORD["zh"].sub(" ", question)
    else:  # "founded" of "who founded" is what is asked
        left = QUESTION_WORD["en"].sub(lambda match: f" {match['unit'] or ''} ", question)
    named = {entity_key(name) for note in evidence for name in (note.title, *(m.surface for m in note.mentions))}
    left = without_names(left, (key for key in named if len(key) > 1))
    return frozenset(token for token in tokens(left) if token not in word_set("function") | word_set("plain"))


def _share(scores: Floats) -> float:
    """Return the softmax share of the best of all pairs, 1 for a single sentence."""
    upper = scores[np.triu_indices(len(scores), 1)]
    return float(1 / np.exp(upper - upper.max()).sum()) if len(upper) else 1.0
