"""A question cut into the terms that mean something to the database."""

from __future__ import annotations

from datetime import datetime

from theworld.sql.questions.lexicon import Lexicon, Meaning, Term, segment
from theworld.sql.questions.quantities import find_numbers, find_rankings
from theworld.text.folding import fold_in_place
from theworld.text.time_ranges import find_time_ranges


def cut_question(question: str, now: datetime, lexicon: Lexicon) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """Return the terms of a question, without those that change nothing, and the stretches that mean nothing here."""
    folded = fold_in_place(question)
    periods = [
        Term(*found.place, folded[slice(*found.place)], (Meaning("period", "", found),))
        for found in find_time_ranges(question, now)
        if not found.approximate
    ]
    terms, unknown = segment(folded, [*lexicon.find(folded), *periods, *find_rankings(folded), *find_numbers(folded)])
    meant = (_as_written(term, question) for term in terms)
    return tuple(term for term in meant if any(m.kind != "empty" for m in term.meanings)), unknown


def _as_written(term: Term, question: str) -> Term:
    """Return a term that is an empty word too ("a", the grade A) as that, unless it is written in capitals."""
    written = question[term.start : term.end]
    if term.of("empty") and term.of("value", "entity") and written != written.upper():
        return term._replace(meanings=term.of("empty"))
    return term
