"""A question into plans, without a model, or not at all: every word must be accounted for.

The question is cut into terms (lexicon); what it measures, of which rows, put together how and in which period is read
from their order. Whatever is not certain raises UnclearError, so that another path answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import get_args

from theworld.ontology import Attribute, Labels, Words
from theworld.packages import load_table
from theworld.sql.mapping import DatabaseMapping, is_measure, leads_to_many
from theworld.sql.plan import Group, Plan, UnclearError
from theworld.sql.questions.completeness import check_all_used
from theworld.sql.questions.cutting import Ranking, with_unsaid
from theworld.sql.questions.grouping import by_class, find_grouping, group_of, timed, usual_date
from theworld.sql.questions.lexicon import CUES, Meaning, Term, class_of, classes_named, dates_of, terms_of
from theworld.sql.questions.measures import Head, find_heads, happening, measure_meant, name_of, part_and_whole
from theworld.sql.questions.narrowing import Restrictions, find_restrictions, says_more
from theworld.state.tables import TableShape
from theworld.text.calendar import CalendarUnit
from theworld.text.tokens import Language

MOST_SHOWN = 4
"""Attributes shown of the latest rows, and of rows without a name, where none is named."""
_OF_EACH = re.compile("per|each|every|每.*|[a-z]+ly|annual")
"""What says that something is of each period, or of each thing: by month, each is told."""
_SHAPES: dict[str, TableShape] = {"volatility": "volatility", "change": "change", "change_over_year": "change"}


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
        if term.of("several") and len(term.meanings) == 1:
            raise UnclearError(f"{term.written!r} may be {' or '.join(term.meanings[0].value)}")
        if term.of("unreadable") and len(term.meanings) == len(term.of("unreadable", "empty")):
            raise UnclearError(f"a question with {term.text!r} is not read")
    terms = with_unsaid(terms, mapping)
    reading = _Reading(terms, mapping)
    plans = reading.plans()
    check_all_used(plans, terms, reading.found, mapping)
    said = load_table("theworld.sql", "data/words.yaml")[language]
    unsaid = [said[f"unsaid_{kind}"].format(labels.preferred(language)) for kind, labels in reading.unsaid]
    return tuple(replace(plan, reading=(*unsaid, *_senses(plan, reading.found, language))) for plan in plans)


def _senses(plan: Plan, found: Restrictions, language: Language) -> tuple[str, ...]:
    """Return in words how paths' first steps were taken, where there are other ways and the question chose none."""
    mapping, told = found.mapping, dict[str, None]()
    for one in (plan.group, plan.per, plan.distinct, *plan.filters):
        first = one.path[0] if one is not None and one.path else None
        if first is None or not first.single or first.relation in found.via:
            continue
        others = {way.target for way in mapping.steps(first.source) if way.single and way.relation != first.relation}
        if first.target in others:
            relation = mapping.lookup.relations[first.relation]
            parts = mapping.name(relation.target, language), relation.labels.preferred(language)
            told[("：" if language == "zh" else ": ").join(parts)] = None
    return tuple(told)


class _Reading:
    """The terms of one question and what they are used for."""

    def __init__(self, terms: tuple[Term, ...], mapping: DatabaseMapping) -> None:
        self._elapsed, said = _time_between(terms, mapping)
        self.found = find_restrictions(tuple(term for term in terms if term not in said), mapping)
        self.found.used |= said
        self._mapping = mapping
        self.unsaid: list[tuple[str, Labels]] = []  # what is measured though not named, and how it is called
        self._terms = [term for term in terms if term not in self.found.used]

    def plans(self) -> tuple[Plan, ...]:
        """Return one plan per measure."""
        terms, found = self._terms, self.found
        if terms_of(terms, "latest"):
            return (_plan_latest(terms, found),)
        if told := _plan_first(terms, found) or self._averaged():
            return (told,)
        grouping, unit, used = find_grouping(terms, self._mapping)
        ranking, said = self._ranking()
        shares = terms_of(terms, "share")
        free = [term for term in terms if term not in used | said | {*shares}]
        heads, ranked = self._heads(free, ranking), ranking.what if ranking else None
        if shares and (ranking is not None or unit is not None):
            raise UnclearError("shares are not ranked or grouped by time")
        if shares:
            part, divisor = part_and_whole(heads, terms, found, asked=shares[0], grouped=grouping is not None)
            plan = self._plan(part, grouping)
            if (plan.group is None) != (grouping is None):
                raise UnclearError("it is not clear what the share is of")
            return (replace(plan, shape="share", divisor=divisor),)
        if not heads:
            heads, ranked = self._unsaid(free, ranking)
        if not heads:
            return (_plan_list(terms, found),)
        if len(heads) > 1 and (ranking or (grouping and len({h.base for h in heads}) > 1)):
            raise UnclearError("more than one measure is ranked or split")
        return tuple(self._plan(head, grouping or ranked, unit, ranking) for head in heads)

    def _unsaid(self, free: Sequence[Term], ranking: Ranking | None) -> tuple[list[Head], Term | None]:
        """Return what is measured though unsaid, and ranked: rows put together (deals by stage), their one amount."""
        what = ranking.what if ranking is not None else None
        rows = {m.name for term in (*free, *([what] if what else [])) for m in term.of("class")}
        if len(rows) != 1 or terms_of(free, "attribute", "relation", "inverse", "role"):
            return [], None
        (base,) = rows
        aggregates, together = list(map(name_of, terms_of(free, "aggregate", "which"))), CUES["put_together"]
        if ranking is None and not aggregates and any(term.text in together for term in self._terms):
            self.unsaid.append(("rows", self._mapping.lookup.classes[base].labels))
            return [Head(base)], None
        sized = ranking is not None and bool(terms_of(self._terms, "superlative"))
        meant = [*filter(None, aggregates)] == ["average"] * (not sized)
        amount = measure_meant(base, self._mapping, sized=not (ranking and ranking.of_number)) if meant else None
        self.unsaid += [("amount", amount.labels)] if amount else []
        heads = [Head(base, amount, "sum" if sized else "average")] if amount else []
        rows_asked = base in self._mapping.named or terms_of(self._terms, "top", "which")
        return heads, what if rows_asked else None

    def _averaged(self) -> Plan | None:
        """Return the plan of what there is in each period, or for each of another, on average: revenue per month."""
        grouping, unit, said = _of_each(self._terms, self._mapping)
        rest, found = [term for term in self._terms if term not in said], self.found
        heads = find_heads(rest, found, found.needs(rest)) if said else []
        if len(heads) != 1 or heads[0].analysis:
            return None
        if heads[0].aggregate != "count" and not self._is_of_totals(heads[0], rest, said):
            return None
        plan = self._plan(heads[0], None, unit)
        per = group_of(grouping, plan.base, found) if grouping else None
        if per == Group((), plan.base):
            return None
        if (unit and grouping) or plan.group or plan.distinct:
            raise UnclearError("it is not clear what the average is of")
        return replace(plan, shape="figure", aggregate="average", per=per, time_unit=None, per_unit=unit)

    def _is_of_totals(self, head: Head, rest: Sequence[Term], said: set[Term]) -> bool:
        """Return whether what is averaged is totals: of what adds up, of rows that happened and are not named.

        Of the average order amount per month it is the rows, and each month is told; the average monthly is of totals.
        """
        words = [word for term in terms_of(rest, "attribute") for word in term.text.split()]
        named = head.base in classes_named(rest) or self._mapping.called(head.base, words)
        beside = any({a, b} <= said and "average" in map(name_of, (a, b)) for a, b in pairwise(self._terms))
        return head.aggregate == "sum" and self._mapping.happens(head.base) is not None and (beside or not named)

    def _heads(self, free: Sequence[Term], ranking: Ranking | None) -> list[Head]:
        """Return the measures asked for."""
        terms, found = self._terms, self.found
        if self._elapsed is not None:
            if {name_of(term) for term in terms_of(free, "aggregate")} - {"average"}:
                raise UnclearError("of the time between two dates only average, maximum and minimum are read")
            return [self._elapsed]
        heads = find_heads(free, found, found.needs(terms), ranking)
        told = terms_of(free, "attribute")
        of_named = any(t.owners("attribute") & {*found.named.values()} for t in told)
        plain = not ranking and not terms_of(free, "aggregate", "each", "unit_of_time")
        if of_named and plain and not all(map(self._measured, told)):
            return []  # attributes of something named are asked for, some of which are no measures
        which = any(a.of("which") and b.of("class") and not b.of("attribute") for a, b in pairwise(terms))
        if heads and ranking is None and which:
            raise UnclearError("it is not clear whether instances or a figure are asked for")
        return heads

    def _measured(self, term: Term) -> bool:
        return any(is_measure(self._mapping.attribute(m.name)) for m in term.of("attribute"))

    def _ranking(self) -> tuple[Ranking | None, set[Term]]:
        """Return how many of the first or last of what, and the terms that say so."""
        terms = self._terms
        tops, superlatives = terms_of(terms, "top"), terms_of(terms, "superlative")
        if not tops and not superlatives:
            return None, set()
        if len(tops) > 1 or len(superlatives) > 1:
            raise UnclearError("more than one ranking is named")
        size = tops[0].of("top")[0].value if tops else 1
        highest = all(term.of("superlative")[0].name != "lowest" for term in superlatives)
        which = terms_of(terms, "which")[:1]
        places = [terms.index(term) for term in (*which, *tops, *superlatives)]
        following = [term for i in places for term in terms[i + 1 : i + 2]]
        of_number = any(term.text in CUES["of_number"] for term in superlatives)
        rows, plain = tops or which, [term for term in following if not self._measured(term)]
        kinds = terms_of(plain, "attribute") if rows else []
        if of_number:
            kinds += terms_of(following[: len(which)], "attribute")  # which grade has the most students
        told = following if rows else plain  # the smallest limit is the limit; the smallest 3 and "which" are rows
        what = next((t for t in told if t.of("class", "role") or t in kinds), None)
        return Ranking(size, highest, of_number, what), {*tops, *superlatives, *which, *([what] if what else [])}

    def _plan(
        self,
        head: Head,
        wanted: Term | None = None,
        unit: CalendarUnit | None = None,
        ranking: Ranking | None = None,
    ) -> Plan:
        """Return the plan of one measure; `wanted` is what it is put together by."""
        base, found = head.base, self.found
        plan = Plan(base, "figure", head.aggregate, head.measure, found.filters(base))
        plan = timed(plan, head, self._terms, unit, found)
        _check_added(plan, classes_named(found.terms))
        group = self._group(head, wanted, ranking)
        if (whole := self._lines_of(head)) is not None:
            if ranking or plan.time_unit or (group is not None and (group.class_id, group.attribute) != (whole, None)):
                raise UnclearError(f"it is not clear whether the average is of {base} or of {whole}")
            return replace(plan, per=by_class(whole, base, found))
        distinct = by_class(head.distinct, base, found) if head.distinct is not None else None
        group = self._ranked_by(head, group, ranking) if ranking else group
        plan = replace(plan, group=group, distinct=distinct)
        limit, highest = (ranking.size, ranking.highest) if ranking else (None, True)
        shape = _SHAPES.get(head.analysis)
        if ranking and group is None and (shape or plan.time_unit is None):
            if shape or limit != 1 or plan.measure is None:
                raise UnclearError("it is not clear what is ranked")
            return replace(plan, aggregate="max" if highest else "min")
        usual: TableShape = "trend" if plan.time_unit else "groups" if group else "figure"
        return replace(plan, shape=shape or ("top" if ranking else usual), limit=limit, descending=highest)

    def _ranked_by(self, head: Head, group: Group | None, ranking: Ranking) -> Group | None:
        """Return what is ranked: also the rows of an adjective (the cheapest tea is a tea, told with its price)."""
        unsaid = [term for term in self._terms if term.start == term.end]  # cheapest says price, "with" says which
        rows, adjectives = Group((), head.base), terms_of(unsaid, "attribute")
        if group is None:
            return rows if adjectives and head.base in self.found.mapping.named else None
        usual = head.aggregate in {"sum", "average"} and not terms_of(self._terms, "aggregate")
        # The supplier with, or that has, the cheapest part.
        single = adjectives and group != rows and head.base in classes_named(self._terms)
        if usual and not ranking.of_number and (single or (group.path and terms_of(unsaid, "which"))):
            raise UnclearError(f"it is not clear whether all or a single figure of {head.base} is ranked")
        return group

    def _lines_of(self, head: Head) -> str | None:
        """Return what rows are lines of where the average of what these come to is asked for: of an order's amount."""
        whole = self._mapping.happens(head.base)
        summed = head.aggregate == "average" and head.measure is not None and head.measure.times
        return whole if summed and whole != head.base and whole in classes_named(self._terms) else None

    def _group(self, head: Head, wanted: Term | None, ranking: Ranking | None) -> Group | None:
        """Return what the rows of a measure are put together by."""
        base, found = head.base, self.found
        split_by = found.compares or (found.related_class if head.per_subject else None)
        if wanted is not None and class_of(wanted) == base and head.aggregate == "average" and ranking is None:
            found.used.update(terms_of(self._terms, "each"))
            return None  # the average per order is that of orders
        if wanted is not None:
            group = group_of(wanted, base, found)
        elif split_by is None or (split_by in found.named.values() and split_by != found.compares):
            return None
        else:
            group = by_class(split_by, base, found)
        for one in found.related if group == Group((), base) else ():
            if one.class_id == base and (one.operator == "exists" or one.column != found.mapping.classes[base].key):
                return Group(one.path, base)  # who has the most students: by whom the rows name, not by the rows
        return group


def _check_added(plan: Plan, named: set[str]) -> None:
    """Raise UnclearError where rows are measured that belong to many of what narrows them down, and neither is named.

    The revenue of a treatment is not all that the visits with it came to; that of visits with a treatment is.
    """
    for one in plan.filters if plan.measure else ():
        if any(leads_to_many((step,)) and not {plan.base, step.source} & named for step in one.path):
            raise UnclearError(f"{one.class_id} and {plan.base} are not joined one to one")


def _of_each(terms: Sequence[Term], mapping: DatabaseMapping) -> tuple[Term | None, CalendarUnit | None, set[Term]]:
    """Return the thing or the period of each of which the average is asked for, and the terms that say so, if any."""
    grouping, unit, used = find_grouping(terms, mapping)
    means = [i for i, term in enumerate(terms) if name_of(term) == "average"]
    counts = [i for i, term in enumerate(terms) if name_of(term) == "count"]
    if len(means) != 1 or terms_of(terms, "share", "superlative", "top"):
        return None, None, set()
    said = {terms[means[0]], *used}
    second = terms_of(terms[counts[0] :], "class")[1:2] if counts and unit is None else []
    if second:  # how many tracks an album has on average
        return second[0], None, {*said, *second}
    before, behind = terms[max(0, means[0] - 1) : means[0]], terms[means[0] + 1 :]
    things = behind[1:2] if terms_of(behind[:1], "each") else terms_of(behind, "class")  # 平均每个城市; per owner
    each = [term for term in used if _OF_EACH.fullmatch(term.text)] or terms_of(before, "unit_of_time")  # 月平均
    meant = each and (unit or grouping in things) and not terms_of(terms, "which")
    return (grouping, unit, said) if meant else (None, None, set())


def _time_between(terms: Sequence[Term], mapping: DatabaseMapping) -> tuple[Head | None, set[Term]]:
    """Return the measure of the days from one date of rows to another, if it is asked for, and the terms that say so.

    The start is the date that their class is called by ("to ship an order"), else the one first named.
    """
    asked = [term for term in terms_of(terms, "elapsed") if not term.of("attribute")]
    by_class = sorted(terms, key=lambda term: (not term.of("class"), term))
    named = [(term, dates) for term in by_class if (dates := dates_of(term, mapping))]
    owners = {owner for _, dates in named for owner in dates}
    both = {owner: {dates[owner].id: dates[owner] for _, dates in named if owner in dates} for owner in owners}
    bases = [owner for owner in owners if len(both[owner]) == 2]
    if not asked or len(bases) != 1:
        return None, set()
    start, end = both[bases[0]].values()
    en, zh = ([one.labels.preferred(language) for one in (start, end)] for language in get_args(Language))
    measure = Attribute(
        id=f"{start.id}-{end.id}",
        labels=Labels(zh="从{}到{}的天数".format(*zh), en="days from {} to {}".format(*en)),
        type="number",
        unit=Words(zh="天", en="days"),
        column=end.column,
        since=start.column,
        aggregation="average",
        confidence=min(start.confidence, end.confidence),
    )
    said = {term for term, dates in named if bases[0] in dates and not term.of("class")}
    return Head(bases[0], measure, "average"), {*asked, *said}


def _plan_list(terms: Sequence[Term], found: Restrictions) -> Plan:
    """Return the plan of a question for instances or for plain attributes of them."""
    if terms_of(terms, "aggregate", "superlative", "top", "each", "unit_of_time"):
        raise UnclearError("it is not clear what is measured")
    attributes = _attributes_named(terms, found)
    base = _listed(terms, found, list(dict.fromkeys(m.owner for m in attributes)))
    shown = tuple(found.mapping.attribute(m.name) for m in attributes)
    event = None if shown else happening(base, terms, found, found.needs(terms))
    if event and found.compares:
        raise UnclearError("it is not clear whether all that are named are meant, or any")
    if not (shown or event or base in found.mapping.named):  # a mere number says nothing of a loan
        shown = _described_by(base, found.mapping)
    head = event or Head(base)  # who bought a kettle in March: the customers of these orders, each once
    plan = Plan(head.base, "list", "count", filters=found.filters(head.base), shown=shown)
    plan = replace(plan, group=by_class(base, head.base, found) if event else None)
    plan = timed(plan, head, terms, None, found)
    if not plan.filters and plan.period is None:
        raise UnclearError("nothing narrows the rows down")
    key = found.mapping.classes[base].key
    if not attributes and any(not item.path and item.column == key for item in plan.filters):
        raise UnclearError("it is not clear what is asked of what is named")
    return plan


def _attributes_named(terms: Sequence[Term], found: Restrictions) -> list[Meaning]:
    """Return the attributes that terms name: of several classes that have one, what is named."""
    known = found.named.values()
    named = [t.of("attribute") for t in terms_of(terms, "attribute")]
    if not terms:  # when was Ann hired: nothing but her, and the verb of one of her dates
        dated = [term for term in found.given if term not in found.negated and term.owners("dated") & {*known}]
        found.given = [term for term in found.given if term not in dated]
        named += [term.of("dated") for term in dated]
    if named and Meaning("which", "who") in {meaning for term in terms for meaning in term.meanings}:
        raise UnclearError("it is not clear who is asked for")  # who founded it is not when it was founded
    return [next((one for one in choices if one.owner in known), choices[0]) for choices in named]


def _described_by(class_id: str, mapping: DatabaseMapping, but: str | None = None) -> tuple[Attribute, ...]:
    """Return the first attributes of rows, but for a column and for those that name them."""
    table = mapping.classes[class_id]
    told = {but, table.key, table.label.zh, table.label.en, table.given}
    own = (one for one in mapping.attributes[class_id].values() if one.column not in told and one.confidence)
    return tuple(islice(own, MOST_SHOWN))


def _listed(terms: Sequence[Term], found: Restrictions, owners: list[str]) -> str:
    """Return the class that is listed: the owner of the attributes asked for, else what is asked for, or related."""
    asked = [i for i, t in enumerate(terms) if t.of("which")][:1]
    near = [t for i in asked for t in (*terms[i + 1 : i + 2], *terms[max(0, i - 1) : i]) if not t.of("entity")]
    related = [found.related_class] if found.related_class and not asked else []
    near += [] if asked or related else terms[:1]  # members from Oslo
    bases = owners or [t.of("class")[0].name for t in terms_of(near, "class")][:1] or related
    if len(bases) != 1:
        raise UnclearError("it is not clear what is asked of the database")
    return bases[0]


def _plan_latest(terms: Sequence[Term], found: Restrictions) -> Plan:
    """Return the plan of a question for the latest rows, of each instance where one is named; UnclearError for more."""
    mapping = found.mapping
    dated = any(says_more(term, mapping) for term in (*terms, *found.given, *found.values))  # the last one shipped
    if dated or terms_of(terms, "aggregate", "superlative", "top", "unit_of_time"):
        raise UnclearError("figures of the latest rows, and the latest by another date, are not read")
    base, owner = _latest_and_owner(terms, found)
    usual_date(base, found)
    group, time = by_class(owner, base, found) if owner else None, _last_by(base, mapping)
    who = base not in mapping.people and any(Meaning("which", "who") in term.meanings for term in terms)
    if who if group is None else len(group.path) != 1:
        raise UnclearError(f"{base} does not belong to one {owner or 'who is asked for'}")
    asked = [mapping.attribute(m.name) for t in terms for m in t.of("attribute") if m.owner == base]
    shown = [one for one in asked if one.column != time] or _described_by(base, mapping, but=time)
    plan = Plan(base, "latest", "count", filters=found.filters(base), group=group, shown=tuple(dict.fromkeys(shown)))
    return replace(timed(plan, Head(base), terms, None, found), time_column=time)


def _plan_first(terms: Sequence[Term], found: Restrictions) -> Plan | None:
    """Return the plan of the rows with the first or the last of the dates that a verb names: 入职最早的员工."""
    mapping, ends = found.mapping, [term for term in terms if name_of(term) in {"min", "max"}]
    classes = classes_named(terms)
    if len(ends) != 1 or len(classes) != 1 or {t for t in terms if not t.of("class", "which", "period")} != {*ends}:
        return None
    (base,) = classes
    dates = {own[base].column for term in found.given if base in (own := dates_of(term, mapping))}
    time = next(iter(dates), None) or _last_by(base, mapping)
    if time is None or len(dates) > 1:
        return None
    plan = Plan(base, "latest", "count", filters=found.filters(base), shown=_described_by(base, mapping, but=time))
    plan = timed(plan, Head(base), (*terms, *found.given), None, found)
    return replace(plan, time_column=time, descending=name_of(ends[0]) == "max")


def _latest_and_owner(terms: Sequence[Term], found: Restrictions) -> tuple[str, str | None]:
    """Return the class whose latest rows are asked for, and that of whose rows they are, where one is named."""
    mapping, relations = found.mapping, found.mapping.lookup.relations
    owners = {owner for t in terms for owner in t.owners("attribute")}
    named = classes_named(terms) | {relations[one].source for one in found.via if one in relations}
    rows = [one for one in (owners or named) if mapping.classes[one].time is not None]
    rows = rows or [one for one in named if _last_by(one, mapping)]
    others = (classes_named(terms) - {*rows} if rows else set()) or {*found.named.values()}
    rows = rows or [*found.dated]  # when somebody last borrowed a book: a loan, of whatever book
    # Whose is the latest: "which customer ... last", "the last customer to ...".
    asked = any(a.of("which", "latest") and b.owners("class") & others for a, b in pairwise(terms))
    if len(rows) != 1 or len(others) > 1 or asked:
        raise UnclearError("it is not clear the latest of what is asked for, or whose")
    return rows[0], next(iter(others), None)


def _last_by(class_id: str, mapping: DatabaseMapping) -> str | None:
    """Return the column that says which rows are the latest: when they happened, or since when a thing is there."""
    dates = (one for one in mapping.attributes[class_id].values() if one.type == "date")
    since = (d.column for d in dates if any(word in label for label in d.labels.all() for word in CUES["since"]))
    return mapping.classes[class_id].time or next(since, None)
