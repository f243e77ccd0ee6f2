"""Shares: what a part is measured by, and what it is a part of."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import happens
from theworld.sql.plan import UnclearError, Whole
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import Head, happening, rows_named
from theworld.sql.questions.restrictions import Restrictions


def share_terms(terms: Sequence[Term]) -> list[Term]:
    """Return the words that ask for a share."""
    return [term for term in terms if term.of("share")]


def rows_that_happen(terms: Sequence[Term], needs: Sequence[frozenset[str]], mapping: DatabaseMapping) -> list[Head]:
    """Return what a share of rows counts where no measure is named: the rows, or what happens to them."""
    found = [Head(class_id, None, "count", "", per_subject=False) for class_id in rows_named(terms)]
    if len(found) == 1 and happens(mapping, found[0].base) is None:
        return [happening(mapping, found[0].base, terms, needs) or found[0]]
    return found


def part_and_whole(
    heads: Sequence[Head], asked: Sequence[Term], terms: Sequence[Term], restrictions: Restrictions, *, grouped: bool
) -> tuple[Head, Head | None, Whole]:
    """Return what is measured, what it is divided by where that is another measure, and of which rows the whole is.

    Raises UnclearError where part or whole could be meant otherwise: with several conditions it is not said which of
    them hold for the whole too.
    """
    if any(head.analysis or head.aggregate not in {"sum", "count"} for head in heads) or not heads:
        raise UnclearError("it is not clear what the share is of")
    first, *others = dict.fromkeys(heads)  # of one measure named twice it is the rows that differ
    if len(others) > 1 or any(head.base != first.base for head in others):
        raise UnclearError("it is not clear what the share is of")
    if others:
        part, whole = (others[0], first) if _whole_first(asked[0], terms) else (first, others[0])
        if part.measure is None or whole.measure is None or part.measure.unit != whole.measure.unit:
            raise UnclearError("a share needs two measures in one unit")
        return part, whole, "measure"
    if grouped:
        return first, None, "rows"
    values = {frozenset(m.name for m in t.of("value")) for t in restrictions.values}  # 学生(student) is one
    conditions = len(restrictions.keys) + len(values) + len(restrictions.compared) + len(restrictions.without)
    if conditions != 1 or restrictions.related:
        raise UnclearError("it is not clear what the share is of")
    return first, None, "all"


def _whole_first(asked: Term, terms: Sequence[Term]) -> bool:
    """Return whether the whole is named first: `what percentage of the limit is used`, but not `as a percentage of`."""
    names = [m.name for m in asked.of("share")]
    measured = [t for t in terms if t.of("attribute")]
    return "whole_first" in names and all(asked.start < t.start for t in measured)
