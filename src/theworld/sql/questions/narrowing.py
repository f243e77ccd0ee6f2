"""Which rows a question is about: names, values, negations, alternatives, numbers, and relations between instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import cast

from theworld.ontology import Attribute, Relation
from theworld.sql.mapping import MOST_STEPS, DatabaseMapping, Path, is_measure
from theworld.sql.plan import Filter, Operator, UnclearError
from theworld.sql.questions.lexicon import (
    CUES,
    Meaning,
    Term,
    TermKind,
    classes_dated,
    classes_named,
    dates_of,
    forms_of,
    period_verbs,
    terms_of,
)
from theworld.state.tables import Cell
from theworld.text.quantities import Quantity, unit_of
from theworld.text.tokens import fold_in_place

LONGEST_BETWEEN = 3  # characters between a name and what is said to be its own: Ann's orders
_CAN_BE_MISSING: tuple[TermKind, ...] = ("value", "entity", "class", "attribute", "dated", "role")


@dataclass
class Restrictions:
    """What narrows the rows down, in the question's terms."""

    mapping: DatabaseMapping
    terms: tuple[Term, ...] = ()
    """All of the question, in its order."""
    via: frozenset[str] = frozenset()
    """The relations and classes that the question mentions."""
    used: set[Term] = field(default_factory=set)
    named: dict[Term, str] = field(default_factory=dict)
    """Instances with their class."""
    values: list[Term] = field(default_factory=list)
    compared: list[Filter] = field(default_factory=list)
    """Attributes compared with a number, as seen from their own class."""
    related: list[Filter] = field(default_factory=list)
    """Relations to instances, as seen from the class of those related: to some, to any, to those with a value."""
    negated: set[Term] = field(default_factory=set)
    """Instances, values, classes, attributes and dates that the rows must not have."""
    absent: bool = False
    """Whether a negation means that nothing of the kind happened: never sold, no orders, not bought by somebody."""
    alternatives: list[tuple[Term, Term]] = field(default_factory=list)
    """Terms with "or" between them: they must narrow one column."""
    had: list[Term] = field(default_factory=list)
    """Classes of which the rows are said to have one: orders with an employee."""
    given: list[Term] = field(default_factory=list)
    """Classes, attributes and verbs: rows that have one, or where it is negated none."""
    happened: bool = False
    """Whether a verb says that rows are joined by what happened: who bought a product."""
    dated: frozenset[str] = frozenset()
    """The classes that say when, where such a verb names a date."""

    @property
    def related_class(self) -> str | None:
        """The class whose instances are related to others."""
        return self.related[0].path[0].source if self.related else None

    @property
    def compares(self) -> str | None:
        """The class of which several instances are named, to be told each."""
        together = {self.named.get(term) for term in (*chain(*self.alternatives), *self.negated)}
        classes = [class_id for class_id, _ in dict.fromkeys((c, t.text) for t, c in self.named.items())]
        return next((c for c in classes if classes.count(c) > 1 and c not in together), None)

    def needs(self, terms: Sequence[Term]) -> list[frozenset[str]]:
        """Return the classes, one of each, that a measure must belong to: of what is named, and of what terms name."""
        named = [frozenset({class_id}) for class_id in dict.fromkeys(self.named.values())]
        named += [frozenset(term.owners("value")) for term in self.values]
        return [*named, *(frozenset(term.owners("class")) for term in terms_of(terms, "class"))]

    def filters(self, base: str) -> tuple[Filter, ...]:
        """Return the conditions as seen from a class."""
        merged = self._named_or_valued(base)
        if any(item.class_id != base for item in self.compared):
            raise UnclearError(f"{self.compared[0].label!r} is not about these rows")
        related = [replace(one, path=(*self._path(base, one.path[0].source), *one.path)) for one in self.related]
        given = [self._given(term, base) for term in self.given]
        never = {item.path[0] for item in given if item.negated and item.path and not item.path[0].single}
        if any(item.path and item.path[0] in never for item in merged):
            raise UnclearError("it is not clear whether nothing happened at all, or not to what is named")
        reached = {step.target for item in (*merged, *related, *given) for step in item.path}
        given += [self._given(term, base) for term in self.had if not term.owners("class") & {base, *reached}]
        return (*merged, *self.compared, *related, *given, *self._done(base, merged))

    def _done(self, base: str, merged: Sequence[Filter]) -> list[Filter]:
        """Return that rows have the date of a verb that only says that they happened: trainings completed."""
        ways = {base: (), **{s.target: item.path[: i + 1] for item in merged for i, s in enumerate(item.path)}}
        other = {*self.used, *period_verbs(self.terms), *terms_of(self.terms, "class", "attribute")}
        verbs = [m for term in terms_of(self.terms, "dated") if term not in other for m in term.of("dated")]
        dates = [(m.owner, self.mapping.attribute(m.name).column) for m in verbs if m.owner in ways]
        return [Filter(ways[one], one, column or "", "filled", (), "") for one, column in dates]

    def _named_or_valued(self, base: str) -> list[Filter]:
        """Return the conditions of instances and values, those on one column as one: "raised and cut" is either."""
        by_term = {term: self._is(term, base) for term in (*self.named, *self.values)}
        places = {term: (one.path, one.class_id, one.column) for term, one in by_term.items()}
        if any(places.get(a, a) != places.get(b, b) for a, b in self.alternatives):
            raise UnclearError("what stands beside 'or' is not of one kind")
        beside: dict[tuple[Path, str, str, bool], list[Term]] = {}
        for term, one in by_term.items():
            beside.setdefault((one.path, one.class_id, one.column, one.negated), []).append(term)
        apart = {*chain(*self.alternatives)} | self.negated
        merged: list[Filter] = []
        for (path, *_), terms in beside.items():  # of several names of what a row may have many of: all, or any?
            if len({t.text for t in terms}) > 1 and not apart & {*terms} and not all(step.single for step in path):
                said = " and ".join(term.text for term in terms)
                raise UnclearError(f"it is not clear whether {said} are both meant, or either")
            if len({t.text for t in terms}) > 1 and terms_of(self.terms, "versus") and self.compares is None:
                raise UnclearError(f"{terms[0].text!r} and {terms[1].text!r} are not told each; ask by what they are")
            values = dict.fromkeys(value for term in terms for value in by_term[term].values)
            label = "、".join(by_term[term].label for term in terms)
            merged.append(replace(by_term[terms[0]], values=tuple(values), label=label))
        return merged

    def relate(self, term: Term, named: Meaning, before: Sequence[Term], after: Sequence[Term]) -> None:
        """Take in that rows are related to an instance beside a term, or to those that have a value, or to any.

        By a key in their own table rows are related to one other (who reports to somebody, or to anybody); over another
        table to many (subsidiaries of X), and which side is meant follows from the words and their order.
        """
        relation = self.mapping.lookup.relations[named.name]
        forward, back = self.mapping.joins[named.name]
        directed = forward.link is not None and not relation.symmetric
        beside = [t for t in (*after, *before) if relation.target in t.owners("entity")]
        beside += [t for t in after if forward.link is None and relation.target in t.owners("value")]
        if (directed or term.text in CUES["leading"]) and len(beside) != 1:
            raise UnclearError(f"it is not clear whom {term.text!r} is about")
        behind = beside[:1] == [*after][:1]
        join, to = back if _leads_back(term, relation, named, directed=directed, behind=behind) else forward, beside[:1]
        words = " ".join(t.text for t in sorted((term, *to)))
        keys = tuple(m.value for t in to for m in t.of("entity") if m.owner == join.target)
        self.used.update(to)
        if to and not keys:
            self.related.append(replace(self._is(to[0], join.target), path=(join,), label=words))
        elif keys or all(known.path != (join,) for known in self.related):
            key = self.mapping.classes[join.target].key
            self.related.append(Filter((join,), join.target, key, "in" if keys else "exists", keys, words))

    def _given(self, term: Term, base: str) -> Filter:
        """Return the condition that a column of the rows holds something, or that something leads to them."""
        negated = term in self.negated
        if not term.of("attribute", "class", "dated") and (key := self._key(term, base)):
            return Filter((), base, key, "filled", (), term.written, negated=negated)
        others = () if term.of("attribute") else term.owners("dated")  # customers who never ordered: of orders
        near = [one for one in (base, self.mapping.happens(base)) if one in term.owners("attribute", "dated")]
        owner = next(iter(near), next(iter(others)) if len(others) == 1 else base)
        own = [self.mapping.attribute(m.name) for m in term.of("attribute", "dated") if m.owner == owner]
        classes = [m.name for m in term.of("class") if m.name != base and not own]
        event = self.mapping.event_of([base], dated=self.dated) if term.of("traded") and not own else None  # never sold
        if len(own) + len(classes) != 1 and event is None:
            raise UnclearError(f"{term.text!r} is not about these rows")
        if own:
            path, empty = self._path(base, owner), _nothing(own[0])
            return Filter(path, owner, own[0].column or "", "filled", empty, term.written, negated=negated)
        path = self._path(base, classes[0]) if event is None else self.mapping.over(event, base, event)
        met = event or classes[0]
        return Filter(path, met, self.mapping.classes[met].key, "exists", (), term.written, negated=negated)

    def _key(self, term: Term, base: str) -> str | None:
        """Return the column of rows with the key of what they have or lack: companies without an owner."""
        own = [(Meaning("role", one.id, "target"), j.column) for one, j in self.mapping.relations if one.source == base]
        keys = [column for role, column in own if role in term.meanings]
        return keys[0] if len(keys) == 1 else None

    def _path(self, base: str, class_id: str) -> Path:
        path = self.mapping.path(base, class_id, via=self.via)
        between = [s.target for s in (path or ())[:-1] if not s.single and s.link is None and s.target not in self.via]
        lines = any(self.mapping.happens(one) == base for one in between)  # orders with a product among their lines
        met = (lines or self.happened) and (path is None or between)
        event = self.mapping.event_of([base, class_id], dated=self.dated) if met else None
        if event is not None:
            return self.mapping.over(event, base, class_id)
        if path is None and self.mapping.path(class_id, base, single=True) is not None:
            return self.mapping.over(class_id, base, class_id)  # a repair is of one bicycle, and so of one customer
        if path is None:
            raise UnclearError(f"{class_id} does not narrow {base} down")
        if between:  # a book and a member may meet in a loan or a reservation: neither is meant unsaid
            raise UnclearError(f"it is not said that {base} and {class_id} meet in {between[0]}")
        return path

    def _is(self, term: Term, base: str) -> Filter:
        """Return the condition that rows are an instance, or have the values a word means: in the nearest class."""
        choices: dict[str, list[Cell]] = {}
        own = self.named.get(term)
        for meaning in term.of("value") if own is None else [m for m in term.of("entity") if m.owner == own]:
            choices.setdefault(meaning.name.partition("=")[0], []).append(meaning.value)
        steps: dict[str, tuple[bool, int]] = {}
        for name in choices:
            owner = name.partition(".")[0]
            path = self.mapping.path(base, owner)
            steps[name] = owner not in self.via and owner != base, MOST_STEPS + 1 if path is None else len(path)
        nearest = [name for name in choices if steps[name] == min(steps.values())]
        if len(nearest) != 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        (name,), class_id = nearest, nearest[0].partition(".")[0]
        column = self.mapping.classes[class_id].key if own else self.mapping.attribute(name).column or ""
        below = self.mapping.belongs_by(class_id) if own else None
        path, negated = self._path(base, class_id), term in self.negated
        if negated and own is None and class_id not in self.via and not all(step.single for step in path):
            raise UnclearError(f"it is not clear whether none is {term.text!r}, or one is not; name the {class_id}")
        return Filter(path, class_id, column, "in", tuple(choices[name]), term.written, below, negated)


def _nothing(attribute: Attribute) -> tuple[Cell, ...]:
    """Return what a column holds, beside NULL, where there is nothing; codes that are numbers are never empty."""
    if is_measure(attribute):
        return (0,)
    texts = all(isinstance(value.in_column, str) for value in attribute.values)
    return ("",) if attribute.type in {"string", "enum"} and texts else ()


def find_restrictions(terms: Sequence[Term], mapping: DatabaseMapping) -> Restrictions:
    """Return what narrows the rows down, with the terms that say so."""
    found = Restrictions(mapping, tuple(terms))
    verbs = terms_of(terms, "traded", "dated")
    found.happened = not all(term.of("class", "attribute", "value", "entity") for term in verbs)
    found.dated = frozenset(classes_dated(terms))
    _negations(terms, found)
    _relations(terms, found)
    _roles(terms, found)
    _sequences(terms, found)
    dating = period_verbs(terms)
    for i, term in enumerate(terms):
        if term in found.used:
            continue
        if term.of("or"):
            found.alternatives.append((terms[max(0, i - 1)], terms[min(i + 1, len(terms) - 1)]))
        elif term.of("entity"):
            classes = term.owners("entity") & classes_named(terms) or term.owners("entity")
            if len(classes) > 1:  # of several the one that the question speaks of
                raise UnclearError(f"{term.text!r} is the name of more than one thing")
            found.named[term] = classes.pop()
        elif _is_value(term):
            found.values.append(term)
        elif term not in dating and says_more(term, mapping):
            found.given += [] if _names_column(term, terms[i + 1 : i + 2], mapping) else [term]
        else:
            continue
        found.used.add(term)
    _numbers(terms, found)
    if lost := found.negated - found.used:
        raise UnclearError(f"it is not clear what is not {min(lost).text!r}")
    rest = [term for term in terms if term not in found.used]
    found.had = [term for term in rest if term.of("had") and not term.of("attribute")]
    relations = (m.name for t in terms for m in t.of("relation", "inverse", "role"))
    found.via |= frozenset(relations) | classes_named(rest)
    return found


def _is_value(term: Term) -> bool:
    """Return whether a term is a value of a column, and no class, attribute or figure that is called the same."""
    return bool(term.of("value")) and not term.of("attribute", "class", "aggregate")


def says_more(term: Term, mapping: DatabaseMapping) -> bool:
    """Return whether a verb says more of rows than that they happened: what is sold has a date of sale anyway."""
    usual = term.of("traded") and _of_time(term, mapping)
    return bool(term.of("dated")) and not usual and not term.of("class", "attribute")


def _of_time(verb: Term, mapping: DatabaseMapping) -> bool:
    """Return whether a verb names no dates but those that say when rows happened."""
    return all(mapping.attribute(m.name).column == mapping.classes[m.owner].time for m in verb.of("dated"))


def _names_column(verb: Term, following: Sequence[Term], mapping: DatabaseMapping) -> bool:
    """Return whether a verb only says which column a value is of: shipped to Germany, a ship country."""
    labels = (mapping.attribute(m.name).labels.preferred("en") for t in following for m in t.of("value"))
    return any(label and verb.text.startswith(label.split()[0]) for label in labels)


def _negations(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in what is turned into its contrary: what follows "not" or "without", what stands before "excluded".

    A Chinese "not" that nothing follows is of what stands before it.
    """
    for i, term in enumerate(terms):
        if not term.of("not", "not_after"):
            continue
        at = _turned_round(terms, i, found.mapping)
        chosen = terms[at]
        # With it those of its kind that stand in one list with it: not from Germany, France or Spain.
        kinds = [{m.name.partition("=")[0] for m in t.of("value", "entity")} for t in terms]
        listed = [bool(kinds[at] & kinds[j]) or bool(t.of("or", "joined")) for j, t in enumerate(terms)]
        first = max((j + 1 for j in range(at) if not listed[j]), default=0)
        last = next((j for j in range(at + 1, len(terms)) if not listed[j]), len(terms))
        found.negated |= {chosen, *terms_of(terms[first:last], "value", "entity")}
        dated = chosen.of("dated") and not _of_time(chosen, found.mapping)
        whole = bool(chosen.owners("value") & classes_named(terms[at:]))  # no cancelled orders
        done = chosen.of("entity") or terms_of(terms[i + 1 : at], "traded", "dated")  # not sold to Germany
        not_yet = dated or (chosen.of("value", "attribute", "role") and not whole and not done)
        found.absent |= not not_yet or term.text in CUES["never"]
        found.used.add(term)
        classes = classes_named(terms)  # contacts without an e-mail, though some activities are called so
        of_named = chosen.owners("attribute") & classes and not chosen.owners("value", "entity") & classes
        if of_named or not (chosen.of("entity") or _is_value(chosen)):
            found.given.append(chosen)
            found.used.add(chosen)


def _turned_round(terms: Sequence[Term], at: int, mapping: DatabaseMapping) -> int:
    """Return the place of what a "not" turns round; UnclearError where that could be several things."""
    term, before = terms[at], () if terms[at].text.isascii() and terms[at].of("not") else terms[:at][::-1]
    reach = [*(terms[at + 1 :] if term.of("not") else ()), *before]
    able = terms_of(reach, *_CAN_BE_MISSING) or terms_of(reach, "traded")  # never bought anything
    if not able or terms_of(reach[: reach.index(able[0])], "period", "number", "compared"):
        raise UnclearError(f"it is not clear what {term.text!r} excludes")
    place = terms.index(able[0])
    following = terms[place + 1 : place + 2]
    names = [i for i, one in enumerate(terms) if one.of("entity") and abs(i - place) <= 2]
    if _usual(able[0], terms, mapping) and len(names) == 1:  # did not borrow this book, has Ann not borrowed
        return names[0]
    period = not _of_time(able[0], mapping) and terms_of(following, "period")  # did not order in May: none of May
    if able[0].of("dated") and (period or terms_of(following, "entity", "value")):
        raise UnclearError(f"it is not clear whether {able[0].text!r} or {following[0].text!r} is excluded")
    return place


def _usual(verb: Term, terms: Sequence[Term], mapping: DatabaseMapping) -> bool:
    """Return whether a verb only says that rows happened; of others all did: customers that have not ordered."""
    others = verb.of("dated") and _of_time(verb, mapping) and not verb.owners("dated") & classes_named(terms)
    return bool(others or (verb.of("traded") and not says_more(verb, mapping)))


def _numbers(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in the comparisons: attribute, comparing word, number; attribute, number, "以上"; or just the two."""
    for i, term in enumerate(terms):
        if not term.of("number"):
            continue
        before = terms_of(terms[max(0, i - 1) : i], "compared")
        words = before or terms_of(terms[i + 1 : i + 2], "compared")
        beside = [*(terms[max(0, i - 2) : i - 1] if before else terms[max(0, i - 1) : i]), *terms[i + 1 : i + 2]]
        named = terms_of(beside, "attribute")[:1]  # a stock over 3, over 3 beds, stock 0
        if not named or found.compared:
            raise UnclearError(f"it is not clear what {term.text!r} is")
        kind = words[0].of("compared")[0].name if words else "="
        class_id, attribute = _measure_named(named[0], classes_named(terms), found.mapping)
        quantity: Quantity = term.of("number")[0].value
        value = _in_unit_of(attribute, quantity)
        if value is None:
            raise UnclearError(f"{term.text!r} is not in the unit of {attribute.id}")
        shown = value if isinstance(value, int) else f"{value:.15g}"
        label, column = f"{named[0].text} {kind} {shown}", attribute.column or ""
        found.compared.append(Filter((), class_id, column, cast("Operator", kind), (value,), label))
        found.used |= {term, *named, *words}


def _in_unit_of(attribute: Attribute, quantity: Quantity) -> int | float | None:
    """Return a number in the unit of an attribute, None where it has none; in its own it keeps all digits."""
    units = (attribute.unit.en, attribute.unit.zh) if attribute.unit else ("",)
    if not attribute.unit and quantity.of_money and attribute.labels.end_in(CUES["money"]):
        units = (unit_of(quantity.unit).base,)  # the only money there is
    value, exact = next((v for unit in units if (v := quantity.in_unit(unit)) is not None), None), quantity.value
    return exact if isinstance(exact, int) and 2**53 <= exact < 2**63 and float(exact) == value else value


def _measure_named(term: Term, named: set[str], mapping: DatabaseMapping) -> tuple[str, Attribute]:
    """Return the one measure that a term is, of a class that is named where there are several, with its class."""
    attributes = ((m.owner, mapping.attribute(m.name)) for m in term.of("attribute"))
    measures = [one for one in attributes if is_measure(one[1])]
    measures = [one for one in measures if one[0] in named] or measures
    if len(measures) != 1:
        raise UnclearError("it is not clear what is compared with a number")
    return measures[0]


def _relations(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in the relations that are mentioned, those between instances of one class with whom they are about."""
    relations = found.mapping.lookup.relations
    for i, term in enumerate(terms):
        named = [*term.of("relation", "inverse"), *(m for m in term.of("role") if m.value == "source")]
        if not named or term.of("class", "attribute"):
            continue
        found.used.add(term)
        own = [m for m in named if m.kind == "role" or relations[m.name].source == relations[m.name].target]
        if len({m.name for m in own}) > 1:
            raise UnclearError(f"{term.text!r} means more than one relation")
        if own:
            found.relate(term, own[0], terms[max(0, i - 1) : i], terms[i + 1 : i + 2])


def _roles(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in what somebody is to what is named: the manager of Ann, who teaches Latin, which courses Ann teaches."""
    who = Meaning("which", "who") in {m for term in terms for m in term.meanings}
    for i, term in enumerate(terms):
        plain = term not in found.used and not term.of("class", "attribute", "value", "entity")
        for named in (m for m in term.of("role", "does") if plain and m.value != "source"):
            relation, (_, back) = found.mapping.lookup.relations[named.name], found.mapping.joins[named.name]
            thing = _whose(terms, i, verb=named.kind == "does")
            keys = [m.value for m in thing.of("entity") if m.owner == relation.source] if thing else []
            does = named.kind == "does" and term is terms[-1] and relation.target in terms[i - 1].owners("entity")
            if thing in found.used:  # the manager of Ann's manager
                raise UnclearError(f"it is not clear whom {term.text!r} is about")
            if who and thing and len(keys) == 1:
                words, key = f"{term.text} {thing.text}", found.mapping.classes[relation.source].key
                found.related.append(Filter((back,), relation.source, key, "in", (keys[0],), words))
                found.used |= {term, thing}
            elif does and relation.source in classes_named(terms):  # which courses Ann teaches
                found.used.add(term)
                found.via |= {relation.id}


def _whose(terms: Sequence[Term], at: int, *, verb: bool) -> Term | None:
    """Return the name that a role or a verb at a place is of, None where none stands plainly beside it."""
    term, after = terms[at], terms[at + 1 : at + 2]
    if terms_of(after, "entity") and (verb or 3 < after[0].start - term.end < 6):  # of, for
        return after[0]
    before = terms_of(terms[max(0, at - 1) : at], "entity")
    return before[0] if before and not verb and term.start - before[0].end <= LONGEST_BETWEEN else None


def _sequences(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in which date of rows is before or after another of theirs: shipped after the required date."""
    for i, term in enumerate(terms):
        if not term.of("sequence"):
            continue
        said = terms[max(0, i - 1) : i + 2]
        first, second = (dates_of(one, found.mapping) for one in (said[0], said[-1]))
        owners = first.keys() & second.keys()
        if len(said) != 3 or len(owners) != 1 or (found.used | found.negated).intersection(said):
            raise UnclearError(f"it is not clear which dates {term.text!r} stands between")
        (owner,) = owners
        kind, label = cast("Operator", term.of("sequence")[0].name), " ".join(t.written for t in said)
        found.compared.append(Filter((), owner, first[owner].column or "", kind, (second[owner].column or "",), label))
        found.used.update(said)


def _leads_back(term: Term, relation: Relation, named: Meaning, *, directed: bool, behind: bool) -> bool:
    """Return whether what a relation leads from is asked for: who manages Ann is above her, whom she does below."""
    if directed:
        return not _asks_for_source(term, relation, named.kind == "inverse", after=behind)
    return behind and term.text in CUES["leading"]


def _asks_for_source(term: Term, relation: Relation, inverse: bool, *, after: bool) -> bool:
    """Return whether a relation's source is asked for, else its target; `after`: of what is named after the words."""
    for labels, forward in ((relation.roles.source, True), (relation.roles.target, False)):
        if term.text in {form for label in labels.all() for form in forms_of(fold_in_place(label))}:
            return forward
    if inverse and (not after or not term.text.isascii()):
        raise UnclearError(f"it is not clear which side {term.text!r} is")
    return after and not inverse
