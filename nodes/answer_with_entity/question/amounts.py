"""Questions for one amount, and the sentences that state it: "how many people live in X?", "has 1,234 inhabitants"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theworld.nodes.answer_with_entity.question.answer_type import expected_answer_type
from theworld.nodes.answer_with_entity.question.topics import named_topics
from theworld.nodes.answer_with_entity.values.measure_table import REACH, gaps_of, measure_table, values_in
from theworld.nodes.answer_with_entity.values.quantities import find_quantities
from theworld.state import Candidate
from theworld.text import split_sentences, tokens

Span = tuple[int, int]
_ASKING = ("how", "多", "几", "幾", "隔")
"""How a pattern begins that asks by itself; others only name a measure: "the city with the largest population"."""


@dataclass(frozen=True, slots=True)
class AskedAmount:
    """What a question asks an amount of."""

    measures: tuple[str, ...]
    """Names of measures.yaml, any of which may be meant."""
    tokens: frozenset[str]
    """The question's index tokens that ask for it: a sentence that states it says as much as they do."""

    def spans(self, sentence: str) -> list[Span]:
        """Return where a sentence states the amount, by position."""
        found = {(quantity.start, quantity.end) for name in self.measures for quantity in values_in(sentence, name)}
        for name in self.measures:
            found |= measure_table().measures[name].values(sentence)
        return sorted(found)


def notes_stating(
    amount: AskedAmount | None, question: str, evidence: Sequence[Candidate], *, only_named: bool = False
) -> dict[int, list[Span]]:
    """Return the spans that state an amount, as offsets in the text, of every note that has some.

    Only of the notes that the question names, where one of them states it: the population of another town is no answer.
    With `only_named` of no other note where the question names one, whether it states it or not.
    """
    if amount is None:
        return {}
    found = {
        index: [
            (sentence.start + start, sentence.start + end)
            for sentence in split_sentences(note.text)
            for start, end in amount.spans(sentence.text)
        ]
        for index, note in enumerate(evidence)
    }
    named = {evidence[topic.note].document_id for topic in named_topics(question, evidence)}
    own = {index: spans for index, spans in found.items() if spans and evidence[index].document_id in named}
    return own if own or (named and only_named) else {index: spans for index, spans in found.items() if spans}


def asked_amount(question: str, language: str | None = None) -> AskedAmount | None:
    """Return what amount a question asks for, None when it asks for none that measures.yaml knows."""
    for pattern, names in measure_table().amounts:
        match = pattern.search(question)
        if match:
            begins = match.group().casefold().startswith(_ASKING)
            if not names or (not begins and expected_answer_type(question, language).name != "quantity"):
                return None
            others = {*tokens(question[: match.start()]), *tokens(question[match.end() :])}
            return AskedAmount(names, frozenset(tokens(question)) - others)
    return None


def is_other_measure(question: str, text: str, start: int, end: int) -> bool:
    """Tell whether text[start:end] is an amount of another measure than the one a question asks for.

    A length does not answer "what is the population?", nor does "218 km long" answer "how high?".
    """
    asked = asked_amount(question)
    if asked is None:
        return False
    sentence = next((s for s in split_sentences(text) if s.start <= start < s.end), None)
    if sentence is None:
        return False
    for quantity in find_quantities(sentence.text):
        if quantity.start + sentence.start < end and start < quantity.end + sentence.start:
            gaps = gaps_of(sentence.text, quantity)
            nearest = min(gaps.values(), default=REACH + 1)
            return bool(gaps) and not any(gaps.get(name) == nearest for name in asked.measures)
    return False
