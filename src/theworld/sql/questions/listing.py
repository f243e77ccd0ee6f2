"""Questions for instances or for plain attributes of them, not for a figure."""

from __future__ import annotations

from dataclasses import replace

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import Aggregate, Plan, UnclearError
from theworld.sql.questions.grouping import by_class
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import Head
from theworld.sql.questions.periods import timed
from theworld.sql.questions.restrictions import Restrictions
from theworld.text.language import Language


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
    attributes = [m.name.partition(".") for t in terms for m in t.of("attribute")[:1]]
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
