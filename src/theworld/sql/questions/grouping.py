"""How rows are put together, by class, attribute or unit of time, and in which periods."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.paths import find_path, happens, senses, steps
from theworld.sql.plan import Group, Path, Plan, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import Head
from theworld.text.calendar_units import CalendarUnit, shifted
from theworld.text.language import Language
from theworld.text.time_ranges import TimeRange

_UNITS: dict[str, CalendarUnit] = {unit: unit for unit in get_args(CalendarUnit)}


def find_grouping(
    terms: tuple[Term, ...], mapping: DatabaseMapping
) -> tuple[Term | None, CalendarUnit | None, set[Term]]:
    """Return the class or attribute and the unit of time that rows are put together by, and the terms used."""
    used: set[Term] = set()
    grouping: Term | None = None
    unit: CalendarUnit | None = None
    for i, term in enumerate(terms):
        units = term.of("unit_of_time")
        before = terms[i - 1] if i else None
        says_each = before is not None and bool(before.of("each"))
        asks_which = before is not None and bool(before.of("which"))
        if units and not term.of("class", "attribute", "value", "entity"):
            if unit is not None:
                raise UnclearError("more than one unit of time is named")
            unit = _UNITS[units[0].name]
            used |= {term} | ({before} if before is not None and (says_each or asks_which) else set())
        elif says_each and before is not None and (_is_measured(term, mapping) or _is_date(term, mapping)):
            used.add(before)
        elif says_each and term.of("class", "attribute", "role"):
            if grouping is not None:
                raise UnclearError("rows are put together by more than one thing")
            grouping = term
            used |= {term, before} if before is not None else {term}
    if unit == "week":
        raise UnclearError("weeks are not put together")
    return grouping, unit, used


def _is_measured(term: Term, mapping: DatabaseMapping) -> bool:
    names = [m.name.partition(".") for m in term.of("attribute")]
    return any(is_measure(mapping.attributes(class_id)[name]) for class_id, _, name in names)


def _is_date(term: Term, mapping: DatabaseMapping) -> bool:
    names = [m.name.partition(".") for m in term.of("attribute")]
    return bool(names) and all(mapping.attributes(class_id)[name].type == "date" for class_id, _, name in names)


def class_of(term: Term) -> str | None:
    """Return the class that a term names, None where it names none; UnclearError for several."""
    meanings = term.of("class")
    if len(meanings) > 1:
        raise UnclearError(f"{term.text!r} means more than one thing")
    return meanings[0].name if meanings else None


def by_attribute(term: Term, base: str, via: frozenset[str], mapping: DatabaseMapping) -> Group:
    """Return the group by the attribute that a term names; UnclearError where rows cannot be put together by it."""
    found: list[tuple[str, Attribute]] = []
    for meaning in term.of("attribute"):
        class_id, _, attribute_id = meaning.name.partition(".")
        found.append((class_id, mapping.attributes(class_id)[attribute_id]))
    own = [item for item in found if item[0] == base] or [item for item in found if item[0] in via] or found
    if len(own) > 1:
        ways = {c: find_path(mapping, base, c, via=via, single=True) for c, _ in own}
        least = min((len(way) for way in ways.values() if way is not None), default=0)
        own = [item for item in own if (way := ways[item[0]]) is not None and len(way) == least]
    if len(own) != 1 or own[0][1].type not in {"enum", "string", "boolean"}:
        raise UnclearError(f"rows cannot be put together by {term.text!r}")
    path = find_path(mapping, base, own[0][0], via=via, single=True)
    if path is None:
        raise UnclearError(f"{term.text!r} does not belong to these rows")
    return Group(path, own[0][0], own[0][1])


def by_role(term: Term, base: str, via: frozenset[str], mapping: DatabaseMapping) -> Group:
    """Return the group by what the rows of a class are to others of it (their manager); UnclearError without a way."""
    names = [m.name for m in term.of("role") if m.value == "target"]
    if len(names) != 1:
        raise UnclearError(f"{term.text!r} means more than one thing")
    relation = mapping.lookup.relations[names[0]]
    path = find_path(mapping, base, relation.source, via=via, single=True)
    if path is None:
        raise UnclearError(f"{term.text!r} does not belong to these rows")
    join = next(j for j in steps(mapping, relation.source) if j.relation == relation.id and j.forward)
    return Group((*path, join), relation.target)


def by_class(
    class_id: str, base: str, via: frozenset[str], mapping: DatabaseMapping, language: Language
) -> tuple[Group, list[str]]:
    """Return the group by the instances of a class, and how relations were taken; UnclearError without one way."""
    path = find_path(mapping, base, class_id, via=via, single=True)
    if path is None:
        raise UnclearError(f"{class_id} and {base} are not joined one to one")
    return Group(path, class_id), senses(mapping, path, via, language)


DAILY_UP_TO = 92
"""Longest period in days whose volatility is measured over days; longer ones are measured over months."""


def timed(
    plan: Plan,
    head: Head,
    terms: tuple[Term, ...],
    unit: CalendarUnit | None,
    *,
    mapping: DatabaseMapping,
    language: Language,
) -> Plan:
    """Return the plan with its periods and the column they are compared with."""
    periods: list[TimeRange] = [t.of("period")[0].value for t in terms if t.of("period")]
    table = mapping.classes[plan.base]
    needs_time = bool(periods) or unit is not None or head.analysis != ""
    if not needs_time:
        return plan
    path: Path = ()
    column = _date_named(terms, plan.base, mapping) or table.time
    if column is None and (found := happens(mapping, plan.base)) is not None:
        path, owner = found
        column = _date_named(terms, owner, mapping) or mapping.classes[owner].time
    if path and (unit is not None or head.analysis):
        raise UnclearError("what happens through another thing is not grouped by time")
    if column is None:
        name = mapping.lookup.classes[plan.base].labels.preferred(language)
        raise UnclearError(f"{name} has no column of time")
    plan = replace(plan, time_column=column, time_path=path)
    if head.analysis in {"change", "change_over_year"}:
        return _changed(plan, head, periods, terms)
    both = [{m.kind for m in t.meanings} & {"traded", "joined", "dated"} for t in terms]
    if any({*a} and {*c} and {*a} != {*c} and "joined" in m for a, m, c in zip(both, both[1:], both[2:], strict=False)):
        raise UnclearError("it is not clear which of the two dates the period is of")
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    period = periods[0] if periods else None
    if head.analysis == "volatility":
        daily = period is not None and period.start and period.end and (period.end - period.start).days <= DAILY_UP_TO
        unit = unit or ("day" if daily else "month")
    return replace(plan, period=period, time_unit=unit or ("month" if head.analysis == "trend" else None))


def _in_one_year(periods: list[TimeRange], terms: tuple[Term, ...]) -> list[TimeRange]:
    """Return two periods, the one without a year in that of the other: Q1 and Q4 of 1997."""
    texts = {t.of("period")[0].value.place: t.text for t in terms if t.of("period")}
    dated = [re.search(r"(?:19|20)\d\d|[今去前]年", texts.get(p.place, "")) is not None for p in periods]
    if sum(dated) != 1:
        return periods
    own, other = periods[dated.index(True)], periods[dated.index(False)]
    if own.start is None or other.start is None or other.end is None:
        return periods
    years = own.start.year - other.start.year
    moved = replace(other, start=shifted(other.start, "year", years), end=shifted(other.end, "year", years))
    return [own, moved]


def _changed(plan: Plan, head: Head, periods: list[TimeRange], terms: tuple[Term, ...]) -> Plan:
    if len(periods) == 1 and periods[0].ends:  # a change "between Q2 and Q3" is from the one to the other
        periods = list(periods[0].ends)
    if len(periods) == 2:
        periods = _in_one_year(periods, terms)
    if not 1 <= len(periods) <= 2:
        raise UnclearError("a change needs the period it happened in")
    ordered = sorted(periods, key=lambda p: (p.start is not None, p.start))
    later = ordered[-1]
    earlier = ordered[0] if len(periods) == 2 else None
    if earlier is None:
        earlier = later.a_year_before() if head.analysis == "change_over_year" else later.before()
    if earlier is None or earlier.start is None or later.start is None or earlier.end is None:
        raise UnclearError("a change needs periods with a beginning and an end")
    return replace(plan, period=later, earlier=earlier)


def _date_named(terms: tuple[Term, ...], base: str, mapping: DatabaseMapping) -> str | None:
    for term in terms:
        for meaning in term.of("attribute", "dated"):
            class_id, _, attribute_id = meaning.name.partition(".")
            attribute = mapping.attributes(class_id)[attribute_id]
            if class_id == base and attribute.type == "date":
                return attribute.column
    return None
