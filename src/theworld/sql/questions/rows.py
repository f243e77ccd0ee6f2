"""Questions for rows instead of figures: lists of instances, and the latest row of each (各企业最新的评级)."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.sql.plan import Group, Plan, UnclearError
from theworld.sql.questions.grouping import timed
from theworld.sql.questions.lexicon import Term, classes_named
from theworld.sql.questions.measures import Head
from theworld.sql.questions.restrictions import Restrictions

MOST_SHOWN = 4
"""Attributes shown of the latest rows where none is named."""


def plan_list(terms: Sequence[Term], found: Restrictions) -> Plan:
    """Return the plan of a question for instances or for plain attributes of them."""
    if any(t.of("aggregate", "superlative", "top", "each", "unit_of_time") for t in terms):
        raise UnclearError("it is not clear what is measured")
    named = [t.of("attribute") for t in terms if t.of("attribute")]
    # of several classes that have the attribute, what is named
    attributes = [next((m for m in one if m.owner in found.keys), one[0]) for one in named]
    base = _listed(terms, found, list(dict.fromkeys(m.owner for m in attributes)))
    filters, reading = found.filters(base)
    shown = tuple(found.mapping.attribute(m.name) for m in attributes)
    plan = Plan(base, "list", "count", filters=filters, shown=shown, reading=reading)
    if any(t.of("period") for t in terms):
        plan = timed(plan, Head(base), terms, None, found)
    if not plan.filters and plan.period is None:
        raise UnclearError("nothing narrows the rows down")
    key = found.mapping.classes[base].key
    if not shown and any(not item.path and item.column == key for item in plan.filters):
        raise UnclearError("it is not clear what is asked of what is named")
    return plan


def _listed(terms: Sequence[Term], found: Restrictions, owners: list[str]) -> str:
    """Return the class that is listed: the one that owns the attributes asked for, else the one asked or spoken of."""
    classes = [m.name for t in terms for m in t.of("class")[:1]]
    related = [found.related[0][0].source] if found.related else []
    bases = owners or classes[-1:] or related
    which = next((i for i, t in enumerate(terms) if t.of("which")), None)
    asked = which is not None or owners or related
    narrows = found.keys, found.values, found.compared, found.related, found.without, found.dated, found.through, owners
    if len(bases) != 1 or not asked or not any(narrows):
        raise UnclearError("it is not clear what is asked of the database")
    if which is None or owners:
        return bases[0]
    beside = (*terms[which + 1 : which + 2], *terms[max(0, which - 1) : which])
    asked_for = [t.of("class")[0].name for t in beside if t.of("class") and not t.of("entity")]
    if not asked_for:
        raise UnclearError(f"it is not clear what {terms[which].text!r} asks for")
    return asked_for[0]


def plan_latest(terms: Sequence[Term], found: Restrictions) -> Plan:
    """Return the plan of a question for the latest rows of each instance; UnclearError where it asks for more."""
    if any(t.of("aggregate", "superlative", "top", "unit_of_time") for t in terms):
        raise UnclearError("figures of the latest rows are not read")
    mapping, relations = found.mapping, found.mapping.lookup.relations
    owners = {owner for t in terms for owner in t.owners("attribute")}
    named = classes_named(terms) | {relations[one].source for one in found.mentioned if one in relations}
    rows = [one for one in (owners & named or owners or named) if mapping.classes[one].time is not None]
    if len(rows) != 1:
        raise UnclearError("it is not clear the latest of what is asked for")
    (base,) = rows
    others = list(dict.fromkeys(m.name for t in terms for m in t.of("class")[:1] if m.name != base))
    others = others or list(found.keys)
    if len(others) != 1:
        raise UnclearError("it is not clear whose latest is asked for")
    path = mapping.path(base, others[0], via=found.via, single=True)
    if path is None or len(path) != 1:
        raise UnclearError(f"{base} does not belong to one {others[0]}")
    periods = [t.of("period")[0].value for t in terms if t.of("period")]
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    time = mapping.classes[base].time
    asked = [mapping.attribute(m.name) for t in terms for m in t.of("attribute") if m.owner == base]
    shown = dict.fromkeys(a for a in asked or mapping.attributes(base).values() if a.column != time)
    filters, reading = found.filters(base)
    return Plan(
        base,
        "latest",
        "count",
        filters=filters,
        group=Group(path, others[0]),
        time_column=time,
        period=periods[0] if periods else None,
        shown=tuple(shown)[:MOST_SHOWN],
        reading=(*reading, *mapping.senses(path, found.via, found.language)),
    )
