"""A question into plans, without a model, or not at all: every word must be accounted for.

The question is cut into terms (lexicon); what it measures, of which rows, put together how and in which period is read
from their order. Whatever is not certain raises UnclearError, so that another path answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import get_args

from theworld.ontology import Attribute
from theworld.sql.latest import asks_for_latest, plan_latest
from theworld.sql.lexicon import Lexicon, Meaning, Term, segment
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.measures import Head, find_heads, is_measure
from theworld.sql.paths import find_path, senses
from theworld.sql.plan import Aggregate, Group, Plan, UnclearError
from theworld.sql.quantities import Ranking, find_quantities, find_rankings
from theworld.sql.restrictions import Restrictions, find_restrictions
from theworld.sql.shares import part_and_whole, share_terms
from theworld.text.calendar_units import CalendarUnit
from theworld.text.folding import fold_in_place
from theworld.text.language import Language
from theworld.text.time_ranges import TimeRange, find_time_ranges

_UNITS: dict[str, CalendarUnit] = {unit: unit for unit in get_args(CalendarUnit)}
DAILY_UP_TO = 92
"""Longest period in days whose volatility is measured over days; longer ones are measured over months."""


def cut_question(question: str, now: datetime, lexicon: Lexicon) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """Return the terms of a question, without those that change nothing, and the stretches that mean nothing here."""
    folded = fold_in_place(question)
    periods = [
        Term(*found.place, folded[slice(*found.place)], (Meaning("period", "", found),))
        for found in find_time_ranges(question, now)
    ]
    terms, unknown = segment(
        folded, [*lexicon.find(folded), *periods, *find_rankings(folded), *find_quantities(folded)]
    )
    meant = (_as_written(term, question) for term in terms)
    return tuple(term for term in meant if any(m.kind != "empty" for m in term.meanings)), unknown


def _as_written(term: Term, question: str) -> Term:
    """Return a term that is an empty word too ("a", the grade A) as that, unless it is written in capitals."""
    written = question[term.start : term.end]
    if term.of("empty") and term.of("value", "entity") and written != written.upper():
        return term._replace(meanings=term.of("empty"))
    return term


def understand(
    question: str, *, now: datetime, lexicon: Lexicon, mapping: DatabaseMapping, language: Language
) -> tuple[Plan, ...]:
    """Return the plans that together answer a question; UnclearError says why there are none."""
    return plan_terms(*cut_question(question, now, lexicon), mapping=mapping, language=language)


def plan_terms(
    terms: tuple[Term, ...], unknown: tuple[str, ...], *, mapping: DatabaseMapping, language: Language
) -> tuple[Plan, ...]:
    """Return the plans of a question that has been cut; UnclearError says why there are none."""
    if unknown:
        raise UnclearError(f"these words mean nothing to the database: {', '.join(unknown[:5])}")
    for term in terms:
        if term.of("unreadable") and len(term.meanings) == len(term.of("unreadable", "empty")):
            raise UnclearError(f"a question with {term.text!r} is not read")
    reading = _Reading(terms, mapping, language)
    plans = reading.plans()
    check_all_used(plans, terms, reading.restrictions, mapping)
    return plans


@dataclass
class _Reading:
    """The terms of one question and what they are used for."""

    terms: tuple[Term, ...]
    mapping: DatabaseMapping
    language: Language
    restrictions: Restrictions = field(init=False)

    def __post_init__(self) -> None:
        self.restrictions = find_restrictions(self.terms, self.mapping)

    def plans(self) -> tuple[Plan, ...]:
        """Return one plan per measure."""
        restrictions = self.restrictions
        terms = tuple(term for term in self.terms if term not in restrictions.used)
        if asks_for_latest(terms):
            via = self._mentioned(terms, restrictions)
            return (plan_latest(terms, restrictions, via, mapping=self.mapping, language=self.language),)
        shares = share_terms(terms)
        terms = tuple(term for term in terms if term not in shares)
        grouping, time_unit, used = self._each(terms)
        ranking, ranked_by, more = self._ranking(terms)
        used |= more
        free = [t for t in terms if t not in used]
        related = restrictions.related[0][0].source if restrictions.related else None
        heads = find_heads(free, self.mapping, superlative=ranking is not None, related=related)
        if not heads and ranked_by is not None:
            heads = find_heads([*free, ranked_by], self.mapping, superlative=True, related=related)
            if not any(t.of("top", "which") for t in terms):
                ranked_by = None  # "the smallest limit" asks for the limit, "the smallest 3" and "which" for rows
        if heads and ranking is None and _asks_for_instances(terms):
            raise UnclearError("it is not clear whether instances or a figure are asked for")
        if shares:
            if ranking is not None or time_unit is not None:
                raise UnclearError("shares are not ranked or told by time")
            return (self._share(heads, shares, terms, grouping),)
        if not heads:
            return (self._list(terms, restrictions),)
        if len(heads) > 1 and (ranking or (grouping and len({h.base for h in heads}) > 1)):
            raise UnclearError("more than one measure is ranked or split")
        return tuple(
            self._plan(head, terms, restrictions, grouping=grouping, unit=time_unit, ranking=ranking, ranked=ranked_by)
            for head in heads
        )

    def _each(self, terms: tuple[Term, ...]) -> tuple[Term | None, CalendarUnit | None, set[Term]]:
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
            elif says_each and before is not None and self._is_measured(term):
                used.add(before)
            elif says_each and term.of("class", "attribute"):
                if grouping is not None:
                    raise UnclearError("rows are put together by more than one thing")
                grouping = term
                used |= {term, before} if before is not None else {term}
        if unit == "week":
            raise UnclearError("weeks are not put together")
        return grouping, unit, used

    def _is_measured(self, term: Term) -> bool:
        names = [m.name.partition(".") for m in term.of("attribute")]
        return any(is_measure(self.mapping.attributes(class_id)[name]) for class_id, _, name in names)

    def _ranking(self, terms: tuple[Term, ...]) -> tuple[Ranking | None, Term | None, set[Term]]:
        """Return how many of the first or last, the class that is ranked, and the terms that say so."""
        rankings = [t for t in terms if t.of("top")]
        superlatives = [t for t in terms if t.of("superlative") and not t.of("top")]
        if len(rankings) > 1 or len(superlatives) > 1:
            raise UnclearError("more than one ranking is named")
        if not rankings and not superlatives:
            return None, None, set()
        lowest = bool(superlatives) and superlatives[0].of("superlative")[0].name == "lowest"
        if rankings:
            meaning = rankings[0].of("top")[0]
            found: Ranking = meaning.value
            ranking = Ranking(found.size, not lowest if superlatives else found.highest)
        else:
            ranking = Ranking(1, not lowest)
        mark = (rankings or superlatives)[0]
        at = terms.index(mark)
        which = next((i for i, t in enumerate(terms) if t.of("which") and i + 1 < len(terms)), None)
        after = terms[at + 1] if at + 1 < len(terms) else None
        ranked = None
        if which is not None and (terms[which + 1].of("class")):
            ranked = terms[which + 1]
        elif after is not None and after.of("class"):
            ranked = after
        used = {*rankings, *superlatives} | ({ranked} if ranked else set())
        if which is not None:
            used.add(terms[which])
        return ranking, ranked, used

    def _plan(
        self,
        head: Head,
        terms: tuple[Term, ...],
        restrictions: Restrictions,
        *,
        grouping: Term | None,
        unit: CalendarUnit | None,
        ranking: Ranking | None,
        ranked: Term | None,
    ) -> Plan:
        base = head.base
        via = self._mentioned(terms, restrictions)
        filters, reading = restrictions.filters(base, via, self.language, each_row=head.measure is not None)
        plan = Plan(base, "figure", head.aggregate, head.measure, tuple(filters), reading=tuple(reading))
        plan = self._timed(plan, head, terms, unit)
        wanted = grouping or ranked
        group_class = self._class_of(wanted) if wanted is not None else None
        if wanted is not None and group_class is None:
            plan = replace(plan, group=self._by_attribute(wanted, base, via))
        subject = restrictions.subject or self._subject(terms, restrictions, base, {grouping, ranked})
        if group_class is None and plan.group is None and (head.per_subject or restrictions.compares):
            group_class = restrictions.compares or subject
        if group_class is not None:
            group, note = self._by_class(group_class, base, via)
            plan = replace(plan, group=group, reading=(*plan.reading, *note))
        return self._shaped(plan, head, ranking=ranking, ranked=ranked, unit=unit)

    def _share(self, heads: list[Head], shares: list[Term], terms: tuple[Term, ...], grouping: Term | None) -> Plan:
        part, other, whole = part_and_whole(heads, shares, terms, self.restrictions, grouped=grouping is not None)
        plan = self._plan(part, terms, self.restrictions, grouping=grouping, unit=None, ranking=None, ranked=None)
        if (plan.group is None) != (grouping is None):
            raise UnclearError("it is not clear what the share is of")
        return replace(plan, shape="share", whole=whole, divisor=other.measure if other else None)

    def _shaped(  # noqa: PLR0911 - one return a shape
        self, plan: Plan, head: Head, *, ranking: Ranking | None, ranked: Term | None, unit: CalendarUnit | None
    ) -> Plan:
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

    def _timed(self, plan: Plan, head: Head, terms: tuple[Term, ...], unit: CalendarUnit | None) -> Plan:
        """Return the plan with its periods and the column they are compared with."""
        periods: list[TimeRange] = [t.of("period")[0].value for t in terms if t.of("period")]
        table = self.mapping.classes[plan.base]
        needs_time = bool(periods) or unit is not None or head.analysis != ""
        if not needs_time:
            return plan
        column = self._date_named(terms, plan.base) or table.time
        if column is None:
            name = self.mapping.lookup.classes[plan.base].labels.preferred(self.language)
            raise UnclearError(f"{name} has no column of time")
        plan = replace(plan, time_column=column)
        if head.analysis in {"change", "change_over_year"}:
            return self._changed(plan, head, periods)
        if len(periods) > 1:
            raise UnclearError("more than one period is named")
        period = periods[0] if periods else None
        if head.analysis == "volatility":
            daily = (
                period is not None and period.start and period.end and (period.end - period.start).days <= DAILY_UP_TO
            )
            unit = unit or ("day" if daily else "month")
        return replace(plan, period=period, time_unit=unit or ("month" if head.analysis == "trend" else None))

    def _changed(self, plan: Plan, head: Head, periods: list[TimeRange]) -> Plan:
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

    def _date_named(self, terms: tuple[Term, ...], base: str) -> str | None:
        for term in terms:
            for meaning in term.of("attribute"):
                class_id, _, attribute_id = meaning.name.partition(".")
                attribute = self.mapping.attributes(class_id)[attribute_id]
                if class_id == base and attribute.type == "date":
                    return attribute.column
        return None

    def _mentioned(self, terms: tuple[Term, ...], restrictions: Restrictions) -> frozenset[str]:
        names = {m.name for t in terms for m in t.of("class", "relation", "inverse")}
        return frozenset(names | restrictions.mentioned)

    def _class_of(self, term: Term) -> str | None:
        meanings = term.of("class")
        if len(meanings) > 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        return meanings[0].name if meanings else None

    def _by_attribute(self, term: Term, base: str, via: frozenset[str]) -> Group:
        found: list[tuple[str, Attribute]] = []
        for meaning in term.of("attribute"):
            class_id, _, attribute_id = meaning.name.partition(".")
            found.append((class_id, self.mapping.attributes(class_id)[attribute_id]))
        own = [item for item in found if item[0] == base] or found
        if len(own) != 1 or own[0][1].type not in {"enum", "string", "boolean"}:
            raise UnclearError(f"rows cannot be put together by {term.text!r}")
        path = find_path(self.mapping, base, own[0][0], via=via, single=True)
        if path is None:
            raise UnclearError(f"{term.text!r} does not belong to these rows")
        return Group(path, own[0][0], own[0][1])

    def _by_class(self, class_id: str, base: str, via: frozenset[str]) -> tuple[Group, list[str]]:
        path = find_path(self.mapping, base, class_id, via=via, single=True)
        if path is None:
            raise UnclearError(f"{class_id} and {base} are not joined one to one")
        return Group(path, class_id), senses(self.mapping, path, via, self.language)

    def _subject(
        self, terms: tuple[Term, ...], restrictions: Restrictions, base: str, taken: set[Term | None]
    ) -> str | None:
        """Return the class whose instances a question is about, when it names a class and none of its instances."""
        for term in terms:
            for meaning in term.of("class"):
                if term not in taken and meaning.name != base and meaning.name not in restrictions.classes:
                    return meaning.name
        return None

    def _list(self, terms: tuple[Term, ...], restrictions: Restrictions) -> Plan:
        """Return the plan of a question for instances or for plain attributes of them."""
        if any(t.of("aggregate", "superlative", "top", "each", "unit_of_time") for t in terms):
            raise UnclearError("it is not clear what is measured")
        attributes = [m.name.partition(".") for t in terms for m in t.of("attribute")[:1]]
        classes = [m.name for t in terms for m in t.of("class")[:1]]
        bases = list(dict.fromkeys(class_id for class_id, _, _ in attributes)) or classes[-1:]
        if not bases and restrictions.related:
            bases = [restrictions.related[0][0].source]
        asked = any(t.of("which") for t in terms) or bool(attributes) or bool(restrictions.related)
        if len(bases) != 1 or not asked or not (restrictions.any or attributes):
            raise UnclearError("it is not clear what is asked of the database")
        which = next((i for i, t in enumerate(terms) if t.of("which")), None)
        if which is not None and not attributes:
            bases = [self._listed(terms, which)]
        via = self._mentioned(terms, restrictions)
        base = bases[0]
        shown = tuple(self.mapping.attributes(class_id)[name] for class_id, _, name in attributes)
        compared = restrictions.compared_groups
        if compared is not None and compared.class_id != base:
            return self._compared(base, restrictions, via, terms)
        filters, reading = restrictions.filters(base, via, self.language)
        plan = Plan(base, "list", "count", None, tuple(filters), shown=shown, reading=tuple(reading))
        if any(t.of("period") for t in terms):
            plan = self._timed(plan, Head(base, None, "count", "", per_subject=False), terms, None)
        own = [item for item in plan.filters if not item.path and item.column == self.mapping.classes[base].key]
        if not plan.filters and plan.period is None:
            raise UnclearError("nothing narrows the rows down")
        if own and not shown:
            raise UnclearError("it is not clear what is asked of what is named")
        return plan

    def _listed(self, terms: tuple[Term, ...], which: int) -> str:
        """Return the class whose instances a word like "which" asks for: the one beside it."""
        beside = [terms[i] for i in (which + 1, which - 1) if 0 <= i < len(terms)]
        found = [t.of("class")[0].name for t in beside if t.of("class") and not t.of("entity")]
        if not found:
            raise UnclearError(f"it is not clear what {terms[which].text!r} asks for")
        return found[0]

    def _compared(self, target: str, restrictions: Restrictions, via: frozenset[str], terms: tuple[Term, ...]) -> Plan:
        """Return the plan of "which companies have a total above ..."."""
        compared = restrictions.compared_groups
        assert compared is not None
        aggregate: Aggregate = "sum" if compared.attribute.aggregation == "sum" else "max"
        filters, reading = restrictions.filters(compared.class_id, via, self.language, each_row=True, compared=False)
        group, note = self._by_class(target, compared.class_id, via)
        having = (compared.operator, compared.value)
        plan = Plan(compared.class_id, "groups", aggregate, compared.attribute, tuple(filters), group, having=having)
        head = Head(compared.class_id, compared.attribute, aggregate, "", per_subject=False)
        return self._timed(replace(plan, reading=(*reading, *note)), head, terms, None)


def _asks_for_instances(terms: tuple[Term, ...]) -> bool:
    """Return whether a word like "which" stands right before a class."""
    return any(a.of("which") and b.of("class") and not b.of("attribute") for a, b in pairwise(terms))


def check_all_used(
    plans: tuple[Plan, ...], terms: tuple[Term, ...], restrictions: Restrictions, mapping: DatabaseMapping
) -> None:
    """Raise UnclearError when a class, relation or word of the question has no part in the plans."""
    paths = [p.group.path for p in plans if p.group] + [f.path for p in plans for f in p.filters]
    walked = {step.relation for path in paths for step in path}
    met = {step.target for path in paths for step in path} | {p.base for p in plans}
    met |= {f.class_id for p in plans for f in p.filters} | {p.group.class_id for p in plans if p.group}
    grouped = {p.group.attribute.id for p in plans if p.group and p.group.attribute}
    columns = {p.time_column for p in plans}
    listed = {a.id for p in plans for a in p.shown} | {p.measure.id for p in plans if p.measure} | grouped
    listed |= {p.divisor.id for p in plans if p.divisor}
    for term in terms:
        if term.of("relation", "inverse") and not term.of("class", "attribute", "value"):
            if not walked & {m.name for m in term.of("relation", "inverse")}:
                raise UnclearError(f"{term.text!r} has no part in what was understood")
        elif term.of("class") and not term.of("attribute", "entity", "value"):
            names = {m.name for m in term.of("class")}
            below = {id_ for name in names for id_ in mapping.lookup.descendants(name)}
            plain = any(find_path(mapping, p.base, name, single=True) is not None for p in plans for name in names)
            if not below & met and not plain:
                raise UnclearError(f"{term.text!r} has no part in what was understood")
        elif term.of("attribute") and term not in restrictions.used:
            known = [m.name.partition(".") for m in term.of("attribute")]
            if not any(a in listed or mapping.attributes(c)[a].column in columns for c, _, a in known):
                raise UnclearError(f"{term.text!r} has no part in what was understood")
        elif term.of("compared", "compared_after") and not term.of("empty") and term not in restrictions.used:
            raise UnclearError(f"{term.text!r} compares nothing")
        elif term.of("each") and not term.of("passive", "empty") and not any(p.group or p.time_unit for p in plans):
            raise UnclearError(f"{term.text!r} splits nothing")
