"""A question into plans, without a model, or not at all: every word must be accounted for.

The question is cut into terms (lexicon); what it measures, of which rows, put together how and in which period is read
from their order. Whatever is not certain raises UnclearError, so that another path answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.plan import Group, Plan, UnclearError
from theworld.sql.questions.completeness import check_all_used
from theworld.sql.questions.cutting import Ranking, cut_question
from theworld.sql.questions.grouping import by_attribute, by_class, by_role, class_of, find_grouping, timed
from theworld.sql.questions.lexicon import Lexicon, Term, cues
from theworld.sql.questions.measures import Head, find_heads
from theworld.sql.questions.narrowing import find_restrictions
from theworld.sql.questions.restrictions import Restrictions
from theworld.sql.questions.rows import asks_for_latest, plan_latest, plan_list
from theworld.sql.questions.shaping import shaped
from theworld.sql.questions.shares import part_and_whole, rows_that_happen, share_terms
from theworld.sql.questions.unsaid import with_unsaid
from theworld.text.calendar_units import CalendarUnit
from theworld.text.language import Language


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
        said = ", ".join(unknown[:5])
        raise UnclearError(f"these words mean nothing to the database: {said}", words=unknown)
    for term in terms:
        if term.of("unmapped") and not term.of("class", "entity", "value"):
            missing = f"{term.text!r} has no table of its own; the mapping does not say which rows of its parent it is"
            raise UnclearError(f"{missing} (a `table` with `counts`)")
        before = (t for t in terms if t.start < term.start and t.of("each", "which", "who", "entity", "value"))
        if term.of("pronoun") and len(term.meanings) == 1 and next(before, None) is None:
            raise UnclearError(f"it is not clear whom {term.text!r} means")
        if term.of("unreadable") and len(term.meanings) == len(term.of("unreadable", "empty")):
            raise UnclearError(f"a question with {term.text!r} is not read")
    terms = with_unsaid(terms, mapping)
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
        if any(t.of("extreme") for t in terms):
            return (self._extreme(terms),)
        averaged = self._averaged(terms)
        if averaged is not None:
            return (averaged,)
        shares = share_terms(terms)
        terms = tuple(term for term in terms if term not in shares)
        grouping, time_unit, used = find_grouping(terms, self.mapping)
        ranking, ranked_by, more = self._ranking(terms)
        used |= more
        heads, ranked_by = self._heads(terms, used, ranking, ranked_by)
        if shares:
            if ranking is not None or time_unit is not None:
                raise UnclearError("shares are not ranked or grouped by time")
            return (self._share(heads, shares, terms, grouping),)
        if not heads:
            via = self._mentioned(terms, restrictions)
            return (plan_list(terms, restrictions, via, mapping=self.mapping, language=self.language),)
        if len(heads) > 1 and (ranking or (grouping and len({h.base for h in heads}) > 1)):
            raise UnclearError("more than one measure is ranked or split")
        return tuple(
            self._plan(head, terms, restrictions, grouping=grouping, unit=time_unit, ranking=ranking, ranked=ranked_by)
            for head in heads
        )

    def _extreme(self, terms: tuple[Term, ...]) -> Plan:
        """Return the plan of the first or the last date of rows: the earliest order date."""
        if any(t.of("aggregate", "superlative", "top", "each", "share", "unit_of_time", "which") for t in terms):
            raise UnclearError("it is not clear what is the earliest or the latest")
        (lowest,) = {m.name == "lowest" for t in terms for m in t.of("extreme")}
        own = [m.name.partition(".") for t in terms for m in t.of("attribute")]
        dates = {(c, self.mapping.attributes(c)[a]) for c, _, a in own if self.mapping.attributes(c)[a].type == "date"}
        if len(dates) != 1:
            raise UnclearError("it is not clear which date is meant")
        ((base, date),) = dates
        head = Head(base, date, "min" if lowest else "max", "", per_subject=False)
        return self._plan(head, terms, self.restrictions, grouping=None, unit=None, ranking=None, ranked=None)

    def _averaged(self, terms: tuple[Term, ...]) -> Plan | None:
        """Return the plan of how much there is of something for each of another: 平均每个客户, tracks per album."""
        means = [i for i, t in enumerate(terms) if t.of("aggregate") and t.of("aggregate")[0].name == "average"]
        if len(means) != 1 or any(t.of("share", "superlative", "top", "unit_of_time") for t in terms):
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
        heads = find_heads(rest, self.mapping, superlative=False, needs=self._needs([whose], None))
        if len(heads) != 1 or heads[0].analysis:
            raise UnclearError("it is not clear what the average is of")
        plan = self._plan(heads[0], tuple(rest), self.restrictions, grouping=None, unit=None, ranking=None, ranked=None)
        group, note = by_class(
            class_of(whose) or "", plan.base, self._mentioned(terms, self.restrictions), self.mapping, self.language
        )
        if len(group.path) != 1 or plan.group is not None:
            raise UnclearError("it is not clear what the average is of")
        return replace(plan, aggregate="average", per=group, reading=(*plan.reading, *note))

    def _heads(
        self, terms: tuple[Term, ...], used: set[Term], ranking: Ranking | None, ranked_by: Term | None
    ) -> tuple[list[Head], Term | None]:
        """Return the measures asked for, and the class whose rows are ranked by them."""
        free = [t for t in terms if t not in used]
        related = self.restrictions.related[0][0].source if self.restrictions.related else None
        counting = ranking is not None and any(_is_of_number(t) for t in terms)
        related = related or self._valued(free)
        needs = self._needs([*used, *free], ranked_by)
        heads = find_heads(
            free,
            self.mapping,
            superlative=ranking is not None,
            related=related,
            counting=counting,
            needs=needs,
            split=any(t.of("each", "unit_of_time") for t in used),
        )
        if self._tells(heads, free, ranking):
            return [], ranked_by
        if not heads and ranked_by is not None:
            heads = find_heads([*free, ranked_by], self.mapping, superlative=True, related=related)
            if not any(t.of("top", "which") for t in terms):
                ranked_by = None  # "the smallest limit" asks for the limit, "the smallest 3" and "which" for rows
        adjective = any(m.value in {"highest", "lowest"} for t in free for m in t.of("attribute"))
        of_ranked = {m.name for m in ranked_by.of("class")} if ranked_by is not None else set()
        if adjective and any(
            h.measure and h.measure.aggregation == "average" and h.base not in of_ranked for h in heads if of_ranked
        ):
            raise UnclearError("what the superlative is of does not belong to what is asked for itself")
        if heads and ranking is None and _asks_for_instances(terms):
            raise UnclearError("it is not clear whether instances or a figure are asked for")
        return heads, ranked_by

    def _valued(self, terms: list[Term]) -> str | None:
        """Return the class that all named values are of: chief physicians are doctors."""
        classes = [{m.name.partition(".")[0] for m in t.of("value")} for t in self.restrictions.values]
        common = set.intersection(*classes) if classes else set()
        return next(iter(common)) if len(common) == 1 and any(t.of("aggregate") for t in terms) else None

    def _needs(self, terms: list[Term], ranked: Term | None) -> list[frozenset[str]]:
        """Return the classes, one of each, that a measure must belong to: of what groups it and of what is named."""
        named = [frozenset({class_id}) for class_id in self.restrictions.keys]
        named += [frozenset(m.name.partition(".")[0] for m in t.of("value")) for t in self.restrictions.values]
        groups = [t for t in (ranked, *terms) if t is not None and t.of("class")]
        return [*named, *(frozenset(m.name for m in t.of("class")) for t in groups)]

    def _tells(self, heads: list[Head], terms: list[Term], ranking: Ranking | None) -> bool:
        """Return whether attributes of something named are asked for, some of which are no measures."""
        if ranking is not None or not heads or any(t.of("aggregate", "each", "unit_of_time") for t in terms):
            return False
        owners = {m.name.partition(".")[0] for t in terms for m in t.of("attribute")}
        plain = [t for t in terms if t.of("attribute") and not _measured(t, self.mapping)]
        return bool(plain) and bool(owners & set(self.restrictions.keys))

    def _ranking(self, terms: tuple[Term, ...]) -> tuple[Ranking | None, Term | None, set[Term]]:
        """Return how many of the first or last, the class that is ranked, and the terms that say so."""
        rankings = [t for t in terms if t.of("top")]
        superlatives = [t for t in terms if t.of("superlative") and not t.of("top")]
        if len(rankings) > 1 or len(superlatives) > 1:
            raise UnclearError("more than one ranking is named")
        if not rankings and not superlatives:
            return None, None, set()
        top: Ranking | None = rankings[0].of("top")[0].value if rankings else None
        lowest = bool(superlatives) and superlatives[0].of("superlative")[0].name == "lowest"
        ranking = Ranking(top.size if top else 1, top.highest if top and not superlatives else not lowest)
        at = terms.index((rankings or superlatives)[0])
        which = next((i for i, t in enumerate(terms[:-1]) if t.of("which")), None)
        following = [terms[i + 1] for i in (which, at) if i is not None and i + 1 < len(terms)]
        plain = [
            t
            for t in following
            if t.of("attribute") and not _measured(t, self.mapping) and (rankings or which is not None)
        ]
        ranked = next((t for t in following if t.of("class", "role") or t in plain), None)
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
        plan = timed(plan, head, terms, unit, mapping=self.mapping, language=self.language)
        wanted = grouping or ranked
        group_class = class_of(wanted) if wanted is not None else None
        if group_class == base and head.aggregate == "average" and ranking is None:
            wanted = group_class = None  # the average per order is that of orders
        if wanted is not None and group_class is None and wanted.of("role"):
            plan = replace(plan, group=by_role(wanted, base, via, self.mapping))
        elif wanted is not None and group_class is None:
            plan = replace(plan, group=by_attribute(wanted, base, via, self.mapping))
        subject = restrictions.subject or self._subject(terms, restrictions, base, {grouping, ranked})
        if group_class is None and plan.group is None and (head.per_subject or restrictions.compares):
            group_class = restrictions.compares or subject
        own = next((j for j, keys, _ in restrictions.related if keys is None and j.target == group_class == base), None)
        if own is not None:  # "which doctor has the most students": by whom the rows name, not by the rows
            plan = replace(plan, group=Group((own,), own.target))
        elif group_class is not None:
            group, note = by_class(group_class, base, via, self.mapping, self.language)
            plan = replace(plan, group=group, reading=(*plan.reading, *note))
        if head.distinct is not None:
            counted, note = by_class(head.distinct, base, via, self.mapping, self.language)
            plan = replace(plan, distinct=counted, reading=(*plan.reading, *note))
        return shaped(plan, head, ranking=ranking, ranked=ranked, unit=unit)

    def _share(self, heads: list[Head], shares: list[Term], terms: tuple[Term, ...], grouping: Term | None) -> Plan:
        heads = heads or rows_that_happen(terms, self._needs([], None), self.mapping)
        part, other, whole = part_and_whole(heads, shares, terms, self.restrictions, grouped=grouping is not None)
        plan = self._plan(part, terms, self.restrictions, grouping=grouping, unit=None, ranking=None, ranked=None)
        if (plan.group is None) != (grouping is None):
            raise UnclearError("it is not clear what the share is of")
        return replace(plan, shape="share", whole=whole, divisor=other.measure if other else None)

    def _mentioned(self, terms: tuple[Term, ...], restrictions: Restrictions) -> frozenset[str]:
        names = {m.name for t in terms for m in t.of("class", "relation", "inverse", "role")}
        return frozenset(names | restrictions.mentioned)

    def _subject(
        self, terms: tuple[Term, ...], restrictions: Restrictions, base: str, taken: set[Term | None]
    ) -> str | None:
        """Return the class whose instances a question is about, when it names a class and none of its instances."""
        for term in terms:
            for meaning in term.of("class"):
                if term not in taken and meaning.name != base and meaning.name not in restrictions.classes:
                    return meaning.name
        return None


def _is_of_number(term: Term) -> bool:
    """Return whether a superlative compares how many there are: the most orders."""
    return bool(term.of("superlative")) and term.text in cues()["of_number"]


def _measured(term: Term, mapping: DatabaseMapping) -> bool:
    names = [m.name.partition(".") for m in term.of("attribute")]
    return any(is_measure(mapping.attributes(class_id)[name]) for class_id, _, name in names)


def _asks_for_instances(terms: tuple[Term, ...]) -> bool:
    """Return whether a word like "which" stands right before a class."""
    return any(a.of("which") and b.of("class") and not b.of("attribute") for a, b in pairwise(terms))
