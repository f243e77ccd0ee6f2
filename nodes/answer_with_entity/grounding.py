"""Whether the sentence of a span says what the question asks: enough of its words, and the event of a date."""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.nodes.answer_with_entity.amounts import asked_amount
from theworld.nodes.answer_with_entity.read_question import QUESTION_WORD, ReadQuestion
from theworld.nodes.answer_with_entity.spans import CLAUSE_END, ScoredSpan
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import split_sentences, tokens

MIN_GROUNDED = {"en": 0.6, "zh": 0.25}
"""Share of the question's content tokens, known to the notes or not, that the answering sentence or title must have.

With the evidence of other questions, 146 of 147 spans of DRCD's questions stay below; with their own, 6 of 278.
Chinese tokens are overlapping bigrams, of which a paraphrase keeps few."""
EVENT_TOKENS = 4
"""Tokens after the question word that name the event."""
EVENT_REACH = 40
"""Characters after a Chinese date in which its event is told; before it, twice as many."""


def grounding(question: str, language: str, best: ScoredSpan, evidence: Sequence[Candidate]) -> float:
    """Return the share of the question's content tokens in the best span's sentence or title."""
    note = evidence[best.note]
    asked = ReadQuestion.of(question, language, evidence)
    amount = asked_amount(question, language)
    for sentence in split_sentences(note.text):
        if sentence.start <= best.start < sentence.end:
            said = amount.tokens if amount and amount.spans(sentence.text) else frozenset[str]()
            return asked.grounded(said.union(tokens(sentence.text), tokens(note.title)))
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
