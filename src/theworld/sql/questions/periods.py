"""When: the periods of a plan, the column of time they are compared with, and the unit rows are put together by."""

from __future__ import annotations

from dataclasses import replace

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import Plan, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import Head
from theworld.text.calendar_units import CalendarUnit
from theworld.text.language import Language
from theworld.text.time_ranges import TimeRange

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
    column = _date_named(terms, plan.base, mapping) or table.time
    if column is None:
        name = mapping.lookup.classes[plan.base].labels.preferred(language)
        raise UnclearError(f"{name} has no column of time")
    plan = replace(plan, time_column=column)
    if head.analysis in {"change", "change_over_year"}:
        return _changed(plan, head, periods)
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    period = periods[0] if periods else None
    if head.analysis == "volatility":
        daily = period is not None and period.start and period.end and (period.end - period.start).days <= DAILY_UP_TO
        unit = unit or ("day" if daily else "month")
    return replace(plan, period=period, time_unit=unit or ("month" if head.analysis == "trend" else None))


def _changed(plan: Plan, head: Head, periods: list[TimeRange]) -> Plan:
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
        for meaning in term.of("attribute"):
            class_id, _, attribute_id = meaning.name.partition(".")
            attribute = mapping.attributes(class_id)[attribute_id]
            if class_id == base and attribute.type == "date":
                return attribute.column
    return None
