"""Shares and ratios: a group's part of the whole, the part that meets a condition, one measure over another."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.sql.plan import UnclearError, Whole
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import Head
from theworld.sql.questions.restrictions import Restrictions


def share_terms(terms: Sequence[Term]) -> list[Term]:
    """Return the words that ask for a share."""
    return [term for term in terms if term.of("share")]


def part_and_whole(
    heads: Sequence[Head], asked: Sequence[Term], terms: Sequence[Term], restrictions: Restrictions, *, grouped: bool
) -> tuple[Head, Head | None, Whole]:
    """Return what is measured, what it is divided by where that is another measure, and of which rows the whole is.

    Raises UnclearError where part or whole could be meant otherwise: with several conditions it is not said which of
    them hold for the whole too.
    """
    if not heads:
        heads = [Head(class_id, None, "count", "", per_subject=False) for class_id in _classes(terms)]
    if any(head.analysis or head.aggregate not in {"sum", "count"} for head in heads) or not heads:
        raise UnclearError("it is not clear what the share is of")
    first, *others = heads
    if len(others) > 1 or any(head.base != first.base for head in others):
        raise UnclearError("it is not clear what the share is of")
    if others:
        part, whole = (others[0], first) if _whole_first(asked[0], terms) else (first, others[0])
        if part.measure is None or whole.measure is None or part.measure.unit != whole.measure.unit:
            raise UnclearError("a share needs two measures in one unit")
        return part, whole, "measure"
    if grouped:
        return first, None, "rows"
    conditions = len(restrictions.keys) + len(restrictions.values) + len(restrictions.compared)
    if conditions != 1 or restrictions.related:
        raise UnclearError("it is not clear what the share is of")
    return first, None, "all"


def _classes(terms: Sequence[Term]) -> list[str]:
    """Return the class whose rows are counted where nothing else is measured."""
    return list(dict.fromkeys(m.name for t in terms if not t.of("attribute", "value") for m in t.of("class")))


def _whole_first(asked: Term, terms: Sequence[Term]) -> bool:
    """Return whether the whole is named first: `what percentage of the limit is used`, but not `as a percentage of`."""
    names = [m.name for m in asked.of("share")]
    measured = [t for t in terms if t.of("attribute")]
    return "whole_first" in names and all(asked.start < t.start for t in measured)
