"""How much of a question speaks of a database: what the router wants to know, without running anything."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import UnclearError
from theworld.sql.questions.cutting import cut_question
from theworld.sql.questions.lexicon import Lexicon
from theworld.sql.questions.understanding import plan_terms
from theworld.text.language import Language


class QuestionSignals(NamedTuple):
    """What of a question is known to the database."""

    fields: int
    """Classes and attributes named."""
    values: int
    """Values of attributes named."""
    entities: int
    """Instances named."""
    relations: int
    """Relations named."""
    measures: int
    """Words of counting, adding up, comparing or ranking."""
    periods: int
    """Periods named."""
    understood: bool
    """Whether a plan was made of it."""
    unknown: float
    """Share of the question's characters that mean nothing to the database."""


def signals_of(
    question: str, now: datetime, lexicon: Lexicon, mapping: DatabaseMapping, language: Language
) -> QuestionSignals:
    """Return the signals of one question."""
    terms, unknown = cut_question(question, now, lexicon)
    try:
        understood = bool(plan_terms(terms, unknown, mapping=mapping, language=language))
    except UnclearError:
        understood = False
    size = max(1, sum(not c.isspace() for c in question))
    return QuestionSignals(
        fields=sum(bool(t.of("class", "attribute")) for t in terms),
        values=sum(bool(t.of("value")) and not t.of("entity") for t in terms),
        entities=sum(bool(t.of("entity")) for t in terms),
        relations=sum(bool(t.of("relation", "inverse")) for t in terms),
        measures=sum(bool(t.of("aggregate", "superlative", "top", "each", "compared", "unit_of_time")) for t in terms),
        periods=sum(bool(t.of("period")) for t in terms),
        understood=understood,
        unknown=min(1.0, sum(len(piece.replace(" ", "")) for piece in unknown) / size),
    )
