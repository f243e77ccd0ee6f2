"""How rows are put together, by class, attribute or unit of time, and in which periods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.plan import Group, Plan, UnclearError
from theworld.sql.questions.lexicon import Term, terms_of
from theworld.sql.questions.measures import Head
from theworld.sql.questions.narrowing import Restrictions
from theworld.text.calendar_units import CalendarUnit, shifted
from theworld.text.time_ranges import TimeRange

DAILY_UP_TO = 92
"""Longest period in days whose volatility is measured over days; longer ones are measured over months."""


def find_grouping(
    terms: Sequence[Term], mapping: DatabaseMapping
) -> tuple[Term | None, CalendarUnit | None, set[Term]]:
    """Return the class or attribute and the unit of time that rows are put together by, and the terms used."""
    used: set[Term] = set()
    grouping: Term | None = None
    unit: CalendarUnit | None = None
    for i, term in enumerate(terms):
        each = {t for t in terms[max(0, i - 1) : i] if t.of("each")}
        attributes = [mapping.attribute(m.name) for m in term.of("attribute")]
        dated = bool(attributes) and all(attribute.type == "date" for attribute in attributes)
        if term.of("unit_of_time") and not term.of("class", "attribute", "value", "entity"):
            if unit is not None:
                raise UnclearError("more than one unit of time is named")
            unit = cast("CalendarUnit", term.of("unit_of_time")[0].name)
            used |= {term} | each
        elif each and (dated or any(map(is_measure, attributes))):
            used |= each
        elif each and term.of("class", "attribute", "role"):
            if grouping is not None:
                raise UnclearError("rows are put together by more than one thing")
            grouping = term
            used |= {term} | each
    if unit == "week":
        raise UnclearError("weeks are not put together")
    return grouping, unit, used


def class_of(term: Term) -> str | None:
    """Return the class that a term names, None where it names none; UnclearError for several."""
    meanings = term.of("class")
    if len(meanings) > 1:
        raise UnclearError(f"{term.text!r} means more than one thing")
    return meanings[0].name if meanings else None


def by_attribute(term: Term, base: str, found: Restrictions) -> Group:
    """Return the group by the attribute that a term names; UnclearError where rows cannot be put together by it."""
    named = [(m.owner, found.mapping.attribute(m.name)) for m in term.of("attribute")]
    own = [one for one in named if one[0] == base] or [one for one in named if one[0] in found.via] or named
    if len(own) != 1 or own[0][1].type not in {"enum", "string", "boolean"}:
        raise UnclearError(f"rows cannot be put together by {term.text!r}")
    path = found.mapping.path(base, own[0][0], via=found.via, single=True)
    if path is None:
        raise UnclearError(f"{term.text!r} does not belong to these rows")
    return Group(path, *own[0])


def by_role(term: Term, base: str, found: Restrictions) -> Group:
    """Return the group by what the rows of a class are to others of it (their manager); UnclearError without a way."""
    names = [m.name for m in term.of("role") if m.value == "target"]
    if len(names) != 1:
        raise UnclearError(f"{term.text!r} means more than one thing")
    relation = found.mapping.lookup.relations[names[0]]
    path = found.mapping.path(base, relation.source, via=found.via, single=True)
    if path is None:
        raise UnclearError(f"{term.text!r} does not belong to these rows")
    join = next(j for j in found.mapping.steps(relation.source) if j.relation == relation.id and j.forward)
    return Group((*path, join), relation.target)


def by_class(class_id: str, base: str, found: Restrictions) -> tuple[Group, tuple[str, ...]]:
    """Return the group by the instances of a class, and how relations were taken; UnclearError without one way."""
    path = found.mapping.path(base, class_id, via=found.via, single=True)
    if path is None:
        raise UnclearError(f"{class_id} and {base} are not joined one to one")
    return Group(path, class_id), tuple(found.mapping.senses(path, found.via, found.language))


def timed(plan: Plan, head: Head, terms: Sequence[Term], unit: CalendarUnit | None, found: Restrictions) -> Plan:
    """Return the plan with its periods and the column they are compared with."""
    mapping = found.mapping
    periods: list[TimeRange] = [t.of("period")[0].value for t in terms_of(terms, "period")]
    if not periods and unit is None and not head.analysis:
        return plan
    happens = mapping.happens(plan.base)
    path, owner = ((), plan.base) if happens is None or _date_named(terms, plan.base, mapping) else happens
    column = _date_named(terms, owner, mapping) or mapping.classes[owner].time
    if path and (unit is not None or head.analysis):
        raise UnclearError("what happens through another thing is not grouped by time")
    if column is None:
        raise UnclearError(f"{mapping.name(plan.base, found.language)} has no column of time")
    plan = replace(plan, time_column=column, time_path=path)
    if head.analysis in {"change", "change_over_year"}:
        return _changed(plan, head, periods, terms)
    verbs = [{m.kind for m in t.meanings} & {"traded", "joined", "dated"} for t in terms]
    pairs = zip(verbs, verbs[1:], verbs[2:], strict=False)
    if any(first and last and first != last and "joined" in between for first, between, last in pairs):
        raise UnclearError("it is not clear which of the two dates the period is of")
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    period = periods[0] if periods else None
    if head.analysis == "volatility":
        daily = period is not None and period.start and period.end and (period.end - period.start).days <= DAILY_UP_TO
        unit = unit or ("day" if daily else "month")
    return replace(plan, period=period, time_unit=unit or ("month" if head.analysis == "trend" else None))


def _changed(plan: Plan, head: Head, periods: list[TimeRange], terms: Sequence[Term]) -> Plan:
    if len(periods) == 1 and periods[0].ends:  # a change "between Q2 and Q3" is from the one to the other
        periods = list(periods[0].ends)
    texts = {t.of("period")[0].value.place: t.text for t in terms if t.of("period")}
    dated = [re.search(r"(?:19|20)\d\d|[今去前]年", texts.get(p.place, "")) is not None for p in periods]
    if len(periods) == 2 and sum(dated) == 1:  # the one without a year is in that of the other: Q1 and Q4 of 1997
        own, other = periods[dated.index(True)], periods[dated.index(False)]
        if own.start is not None and other.start is not None and other.end is not None:
            years = own.start.year - other.start.year
            start, end = (shifted(moment, "year", years) for moment in (other.start, other.end))
            periods = [own, replace(other, start=start, end=end)]
    if not 1 <= len(periods) <= 2:
        raise UnclearError("a change needs the period it happened in")
    *before, later = sorted(periods, key=lambda p: (p.start is not None, p.start))
    yearly = head.analysis == "change_over_year"
    earlier = before[0] if before else later.a_year_before() if yearly else later.before()
    if earlier is None or earlier.start is None or later.start is None or earlier.end is None:
        raise UnclearError("a change needs periods with a beginning and an end")
    return replace(plan, period=later, earlier=earlier)


def _date_named(terms: Sequence[Term], base: str, mapping: DatabaseMapping) -> str | None:
    named = (mapping.attribute(m.name) for t in terms for m in t.of("attribute", "dated") if m.owner == base)
    return next((attribute.column for attribute in named if attribute.type == "date"), None)
