"""How rows are put together, by class, attribute or unit of time, and in which periods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping, Path, is_measure
from theworld.sql.plan import Group, Plan, UnclearError
from theworld.sql.questions.lexicon import CUES, Term, class_of, period_verbs, terms_of
from theworld.sql.questions.measures import Head
from theworld.sql.questions.narrowing import Restrictions
from theworld.text.calendar import CalendarUnit, shifted
from theworld.text.time_ranges import TimeRange

DAILY_UP_TO = timedelta(days=92)
"""Longest period whose volatility is measured over days; longer ones are measured over months."""


def find_grouping(
    terms: Sequence[Term], mapping: DatabaseMapping
) -> tuple[Term | None, CalendarUnit | None, set[Term]]:
    """Return the class or attribute and the unit of time that rows are put together by, and the terms used."""
    used: set[Term] = set()
    by: list[Term] = []
    units: list[str] = []
    ranked = bool(terms_of(terms, "superlative", "top"))
    for i, term in enumerate(terms):
        each = terms_of(terms[max(0, i - 1) : i], "each")
        attributes = [mapping.attribute(m.name) for m in term.of("attribute")]
        if term.of("unit_of_time") and not term.of("class", "attribute", "value", "entity"):
            units.append(term.of("unit_of_time")[0].name)
            used |= {term, *each}
        elif each and term.of("class", "attribute", "role"):
            added = any(adds_up(one) or (ranked and is_measure(one)) for one in attributes)
            together = [] if added or (attributes and all(one.type == "date" for one in attributes)) else [term]
            by += together
            used |= {*each, *together}
    if len(units) > 1 or len(by) > 1 or units == ["week"]:
        raise UnclearError("rows are put together by weeks, or by more than one thing")
    return by[0] if by else None, cast("CalendarUnit", units[0]) if units else None, used


def adds_up(attribute: Attribute) -> bool:
    """Return whether an attribute measures rows; by whole numbers that are averaged (a grade) they are put together."""
    return is_measure(attribute) and (attribute.type, attribute.aggregation) != ("integer", "average")


def group_of(term: Term, base: str, found: Restrictions) -> Group:
    """Return the group that a term names: instances of a class, what rows are to others (their manager), or values."""
    if class_id := class_of(term):
        return by_class(class_id, base, found)
    roles = [found.mapping.lookup.relations[m.name] for m in term.of("role") if m.value == "target"]
    roles.sort(key=lambda relation: relation.source != base)  # the owner of the deals, not of their companies
    if roles:
        join, _ = found.mapping.joins[roles[0].id]
        return Group((*by_class(roles[0].source, base, found).path, join), roles[0].target)
    named = [(m.owner, found.mapping.attribute(m.name)) for m in term.of("attribute")]
    own = [one for one in named if one[0] == base] or [one for one in named if one[0] in found.via] or named
    if len(own) != 1 or own[0][1].type == "date" or adds_up(own[0][1]):
        raise UnclearError(f"rows cannot be put together by {term.text!r}")
    return Group(by_class(own[0][0], base, found).path, *own[0])


def by_class(class_id: str, base: str, found: Restrictions) -> Group:
    """Return the group by the instances of a class; UnclearError where rows do not belong to one each."""
    paths = found.mapping.paths(base, class_id, via=found.via, single=True)
    if not paths:
        raise UnclearError(f"{class_id} and {base} are not joined one to one")
    if len(over := sorted({path[0].target for path in paths if path[1:]})) > 1:
        raise UnclearError(f"{base} belongs to {class_id} by {' or by '.join(over)}: name one of them")
    return Group(paths[0], class_id)


def timed(plan: Plan, head: Head, terms: Sequence[Term], unit: CalendarUnit | None, found: Restrictions) -> Plan:
    """Return the plan with its periods and the column they are compared with."""
    mapping = found.mapping
    periods: list[TimeRange] = [t.of("period")[0].value for t in terms_of(terms, "period")]
    if not (periods or unit or head.analysis):
        return plan
    owner, path = _of_when(plan, terms, found)
    if not all(step.single for step in path) and (unit or head.analysis):
        raise UnclearError("it is not clear what of the rows is told by time")
    column = _date_named(terms, owner, mapping) or usual_date(owner, found)
    if column is None:
        raise UnclearError(f"{mapping.name(plan.base, 'en')} has no column of time of its own")
    plan = replace(plan, time_column=column, time_path=path)
    if head.analysis in {"change", "change_over_year"}:
        return _changed(plan, head, periods, terms)
    verbs = period_verbs(terms)
    if len(verbs) > 1 and terms_of(verbs, "dated"):
        raise UnclearError("it is not clear which of the two dates the period is of")
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    period = next(iter(periods), None)
    length = period.end - period.start if period and period.start and period.end else timedelta.max
    usual: dict[str, CalendarUnit] = {"trend": "month", "volatility": "day" if length <= DAILY_UP_TO else "month"}
    return replace(plan, period=period, time_unit=unit or usual.get(head.analysis))


def _of_when(plan: Plan, terms: Sequence[Term], found: Restrictions) -> tuple[str, Path]:
    """Return the class whose dates a period is of, and the way there: of the rows, or of what happened to them."""
    base, mapping = plan.base, found.mapping
    usual = base if _date_named(terms, base, mapping) else mapping.happens(base) or base
    own = usual, mapping.path(base, usual, single=True) or ()
    said = [item.path for item in plan.filters if not all(step.single for step in item.path)]
    if not terms_of(terms, "period") or not said or _date_named(terms, usual, mapping):
        return own
    met = {step.target for path in said for step in path} - {base}
    happened = _beside_period(found.terms, met)
    if base not in mapping.named and not happened:  # the orders of May with a return
        return own
    way, *others = {_way_to_date(path, mapping) for path in said}
    if others or not way or not happened:
        words = " or ".join(mapping.name(one, "en") for one in (base, *sorted(met)))
        raise UnclearError(f"it is not clear what the period is of: {words}")
    return own if way[-1].target == usual else (way[-1].target, way)


def _beside_period(terms: Sequence[Term], met: set[str]) -> bool:
    """Return whether a period is of what happened: that stands before it, in Chinese behind it, or nothing does."""
    at = next(i for i, term in enumerate(terms) if term.of("period"))
    beside = terms[max(0, at - 1) : at] if terms[at].text.isascii() else terms[at + 1 : at + 2]
    names = {one for term in beside for one in term.owners("class", "value", "entity")}
    return not beside or bool(met & names or terms_of(beside, "not", "traded", "dated"))


def _way_to_date(path: Path, mapping: DatabaseMapping) -> Path:
    """Return the way to the first of what a way leads to, from its step to many on, that says when it happened."""
    for i, step in enumerate(path, start=1):
        if mapping.classes[step.target].time is not None and not all(one.single for one in path[:i]):
            return path[:i]
    return ()


def usual_date(owner: str, found: Restrictions) -> str | None:
    """Return when rows happened; UnclearError where what became of them (won) may have another date (closed on)."""
    time, own = found.mapping.classes[owner].time, found.mapping.attributes[owner].values()
    dates = [one.labels.preferred("en") for one in own if one.type == "date" and one.column != time]
    closed = [label for label in dates if label.split(" ")[0] in CUES["closing"]]
    values = (t.text for t in found.values if owner in t.owners("value"))
    done = [word for word in values if word.endswith("ed") or word in CUES["outcomes"]]
    if done and closed:
        raise UnclearError(f"it is not clear which date says when it was {done[0]}: name it ({', '.join(closed)}?)")
    return time


def _changed(plan: Plan, head: Head, periods: list[TimeRange], terms: Sequence[Term]) -> Plan:
    if len(periods) == 1 and periods[0].ends:  # a change "between Q2 and Q3" is from the one to the other
        periods = list(periods[0].ends)
    texts = {t.of("period")[0].value.place: t.text for t in terms_of(terms, "period")}
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
    columns = list({attribute.column for attribute in named if attribute.type == "date"})
    if len(columns) > 1:
        raise UnclearError("it is not clear which of the dates named is meant")
    return columns[0] if columns else None
