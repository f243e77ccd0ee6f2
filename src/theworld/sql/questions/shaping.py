"""What kind of result a plan gives: one figure, groups, the first of them, a trend, a change, a volatility."""

from __future__ import annotations

from dataclasses import replace

from theworld.sql.plan import Plan, UnclearError
from theworld.sql.questions.cutting import Ranking
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import Head
from theworld.text.calendar_units import CalendarUnit


def shaped(  # noqa: PLR0911 - one return a shape
    plan: Plan, head: Head, *, ranking: Ranking | None, ranked: Term | None, unit: CalendarUnit | None
) -> Plan:
    """Return the plan with its shape: a change, a ranking, a trend, groups or one figure."""
    if head.analysis == "volatility":
        if ranking is not None and plan.group is None:
            raise UnclearError("it is not clear what is ranked")
        limit = ranking.size if ranking else None
        return replace(plan, shape="volatility", limit=limit, descending=ranking is None or ranking.highest)
    if head.analysis in {"change", "change_over_year"}:
        limit = ranking.size if ranking else None
        return replace(plan, shape="change", limit=limit, descending=ranking is None or ranking.highest)
    if ranking is not None:
        if plan.group is None and unit is None and ranked is None:
            if ranking.size != 1 or plan.measure is None:
                raise UnclearError("it is not clear what is ranked")
            return replace(plan, aggregate="max" if ranking.highest else "min")
        if ranked is None and plan.group is not None and unit is None and ranking.size == 1:
            return replace(plan, aggregate="max" if ranking.highest else "min", shape="groups")
        return replace(plan, shape="top", limit=ranking.size, descending=ranking.highest)
    if head.analysis == "trend" or unit is not None:
        return replace(plan, shape="trend")
    return replace(plan, shape="groups") if plan.group is not None else plan
