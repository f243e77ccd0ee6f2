"""Which rows a question is about: names, values, negations, alternatives, numbers, and relations between instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from theworld.ontology import Attribute, Relation
from theworld.sql.mapping import MOST_STEPS, DatabaseMapping, Join, Path, is_measure
from theworld.sql.plan import Filter, Operator, UnclearError
from theworld.sql.questions.lexicon import Term, classes_named, forms_of, terms_of
from theworld.state.traces import Cell
from theworld.text.folding import fold_in_place
from theworld.text.language import Language
from theworld.text.quantities import Quantity


@dataclass
class Restrictions:
    """What narrows the rows down, in the question's terms."""

    mapping: DatabaseMapping
    language: Language
    via: frozenset[str] = frozenset()
    """The relations and classes that the question mentions."""
    used: set[Term] = field(default_factory=set)
    named: dict[str, list[Term]] = field(default_factory=dict)
    """Instances by class."""
    keys: dict[str, list[Cell]] = field(default_factory=dict)
    values: list[Term] = field(default_factory=list)
    compared: list[Filter] = field(default_factory=list)
    """Attributes compared with a number, as seen from their own class."""
    related: list[Filter] = field(default_factory=list)
    """Relations between instances of one class, as seen from it: over one step to some keys, or to any."""
    through: list[tuple[Join, Term, str]] = field(default_factory=list)
    """Relations to the rows of the own class that have a value: who works for the IT manager."""
    mentioned: set[str] = field(default_factory=set)
    negated: set[Term] = field(default_factory=set)
    """Instances, values, classes and attributes that the rows must not have."""
    alternatives: list[tuple[Term, Term]] = field(default_factory=list)
    """Terms with "or" between them: they must narrow one column."""
    without: list[Term] = field(default_factory=list)
    """Classes and attributes that the rows must not have any of, or dates that must be missing."""
    dated: list[Term] = field(default_factory=list)
    """Verbs of dates: rows that have one."""

    @property
    def _either(self) -> set[Term]:
        return {term for pair in self.alternatives for term in pair} | self.negated

    @property
    def compares(self) -> str | None:
        """The class of which several instances are named, to be told each."""
        several = (c for c, named in self.named.items() if len(self.keys[c]) > 1 and len(named) > 1)
        return next((c for c in several if not self._either & set(self.named[c])), None)

    def filters(self, base: str) -> tuple[tuple[Filter, ...], tuple[str, ...]]:
        """Return the conditions as seen from a class, and how ambiguous relations were taken."""
        found: list[Filter] = []
        senses: list[str] = []
        for class_id, keys in self.keys.items():
            named = self.named[class_id]
            path = self._path(base, class_id)
            self._not_both(path, named)
            if len({term in self.negated for term in named}) > 1:
                raise UnclearError("it is not clear what is excluded")
            words, key = "、".join(t.text for t in named), self.mapping.classes[class_id].key
            below = self.mapping.belongs_by(class_id)
            found.append(Filter(path, class_id, key, "in", tuple(keys), words, below, named[0] in self.negated))
            senses += self.mapping.senses(path, self.via, self.language)
        columns: dict[Term, Filter] = {}
        for term in self.values:
            class_id, attribute, values = self._value(term, base)
            path, column = self._path(base, class_id), attribute.column or ""
            columns[term] = Filter(path, class_id, column, "in", values, term.text, negated=term in self.negated)
        for one in columns.values():
            self._not_both(one.path, [term for term in self.values if columns[term].column == one.column])
        if any(columns[a].column != columns[b].column for a, b in self.alternatives if a in columns):
            raise UnclearError("what stands beside 'or' is not of one kind")
        found = _merged([*found, *columns.values()])
        for item in self.compared:
            if item.class_id != base:
                raise UnclearError(f"{item.label!r} is not about these rows")
            found.append(item)
        for item in self.related:
            path = self._path(base, item.path[0].source)
            senses += self.mapping.senses(path, self.via, self.language)
            found.append(replace(item, path=(*path, *item.path)))
        for join, term, words in self.through:
            class_id, attribute, values = self._value(term, join.target)
            path = (*self._path(base, join.source), join)
            found.append(Filter(path, class_id, attribute.column or "", "in", values, words))
        found += [self._missing(term, base) for term in self.without]
        found += [self._filled(term, base) for term in self.dated]
        return tuple(found), tuple(dict.fromkeys(senses))

    def relate(self, join: Join, words: str, keys: tuple[Cell, ...] = ()) -> None:
        """Take in that rows are related to those of their class with the keys, without keys to any."""
        key = self.mapping.classes[join.target].key
        self.related.append(Filter((join,), join.target, key, "in" if keys else "exists", keys, words))

    def _not_both(self, path: Path, terms: Sequence[Term]) -> None:
        """Raise UnclearError for several names of what a row may have many of: those with both, or with either?"""
        many = any(not step.single for step in path)
        if many and len({t.text for t in terms}) > 1 and not self._either & set(terms):
            said = " and ".join(t.text for t in terms)
            raise UnclearError(f"it is not clear whether {said} are both meant, or either")

    def _missing(self, term: Term, base: str) -> Filter:
        """Return the condition that a row has no such thing: nothing that leads to it, or an empty column."""
        if base in term.owners("attribute", "dated"):
            return replace(self._filled(term, base), negated=True)
        names = [m.name for m in term.of("class") if m.name != base]
        if len(names) != 1:
            raise UnclearError(f"it is not clear what having no {term.text!r} means here")
        path, key = self._path(base, names[0]), self.mapping.classes[names[0]].key
        return Filter(path, names[0], key, "exists", (), term.text, negated=True)

    def _filled(self, term: Term, base: str) -> Filter:
        """Return the condition that a column of the rows holds something."""
        own = [self.mapping.attribute(m.name) for m in term.of("attribute", "dated") if m.owner == base]
        if len(own) != 1:
            raise UnclearError(f"{term.text!r} is not about these rows")
        text = ("",) if own[0].type in {"string", "enum"} else ()
        return Filter((), base, own[0].column or "", "filled", text, term.text)

    def _path(self, base: str, class_id: str) -> Path:
        path = self.mapping.path(base, class_id, via=self.via)
        if path is None:
            raise UnclearError(f"{class_id} does not narrow {base} down")
        between = [s.target for s in path[:-1] if not s.single and s.link is None and s.target not in self.via]
        if between:  # a book and a member may meet in a loan or a reservation: neither is meant unsaid
            raise UnclearError(f"it is not said that {base} and {class_id} meet in {between[0]}")
        return path

    def _value(self, term: Term, base: str) -> tuple[str, Attribute, tuple[Cell, ...]]:
        """Return the class, the attribute and the stored values that a word means: those of the nearest class."""
        choices: dict[str, list[Cell]] = {}
        for meaning in term.of("value"):
            choices.setdefault(meaning.name.partition("=")[0], []).append(meaning.value)
        steps: dict[str, tuple[bool, int]] = {}
        for name in choices if len(choices) > 1 else ():
            owner = name.partition(".")[0]
            path = self.mapping.path(base, owner)
            steps[name] = owner not in self.via and owner != base, MOST_STEPS + 1 if path is None else len(path)
        nearest = [name for name in choices if not steps or steps[name] == min(steps.values())]
        if len(nearest) != 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        return nearest[0].partition(".")[0], self.mapping.attribute(nearest[0]), tuple(choices[nearest[0]])


def _merged(filters: Sequence[Filter]) -> list[Filter]:
    """Return the filters with those on one column made one: "raised and cut" is either."""
    found: dict[tuple[Path, str, str, bool], Filter] = {}
    for item in filters:
        place = item.path, item.class_id, item.column, item.negated
        known = found.get(place)
        if known is not None:
            values = tuple(dict.fromkeys((*known.values, *item.values)))
            item = replace(known, values=values, label=f"{known.label}、{item.label}")  # noqa: PLW2901
        found[place] = item
    return list(found.values())


def find_restrictions(terms: Sequence[Term], mapping: DatabaseMapping, language: Language) -> Restrictions:
    """Return what narrows the rows down, with the terms that say so."""
    found = Restrictions(mapping, language)
    _negations(terms, found)
    anchors = _relations(terms, found)
    for i, term in enumerate(terms):
        if term.of("entity") and term not in anchors:
            classes = term.owners("entity")
            if len(classes) > 1:  # of several the one that the question speaks of
                classes = classes & classes_named(terms) or classes
            if len(classes) > 1:
                raise UnclearError(f"{term.text!r} is the name of more than one thing")
            (class_id,) = classes
            found.named.setdefault(class_id, []).append(term)
            keys = [m.value for m in term.of("entity") if m.owner == class_id]
            found.keys[class_id] = list(dict.fromkeys((*found.keys.get(class_id, ()), *keys)))
            found.used.add(term)
        elif term.of("value") and not term.of("attribute", "class", "aggregate") and term not in anchors:
            found.values.append(term)
            found.used.add(term)
        elif term.of("dated") and not term.of("class", "attribute") and not _dates_a_period(terms, i):
            found.used.add(term)
            if term not in found.negated and not _names_column(term, terms[i + 1 : i + 2], mapping):
                found.dated.append(term)
    _alternatives(terms, found)
    _numbers(terms, found)
    rest = [term for term in terms if term not in found.used]
    found.via = frozenset(m.name for t in rest for m in t.of("class", "relation", "inverse", "role")) | found.mentioned
    return found


def _dates_a_period(terms: Sequence[Term], at: int) -> bool:
    """Return whether a verb says which date a period is of: the last verb before it, else the first after it."""
    periods = [i for i, t in enumerate(terms) if t.of("period")]
    verbs = [i for i, t in enumerate(terms) if t.of("dated", "traded") and not t.of("class", "entity", "value")]
    said = ([v for v in verbs if v < periods[0]][-1:] or verbs[:1]) if periods else []
    return at in said


def _names_column(verb: Term, following: Sequence[Term], mapping: DatabaseMapping) -> bool:
    """Return whether a verb only says which column a value is of: shipped to Germany, a ship country."""
    labels = (mapping.attribute(m.name).labels.preferred("en") for t in following for m in t.of("value"))
    return any(label and verb.text.startswith(label.split()[0]) for label in labels)


def _negations(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in what is turned into its contrary: what follows "not" or "without", what stands before "excluded"."""
    for i, term in enumerate(terms):
        if not term.of("not", "not_after") or term.of("value", "entity"):
            continue
        following = [t for t in terms[i + 1 :] if not t.of("traded", "joined", "one") or _can_be_missing(t)][:1]
        if term.of("not") and following and following[0].of("period", "number", "compared"):
            raise UnclearError(f"it is not clear what {term.text!r} excludes")
        after = [t for t in terms[i + 1 :] if _can_be_missing(t)][:1] if term.of("not") else []
        chosen = after or [t for t in terms[:i] if _can_be_missing(t)][-1:]
        if not chosen or (not after and term.of("not") and term.text.isascii()):
            raise UnclearError(f"it is not clear what {term.text!r} excludes")
        behind = terms[terms.index(chosen[0]) + 1 :][:1]
        if chosen[0].of("dated") and terms_of(behind, "entity", "value"):
            raise UnclearError(f"it is not clear whether {chosen[0].text!r} or {behind[0].text!r} is excluded")
        found.used.add(term)
        found.negated |= _listed_with(terms, terms.index(chosen[0]))
        if not chosen[0].of("value", "entity"):
            found.without.append(chosen[0])
            found.used.add(chosen[0])


def _can_be_missing(term: Term) -> bool:
    return bool(term.of("value", "entity", "class", "attribute", "dated"))


def _listed_with(terms: Sequence[Term], at: int) -> set[Term]:
    """Return a term and those of its kind that stand in one list with it: not from Germany, France or Spain."""
    kinds = {m.name.partition("=")[0] for m in terms[at].of("value", "entity")}
    found = {terms[at]}
    for way in (terms[at + 1 :], terms[:at][::-1]):
        for term in way:
            alike = bool(kinds & {m.name.partition("=")[0] for m in term.of("value", "entity")})
            if not alike and not term.of("or", "joined"):
                break
            found |= {term} if term.of("value", "entity") else set()
    return found


def _alternatives(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in "or": between two names or values only, and excluded together where the first is."""
    for i, term in enumerate(terms):
        if not term.of("or") or term.of("value", "entity"):
            continue
        pair = terms[i - 1], terms[min(i + 1, len(terms) - 1)]
        of_values = all(t in found.values for t in pair)
        if not i or not (of_values or any(set(pair) <= set(named) for named in found.named.values())):
            raise UnclearError(f"what stands beside {term.text!r} is not of one kind")
        found.alternatives.append(pair)
        found.used.add(term)


def _numbers(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in the comparisons: attribute, comparing word, number; or attribute, number, "以上"."""
    for i, term in enumerate(terms):
        if not term.of("number") or term.of("top"):
            continue
        word = next((t for t in terms[max(0, i - 1) : i] if t.of("compared")), None)
        behind = next((t for t in terms[i + 1 : i + 2] if t.of("compared_after")), None) if word is None else None
        kind = word.of("compared") if word else behind.of("compared_after") if behind else ()
        if not kind:
            raise UnclearError(f"it is not clear what {term.text!r} is")
        place = i - 2 if word is not None else i - 1
        if place < 0:
            raise UnclearError("it is not clear what is compared with a number")
        class_id, attribute = _numeric(terms[place], terms, found.mapping)
        quantity: Quantity = term.of("number")[0].value
        value = quantity.in_unit(attribute.unit.en if attribute.unit else "")
        value = quantity.in_unit(attribute.unit.zh) if value is None and attribute.unit else value
        if value is None:
            raise UnclearError(f"{term.text!r} is not in the unit of {attribute.id}")
        words = f"{terms[place].text} {kind[0].name} {value:g}"
        operator = cast("Operator", kind[0].name)
        found.compared.append(Filter((), class_id, attribute.column or "", operator, (value,), words))
        found.used |= {term, terms[place], *(t for t in (word, behind) if t is not None)}
    if len(found.compared) > 1:
        raise UnclearError("more than one number is compared")


def _numeric(term: Term, terms: Sequence[Term], mapping: DatabaseMapping) -> tuple[str, Attribute]:
    found = [(m.owner, mapping.attribute(m.name)) for m in term.of("attribute")]
    found = [(owner, attribute) for owner, attribute in found if is_measure(attribute)]
    if len(found) > 1:
        found = [one for one in found if one[0] in classes_named(terms)] or found
    if len(found) != 1:
        raise UnclearError("it is not clear what is compared with a number")
    return found[0]


def _relations(terms: Sequence[Term], found: Restrictions) -> set[Term]:
    """Take in the relations between instances of one class: subsidiaries of X, who reports to Y; return X and Y."""
    anchors: set[Term] = set()
    lookup = found.mapping.lookup
    for i, term in enumerate(terms):
        relations = term.of("relation", "inverse")
        if _by_key(term, terms, i, found, anchors) or not relations or term.of("class", "attribute"):
            continue
        found.mentioned |= {m.name for m in relations}
        found.used.add(term)
        own = [m for m in relations if _is_own(lookup.relations[m.name], by_key=False)]
        if not own:
            continue
        if len({m.name for m in own}) > 1:
            raise UnclearError(f"{term.text!r} means more than one relation")
        relation = lookup.relations[own[0].name]
        near = [j for j in (i - 1, i + 1) if 0 <= j < len(terms) and relation.source in terms[j].owners("entity")]
        if len(near) > 1 and not relation.symmetric:
            raise UnclearError(f"it is not clear whom {term.text!r} is about")
        if not near and not relation.symmetric:
            raise UnclearError(f"{term.text!r} needs to say whose")
        forward = relation.symmetric or _asks_for_source(term, relation, own[0].kind == "inverse", after=near[0] > i)
        joins = (j for j in found.mapping.steps(relation.source) if j.relation == relation.id)
        join = next(j for j in joins if j.forward == forward)
        if not near:
            found.relate(join, term.text)
            continue
        anchor = terms[near[0]]
        if len({m.name for m in anchor.of("entity")}) != 1:
            raise UnclearError(f"{anchor.text!r} is the name of more than one thing")
        anchors.add(anchor)
        found.used.add(anchor)
        found.relate(join, f"{anchor.text} {term.text}", (anchor.of("entity")[0].value,))
    return anchors


def _by_key(term: Term, terms: Sequence[Term], at: int, found: Restrictions, anchors: set[Term]) -> bool:
    """Take in what a key to the own table says of rows: who reports to somebody, the direct reports of somebody."""
    lookup = found.mapping.lookup
    names = {m.name for m in term.of("role") if m.value == "source"}
    names |= {m.name for m in term.of("relation", "inverse") if _is_own(lookup.relations[m.name], by_key=True)}
    if len(names) != 1 or term.of("class", "attribute"):
        return False
    (name,) = names
    join = next(j for j in found.mapping.steps(lookup.relations[name].source) if j.relation == name and j.forward)
    beside = [*terms[at + 1 : at + 2], *terms[max(0, at - 1) : at]]
    others = [t for t in beside if join.target in t.owners("entity")]
    others += [t for t in terms[at + 1 : at + 2] if join.target in t.owners("value")]
    found.used.add(term)
    found.mentioned.add(name)
    if not others:
        if not any(known.path == (join,) for known in found.related):
            found.relate(join, term.text)
        return True
    other, words = others[0], f"{term.text} {others[0].text}"
    anchors.add(other)
    found.used.add(other)
    keys = tuple(m.value for m in other.of("entity") if m.owner == join.target)
    if keys:
        found.relate(join, words, keys)
    else:
        found.through.append((join, other, words))
    return True


def _is_own(relation: Relation, *, by_key: bool) -> bool:
    """Return whether a relation is between instances of one class: by a key in their table, or by another table."""
    join = relation.join
    return relation.source == relation.target and join is not None and (join.column is not None) == by_key


def _asks_for_source(term: Term, relation: Relation, inverse: bool, *, after: bool) -> bool:
    """Return whether a relation's source is asked for, else its target; `after`: of what is named after the words."""
    for labels, forward in ((relation.roles.source, True), (relation.roles.target, False)):
        if term.text in {form for label in labels.all() for form in forms_of(fold_in_place(label))}:
            return forward
    if inverse and (not after or not term.text.isascii()):
        raise UnclearError(f"it is not clear which side {term.text!r} is")
    return after and not inverse
