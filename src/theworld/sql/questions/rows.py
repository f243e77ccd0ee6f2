"""Questions for rows instead of figures: lists of instances, and the latest row of each (各企业最新的评级)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import find_path, senses
from theworld.sql.plan import Aggregate, Group, Plan, UnclearError
from theworld.sql.questions.grouping import by_class, timed
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import Head
from theworld.sql.questions.restrictions import Restrictions
from theworld.text.language import Language
from theworld.text.time_ranges import TimeRange


def plan_list(
    terms: tuple[Term, ...],
    restrictions: Restrictions,
    via: frozenset[str],
    *,
    mapping: DatabaseMapping,
    language: Language,
) -> Plan:
    """Return the plan of a question for instances or for plain attributes of them."""
    if any(t.of("aggregate", "superlative", "top", "each", "unit_of_time") for t in terms):
        raise UnclearError("it is not clear what is measured")
    attributes = [name for t in terms for name in _owned(t, restrictions)]
    base = _base(terms, restrictions, [class_id for class_id, _, _ in attributes])
    shown = tuple(mapping.attributes(class_id)[name] for class_id, _, name in attributes)
    compared = restrictions.compared_groups
    if compared is not None and compared.class_id != base:
        return _compared(base, restrictions, via, terms, mapping=mapping, language=language)
    filters, reading = restrictions.filters(base, via, language)
    plan = Plan(base, "list", "count", None, tuple(filters), shown=shown, reading=tuple(reading))
    if any(t.of("period") for t in terms):
        plan = timed(
            plan, Head(base, None, "count", "", per_subject=False), terms, None, mapping=mapping, language=language
        )
    own = [item for item in plan.filters if not item.path and item.column == mapping.classes[base].key]
    if not plan.filters and plan.period is None:
        raise UnclearError("nothing narrows the rows down")
    if own and not shown:
        raise UnclearError("it is not clear what is asked of what is named")
    return plan


def _owned(term: Term, restrictions: Restrictions) -> list[tuple[str, str, str]]:
    """Return the attribute that a term names, of several classes that of what is named."""
    names = [m.name.partition(".") for m in term.of("attribute")]
    return ([name for name in names if name[0] in restrictions.keys] or names)[:1]


def _base(terms: tuple[Term, ...], restrictions: Restrictions, owners: list[str]) -> str:
    """Return the class that is listed: the one that owns the attributes asked for, else the one asked or spoken of."""
    classes = [m.name for t in terms for m in t.of("class")[:1]]
    related = [restrictions.related[0][0].source] if restrictions.related else []
    bases = list(dict.fromkeys(owners)) or classes[-1:] or related
    which = next((i for i, t in enumerate(terms) if t.of("which")), None)
    asked = which is not None or owners or related
    if len(bases) != 1 or not asked or not (restrictions.any or owners):
        raise UnclearError("it is not clear what is asked of the database")
    return bases[0] if which is None or owners else _listed(terms, which)


def _listed(terms: tuple[Term, ...], which: int) -> str:
    """Return the class whose instances a word like "which" asks for: the one beside it."""
    beside = [terms[i] for i in (which + 1, which - 1) if 0 <= i < len(terms)]
    found = [t.of("class")[0].name for t in beside if t.of("class") and not t.of("entity")]
    if not found:
        raise UnclearError(f"it is not clear what {terms[which].text!r} asks for")
    return found[0]


def _compared(
    target: str,
    restrictions: Restrictions,
    via: frozenset[str],
    terms: tuple[Term, ...],
    *,
    mapping: DatabaseMapping,
    language: Language,
) -> Plan:
    """Return the plan of "which companies have a total above ..."."""
    compared = restrictions.compared_groups
    assert compared is not None
    aggregate: Aggregate = "sum" if compared.attribute.aggregation == "sum" else "max"
    filters, reading = restrictions.filters(compared.class_id, via, language, each_row=True, compared=False)
    group, note = by_class(target, compared.class_id, via, mapping, language)
    having = (compared.operator, compared.value)
    plan = Plan(compared.class_id, "groups", aggregate, compared.attribute, tuple(filters), group, having=having)
    head = Head(compared.class_id, compared.attribute, aggregate, "", per_subject=False)
    return timed(replace(plan, reading=(*reading, *note)), head, terms, None, mapping=mapping, language=language)


MOST_SHOWN = 4
"""Attributes shown where none is named."""


def asks_for_latest(terms: Sequence[Term]) -> bool:
    """Return whether a question asks for the latest of something."""
    return any(term.of("latest") for term in terms)


def plan_latest(
    terms: Sequence[Term],
    restrictions: Restrictions,
    via: frozenset[str],
    *,
    mapping: DatabaseMapping,
    language: Language,
) -> Plan:
    """Return the plan of a question for the latest rows of each instance; UnclearError where it asks for more."""
    if any(t.of("aggregate", "superlative", "top", "unit_of_time") for t in terms):
        raise UnclearError("figures of the latest rows are not read")
    base = _rows(terms, restrictions, mapping)
    table = mapping.classes[base]
    owner = _owner(terms, restrictions, base)
    path = find_path(mapping, base, owner, via=via, single=True)
    if path is None or len(path) != 1 or table.time is None:
        raise UnclearError(f"{base} does not belong to one {owner}")
    filters, reading = restrictions.filters(base, via, language)
    periods: list[TimeRange] = [t.of("period")[0].value for t in terms if t.of("period")]
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    return Plan(
        base,
        "latest",
        "count",
        None,
        tuple(filters),
        Group(path, owner),
        time_column=table.time,
        period=periods[0] if periods else None,
        shown=_shown(terms, base, mapping),
        reading=(*reading, *senses(mapping, path, via, language)),
    )


def _rows(terms: Sequence[Term], restrictions: Restrictions, mapping: DatabaseMapping) -> str:
    """Return the class of the rows: that of a named attribute, else the one named that happens at a time."""
    owners = {m.name.partition(".")[0] for t in terms for m in t.of("attribute")}
    named = {m.name for t in terms for m in t.of("class")}
    named |= {mapping.lookup.relations[one].source for one in restrictions.mentioned if one in mapping.lookup.relations}
    found = sorted(one for one in (owners & named or owners or named) if mapping.classes[one].time is not None)
    if len(found) != 1:
        raise UnclearError("it is not clear the latest of what is asked for")
    return found[0]


def _owner(terms: Sequence[Term], restrictions: Restrictions, base: str) -> str:
    named = list(dict.fromkeys(m.name for t in terms for m in t.of("class")[:1] if m.name != base))
    found = named or list(restrictions.keys)
    if len(found) != 1:
        raise UnclearError("it is not clear whose latest is asked for")
    return found[0]


def _shown(terms: Sequence[Term], base: str, mapping: DatabaseMapping) -> tuple[Attribute, ...]:
    own = mapping.attributes(base)
    named = [m.name.partition(".") for t in terms for m in t.of("attribute")]
    asked = [own[name] for class_id, _, name in named if class_id == base]
    rest = [one for one in own.values() if one.column and one.column != mapping.classes[base].time]
    return tuple(dict.fromkeys(a for a in (asked or rest) if a.column != mapping.classes[base].time))[:MOST_SHOWN]
