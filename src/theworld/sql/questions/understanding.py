"""A question into plans, without a model, or not at all: every word must be accounted for.

The question is cut into terms (lexicon); what it measures, of which rows, put together how and in which period is read
from their order. Whatever is not certain raises UnclearError, so that another path answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.plan import Group, Plan, UnclearError
from theworld.sql.questions.completeness import check_all_used
from theworld.sql.questions.cutting import Ranking, with_unsaid
from theworld.sql.questions.grouping import by_attribute, by_class, by_role, class_of, find_grouping, timed
from theworld.sql.questions.lexicon import CUES, Term, classes_named, terms_of
from theworld.sql.questions.measures import Head, Needs, find_heads, part_and_whole
from theworld.sql.questions.narrowing import Restrictions, find_restrictions
from theworld.text.calendar_units import CalendarUnit
from theworld.text.language import Language

MOST_SHOWN = 4
"""Attributes shown of the latest rows where none is named."""


def plan_terms(
    terms: tuple[Term, ...], unknown: tuple[str, ...], *, mapping: DatabaseMapping, language: Language
) -> tuple[Plan, ...]:
    """Return the plans of a question that has been cut; UnclearError says why there are none."""
    if unknown:
        said = ", ".join(unknown[:5])
        raise UnclearError(f"these words mean nothing to the database: {said}", words=unknown)
    for i, term in enumerate(terms):
        if term.of("unmapped") and not term.of("class", "entity", "value"):
            missing = f"{term.text!r} has no table of its own; the mapping does not say which rows of its parent it is"
            raise UnclearError(f"{missing} (a `table` with `counts`)")
        named = terms_of(terms[:i], "each", "which", "who", "entity", "value")
        if term.of("pronoun") and len(term.meanings) == 1 and not named:
            raise UnclearError(f"it is not clear whom {term.text!r} means")
        if term.of("unreadable") and len(term.meanings) == len(term.of("unreadable", "empty")):
            raise UnclearError(f"a question with {term.text!r} is not read")
    terms = with_unsaid(terms, mapping)
    reading = _Reading(terms, mapping, language)
    plans = reading.plans()
    check_all_used(plans, terms, reading.found, mapping)
    return plans


class _Reading:
    """The terms of one question and what they are used for."""

    def __init__(self, terms: tuple[Term, ...], mapping: DatabaseMapping, language: Language) -> None:
        self._mapping = mapping
        self.found = find_restrictions(terms, mapping, language)
        self._terms = [term for term in terms if term not in self.found.used]

    def plans(self) -> tuple[Plan, ...]:
        """Return one plan per measure."""
        terms = self._terms
        if terms_of(terms, "latest"):
            return (_plan_latest(terms, self.found),)
        if terms_of(terms, "extreme"):
            return (self._extreme(terms),)
        averaged = self._averaged(terms)
        if averaged is not None:
            return (averaged,)
        shares = terms_of(terms, "share")
        grouping, unit, used = find_grouping([t for t in terms if not t.of("share")], self._mapping)
        ranking, ranked, more = self._ranking(terms)
        used |= more | {*shares}
        heads, ranked = self._heads(terms, used, ranking, ranked)
        if shares:
            if ranking is not None or unit is not None:
                raise UnclearError("shares are not ranked or grouped by time")
            needs = self._needs([])
            part, divisor, whole = part_and_whole(heads, terms, needs, self.found, grouped=grouping is not None)
            plan = self._plan(part, terms, wanted=grouping)
            if (plan.group is None) != (grouping is None):
                raise UnclearError("it is not clear what the share is of")
            return (replace(plan, shape="share", whole=whole, divisor=divisor),)
        if not heads:
            return (_plan_list(terms, self.found),)
        if len(heads) > 1 and (ranking or (grouping and len({h.base for h in heads}) > 1)):
            raise UnclearError("more than one measure is ranked or split")
        return tuple(
            _shaped(self._plan(head, terms, grouping or ranked, unit, ranking), head, ranking, ranked, unit)
            for head in heads
        )

    def _extreme(self, terms: Sequence[Term]) -> Plan:
        """Return the plan of the first or the last date of rows: the earliest order date."""
        if terms_of(terms, "aggregate", "superlative", "top", "each", "share", "unit_of_time", "which"):
            raise UnclearError("it is not clear what is the earliest or the latest")
        (lowest,) = {m.name == "lowest" for t in terms for m in t.of("extreme")}
        own = {(m.owner, self._mapping.attribute(m.name)) for t in terms for m in t.of("attribute")}
        dates = [(base, attribute) for base, attribute in own if attribute.type == "date"]
        if len(dates) != 1:
            raise UnclearError("it is not clear which date is meant")
        head = Head(*dates[0], "min" if lowest else "max")
        return _shaped(self._plan(head, terms), head)

    def _averaged(self, terms: Sequence[Term]) -> Plan | None:
        """Return the plan of how much there is of something for each of another: 平均每个客户, tracks per album."""
        means = [i for i, t in enumerate(terms) if t.of("aggregate") and t.of("aggregate")[0].name == "average"]
        if len(means) != 1 or terms_of(terms, "share", "superlative", "top", "unit_of_time"):
            return None
        after = terms[means[0] + 1 : means[0] + 3]
        whose = after[1] if len(after) == 2 and after[0].of("each") and after[1].of("class") else None
        rest = [t for i, t in enumerate(terms) if i != means[0] and t is not whose and not t.of("each")]
        counts = [t for t in rest if t.of("aggregate") and t.of("aggregate")[0].name == "count"]
        if whose is None and counts:
            classes = [t for t in rest if t.of("class") and t.start > counts[0].start]
            whose = classes[1] if len(classes) == 2 else None
            rest = [t for t in rest if t is not whose]
        if whose is None:
            return None
        heads = find_heads(rest, self._mapping, superlative=False, needs=self._needs([whose]))
        if len(heads) != 1 or heads[0].analysis:
            raise UnclearError("it is not clear what the average is of")
        plan = self._plan(heads[0], rest)
        group, senses = by_class(class_of(whose) or "", plan.base, self.found)
        if len(group.path) != 1 or plan.group is not None:
            raise UnclearError("it is not clear what the average is of")
        return replace(plan, aggregate="average", per=group, reading=(*plan.reading, *senses))

    def _heads(
        self, terms: Sequence[Term], used: set[Term], ranking: Ranking | None, ranked: Term | None
    ) -> tuple[list[Head], Term | None]:
        """Return the measures asked for, and the class whose rows are ranked by them."""
        free = [t for t in terms if t not in used]
        related = self.found.related[0].path[0].source if self.found.related else None
        if related is None and self.found.values and terms_of(free, "aggregate"):
            common = set.intersection(*(t.owners("value") for t in self.found.values))  # chief physicians are doctors
            related = common.pop() if len(common) == 1 else None
        counting = ranking is not None and any(t.of("superlative") and t.text in CUES["of_number"] for t in terms)
        needs = self._needs([*([ranked] if ranked else []), *used, *free])
        heads = find_heads(
            free, self._mapping, superlative=ranking is not None, related=related, counting=counting, needs=needs
        )
        plain = ranking is None and not terms_of(free, "aggregate", "each", "unit_of_time")
        told = terms_of(free, "attribute")
        of_named = any(t.owners("attribute") & set(self.found.keys) for t in told)
        if heads and plain and of_named and not all(map(self._measured, told)):
            return [], ranked  # attributes of something named are asked for, some of which are no measures
        if not heads and ranked is not None:
            heads = find_heads([*free, ranked], self._mapping, superlative=True, related=related)
            if not terms_of(terms, "top", "which"):
                ranked = None  # "the smallest limit" asks for the limit, "the smallest 3" and "which" for rows
        if (
            heads
            and ranking is None
            and any(a.of("which") and b.of("class") and not b.of("attribute") for a, b in pairwise(terms))
        ):
            raise UnclearError("it is not clear whether instances or a figure are asked for")
        return heads, ranked

    def _needs(self, terms: Sequence[Term]) -> Needs:
        """Return the classes, one of each, that a measure must belong to: of what groups it and of what is named."""
        named = [frozenset({class_id}) for class_id in self.found.keys]
        named += [frozenset(t.owners("value")) for t in self.found.values]
        return [*named, *(frozenset(t.owners("class")) for t in terms if t.of("class"))]

    def _measured(self, term: Term) -> bool:
        return any(is_measure(self._mapping.attribute(m.name)) for m in term.of("attribute"))

    def _ranking(self, terms: Sequence[Term]) -> tuple[Ranking | None, Term | None, set[Term]]:
        """Return how many of the first or last, the class that is ranked, and the terms that say so."""
        tops = terms_of(terms, "top")
        superlatives = [t for t in terms if t.of("superlative") and not t.of("top")]
        if len(tops) > 1 or len(superlatives) > 1:
            raise UnclearError("more than one ranking is named")
        if not tops and not superlatives:
            return None, None, set()
        top: Ranking | None = tops[0].of("top")[0].value if tops else None
        highest = superlatives[0].of("superlative")[0].name != "lowest" if superlatives else top is None or top.highest
        at = terms.index((tops or superlatives)[0])
        which = next((i for i, t in enumerate(terms[:-1]) if t.of("which")), None)
        following = [terms[i + 1] for i in (which, at) if i is not None and i + 1 < len(terms)]
        plain = bool(tops) or which is not None
        ranked = next(
            (t for t in following if t.of("class", "role") or (plain and t.of("attribute") and not self._measured(t))),
            None,
        )
        said = {*tops, *superlatives, *([ranked] if ranked else []), *([] if which is None else [terms[which]])}
        return Ranking(top.size if top else 1, highest), ranked, said

    def _plan(
        self,
        head: Head,
        terms: Sequence[Term],
        wanted: Term | None = None,
        unit: CalendarUnit | None = None,
        ranking: Ranking | None = None,
    ) -> Plan:
        """Return the plan of one measure; `wanted` is what it is put together by."""
        base, found = head.base, self.found
        filters, reading = found.filters(base)
        plan = Plan(base, "figure", head.aggregate, head.measure, filters, reading=reading)
        plan = timed(plan, head, terms, unit, found)
        split_by = class_of(wanted) if wanted is not None else None
        if split_by == base and head.aggregate == "average" and ranking is None:
            split_by = None  # the average per order is that of orders
        elif wanted is not None and split_by is None:
            group = by_role(wanted, base, found) if wanted.of("role") else by_attribute(wanted, base, found)
            plan = replace(plan, group=group)
        if split_by is None and plan.group is None and (head.per_subject or found.compares):
            split_by = found.compares or next(
                (one.path[0].source for one in found.related if one.path[0].source not in found.keys), None
            )
        own = next((one.path[0] for one in found.related if not one.values and one.class_id == split_by == base), None)
        if own is not None:  # "which doctor has the most students": by whom the rows name, not by the rows
            plan = replace(plan, group=Group((own,), own.target))
        elif split_by is not None:
            group, senses = by_class(split_by, base, found)
            plan = replace(plan, group=group, reading=(*plan.reading, *senses))
        if head.distinct is not None:
            counted, senses = by_class(head.distinct, base, found)
            plan = replace(plan, distinct=counted, reading=(*plan.reading, *senses))
        return plan


def _shaped(
    plan: Plan,
    head: Head,
    ranking: Ranking | None = None,
    ranked: Term | None = None,
    unit: CalendarUnit | None = None,
) -> Plan:
    """Return the plan with its shape: a change, a volatility, a ranking, a trend, groups or one figure."""
    limit, descending = (ranking.size, ranking.highest) if ranking else (None, True)
    if head.analysis == "volatility":
        if ranking is not None and plan.group is None:
            raise UnclearError("it is not clear what is ranked")
        return replace(plan, shape="volatility", limit=limit, descending=descending)
    if head.analysis in {"change", "change_over_year"}:
        return replace(plan, shape="change", limit=limit, descending=descending)
    if ranking is None:
        trend = head.analysis == "trend" or unit is not None
        return replace(plan, shape="trend" if trend else "groups" if plan.group is not None else "figure")
    if ranked is None and unit is None and plan.group is None:
        if limit != 1 or plan.measure is None:
            raise UnclearError("it is not clear what is ranked")
        return replace(plan, aggregate="max" if descending else "min")
    return replace(plan, shape="top", limit=limit, descending=descending)


def _plan_list(terms: Sequence[Term], found: Restrictions) -> Plan:
    """Return the plan of a question for instances or for plain attributes of them."""
    if terms_of(terms, "aggregate", "superlative", "top", "each", "unit_of_time"):
        raise UnclearError("it is not clear what is measured")
    named = [t.of("attribute") for t in terms_of(terms, "attribute")]
    # of several classes that have the attribute, what is named
    attributes = [next((m for m in one if m.owner in found.keys), one[0]) for one in named]
    base = _listed(terms, found, list(dict.fromkeys(m.owner for m in attributes)))
    filters, reading = found.filters(base)
    shown = tuple(found.mapping.attribute(m.name) for m in attributes)
    plan = Plan(base, "list", "count", filters=filters, shown=shown, reading=reading)
    if terms_of(terms, "period"):
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
    related = [found.related[0].path[0].source] if found.related else []
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


def _plan_latest(terms: Sequence[Term], found: Restrictions) -> Plan:
    """Return the plan of a question for the latest rows of each instance; UnclearError where it asks for more."""
    if terms_of(terms, "aggregate", "superlative", "top", "unit_of_time"):
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
    periods = [t.of("period")[0].value for t in terms_of(terms, "period")]
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    time = mapping.classes[base].time
    asked = [mapping.attribute(m.name) for t in terms for m in t.of("attribute") if m.owner == base]
    shown = dict.fromkeys(a for a in asked or mapping.attributes[base].values() if a.column != time)
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
