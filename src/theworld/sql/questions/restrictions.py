"""Which rows a question is about: named instances, values of attributes, numbers compared, and relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from theworld.ontology import Attribute
from theworld.sql.engines.protocol import Cell
from theworld.sql.mapping import DatabaseMapping, Join, is_measure
from theworld.sql.paths import belongs_by, find_path, is_single, senses, steps
from theworld.sql.plan import Filter, Operator, Path, UnclearError
from theworld.sql.questions.lexicon import Meaning, Term, cues
from theworld.text.folding import fold_in_place
from theworld.text.language import Language
from theworld.text.quantities import Quantity


class Compared(NamedTuple):
    """A number that an attribute is compared with."""

    class_id: str
    attribute: Attribute
    operator: Operator
    value: float
    words: str


@dataclass
class Restrictions:
    """What narrows the rows down, in the question's terms."""

    mapping: DatabaseMapping
    used: set[Term] = field(default_factory=set)
    named: dict[str, list[Term]] = field(default_factory=dict)
    """Instances by class."""
    keys: dict[str, list[Cell]] = field(default_factory=dict)
    values: list[Term] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    related: list[tuple[Join, tuple[Cell, ...] | None, str]] = field(default_factory=list)
    """Relations between instances of one class: how, to which keys (None: to any), in which words."""
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
    near: dict[Term, tuple[str, ...]] = field(default_factory=dict)
    """Classes named right beside a value."""

    @property
    def any(self) -> bool:
        """Whether anything narrows the rows down."""
        return bool(
            self.keys or self.values or self.compared or self.related or self.without or self.dated or self.through
        )

    @property
    def classes(self) -> frozenset[str]:
        """The classes whose instances are named, without those that others are related to."""
        return frozenset(self.keys)

    @property
    def subject(self) -> str | None:
        """The class that a relation speaks of, when its instances are not named themselves."""
        return next((join.source for join, _, _ in self.related if join.source not in self.keys), None)

    @property
    def compares(self) -> str | None:
        """The class of which several instances are named, to be told each."""
        either = {term for pair in self.alternatives for term in pair} | self.negated
        found = (class_id for class_id, keys in self.keys.items() if len(keys) > 1)
        return next((c for c in found if len(self.named[c]) > 1 and not either & set(self.named[c])), None)

    @property
    def compared_groups(self) -> Compared | None:
        """The comparison, where there is one."""
        return self.compared[0] if self.compared else None

    def filters(
        self, base: str, via: frozenset[str], language: Language, *, each_row: bool = False, compared: bool = True
    ) -> tuple[list[Filter], list[str]]:
        """Return the conditions as seen from a class, and how ambiguous relations were taken.

        `each_row` refuses conditions on more than one thing that belongs to a row (a limit has many changes): sums over
        such rows are seldom what is meant. `compared` takes in the numbers compared.
        """
        found: list[Filter] = []
        reading: list[str] = []
        for class_id, keys in self.keys.items():
            path = self._path(base, class_id, via, each_row)
            key = self.mapping.classes[class_id].key
            below = belongs_by(self.mapping, class_id)
            words, negated = "、".join(t.text for t in self.named[class_id]), self._turned(self.named[class_id])
            found.append(Filter(path, class_id, key, "in", tuple(keys), words, below, negated))
            reading += senses(self.mapping, path, via, language)
        columns: dict[Term, str | None] = {}
        for term in self.values:
            class_id, attribute, values = self._value(term, base, via)
            path, columns[term] = self._path(base, class_id, via, each_row), attribute.column
            found.append(
                Filter(path, class_id, attribute.column or "", "in", values, term.text, negated=term in self.negated)
            )
        if any(columns.get(first) != columns.get(second) for first, second in self.alternatives):
            raise UnclearError("what stands beside 'or' is not of one kind")
        found = _merged(found)
        for item in self.compared if compared else ():
            if item.class_id != base:
                raise UnclearError(f"{item.words!r} is not about these rows")
            found.append(Filter((), base, item.attribute.column or "", item.operator, (item.value,), item.words))
        for join, related, words in self.related:
            path = (*self._path(base, join.source, via, each_row), join)
            key = self.mapping.classes[join.target].key
            reading += senses(self.mapping, path[:-1], via, language)
            operator: Operator = "exists" if related is None else "in"
            found.append(Filter(path, join.target, key, operator, related or (), words))
        for join, term, words in self.through:
            class_id, attribute, values = self._value(term, join.target, frozenset())
            path = (*self._path(base, join.source, via, each_row), join)
            found.append(Filter(path, class_id, attribute.column or "", "in", values, words))
        found += [self._missing(term, base, via) for term in self.without]
        found += [self._happened(term, base) for term in self.dated]
        return found, list(dict.fromkeys(reading))

    def _turned(self, terms: Sequence[Term]) -> bool:
        turned = {term in self.negated for term in terms}
        if len(turned) > 1:
            raise UnclearError("it is not clear what is excluded")
        return turned == {True}

    def _missing(self, term: Term, base: str, via: frozenset[str]) -> Filter:
        """Return the condition that a row has no such thing: nothing that leads to it, or an empty column."""
        own = [m.name.partition(".")[2] for m in term.of("attribute", "dated") if m.name.partition(".")[0] == base]
        if own:
            return replace(self._happened(term, base), negated=True)
        names = [m.name for m in term.of("class") if m.name != base]
        if len(names) != 1:
            raise UnclearError(f"it is not clear what having no {term.text!r} means here")
        path = self._path(base, names[0], via, False)
        key = self.mapping.classes[names[0]].key
        return Filter(path, names[0], key, "exists", (), term.text, negated=True)

    def _happened(self, term: Term, base: str) -> Filter:
        """Return the condition that a column of the rows holds something."""
        names = [m.name.partition(".") for m in term.of("attribute", "dated")]
        own = [self.mapping.attributes(c)[a] for c, _, a in names if c == base]
        if len(own) != 1:
            raise UnclearError(f"{term.text!r} is not about these rows")
        text = ("",) if own[0].type in {"string", "enum"} else ()
        return Filter((), base, own[0].column or "", "filled", text, term.text)

    def _path(self, base: str, class_id: str, via: frozenset[str], single: bool) -> Path:
        path = find_path(self.mapping, base, class_id, via=via, single=single)
        if path is None:
            raise UnclearError(f"{class_id} does not narrow {base} down")
        between = [s.target for s in path[:-1] if not is_single(s) and s.link is None and s.target not in via]
        if between:  # a book and a member may meet in a loan or a reservation: neither is meant unsaid
            raise UnclearError(f"it is not said that {base} and {class_id} meet in {between[0]}")
        return path

    def _value(self, term: Term, base: str, via: frozenset[str]) -> tuple[str, Attribute, tuple[Cell, ...]]:
        choices: dict[tuple[str, str], list[Cell]] = {}
        for meaning in term.of("value"):
            name = meaning.name.partition("=")[0]
            class_id, _, attribute_id = name.partition(".")
            choices.setdefault((class_id, attribute_id), []).append(meaning.value)
        for wanted in (set(self.near.get(term, ())), {base}, via):
            kept = {key: cells for key, cells in choices.items() if key[0] in wanted}
            choices = kept or choices
        if len(choices) > 1:
            reached = {k: v for k, v in choices.items() if find_path(self.mapping, base, k[0], single=True) is not None}
            choices = reached or choices
        if len(choices) > 1:  # what is nearest, where only one is
            steps_to = {k: len(find_path(self.mapping, base, k[0]) or "none") for k in choices}
            nearest = [k for k in choices if steps_to[k] == min(steps_to.values())]
            choices = {nearest[0]: choices[nearest[0]]} if len(nearest) == 1 else choices
        if len(choices) != 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        (class_id, attribute_id), cells = next(iter(choices.items()))
        return class_id, self.mapping.attributes(class_id)[attribute_id], tuple(cells)


def _merged(filters: Sequence[Filter]) -> list[Filter]:
    """Return the filters with those on one column made one: "raised and cut" is either."""
    found: dict[tuple[Path, str, bool], Filter] = {}
    for item in filters:
        known = found.get((item.path, item.column, item.negated))
        if known is not None and known.class_id == item.class_id and known.negated == item.negated:
            values = tuple(dict.fromkeys((*known.values, *item.values)))
            item = replace(known, values=values, label=f"{known.label}、{item.label}")  # noqa: PLW2901
        found[item.path, item.column, item.negated] = item
    return list(found.values())


def find_restrictions(terms: Sequence[Term], mapping: DatabaseMapping) -> Restrictions:
    """Return what narrows the rows down, with the terms that say so."""
    found = Restrictions(mapping)
    _negations(terms, found)
    anchors = _relations(terms, found)
    for i, term in enumerate(terms):
        beside = [m.name for t in (*terms[max(0, i - 1) : i], *terms[i + 1 : i + 2]) for m in t.of("class")]
        if term.of("entity") and term not in anchors:
            class_id, keys = _named(term, beside, terms)
            found.named.setdefault(class_id, []).append(term)
            known = found.keys.setdefault(class_id, [])
            known += [key for key in keys if key not in known]
            found.used.add(term)
        elif term.of("value") and not term.of("attribute", "class", "aggregate") and term not in anchors:
            found.values.append(term)
            found.near[term] = tuple(beside)
            found.used.add(term)
        elif term.of("dated") and not term.of("class", "attribute") and term not in found.negated:
            if any(t.of("period") for t in terms):
                continue  # it says which date the period is of
            found.used.add(term)
            if not _names_column(term, terms[i + 1 : i + 2], mapping):
                found.dated.append(term)
    _alternatives(terms, found)
    _numbers(terms, found)
    return found


def _negations(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in what is turned into its contrary: what follows "not" or "without", what stands before "excluded"."""
    for i, term in enumerate(terms):
        if not term.of("not", "not_after") or term.of("value", "entity"):
            continue
        after = [t for t in terms[i + 1 :] if _can_be_missing(t)][:1] if term.of("not") else []
        chosen = after or [t for t in terms[:i] if _can_be_missing(t)][-1:]
        if not chosen or (not after and term.of("not") and term.text.isascii()):
            raise UnclearError(f"it is not clear what {term.text!r} excludes")
        behind = terms[terms.index(chosen[0]) + 1 :][:1]
        if chosen[0].of("dated") and any(t.of("entity", "value") for t in behind):
            raise UnclearError(f"it is not clear whether {chosen[0].text!r} or {behind[0].text!r} is excluded")
        found.used.add(term)
        found.negated.add(chosen[0])
        if not chosen[0].of("value", "entity"):
            found.without.append(chosen[0])
            found.used.add(chosen[0])


def _names_column(verb: Term, following: Sequence[Term], mapping: DatabaseMapping) -> bool:
    """Return whether a verb only says which column a value is of: shipped to Germany, a ship country."""
    for meaning in (m for t in following for m in t.of("value")):
        class_id, _, rest = meaning.name.partition(".")
        label = mapping.attributes(class_id)[rest.partition("=")[0]].labels.preferred("en")
        if label and verb.text.startswith(label.split()[0]):
            return True
    return False


def _can_be_missing(term: Term) -> bool:
    return bool(term.of("value", "entity", "class", "attribute", "dated"))


def _alternatives(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in "or": between two names or values only, and excluded together where the first is."""
    for i, term in enumerate(terms):
        if not term.of("or") or term.of("value", "entity"):
            continue
        pair = terms[i - 1], terms[min(i + 1, len(terms) - 1)]
        of_values, of_names = all(t in found.values for t in pair), all(t.of("entity") for t in pair)
        one_class = of_names and any(set(pair) <= set(named) for named in found.named.values())
        if not i or not (of_values or one_class):
            raise UnclearError(f"what stands beside {term.text!r} is not of one kind")
        found.alternatives.append(pair)
        found.used.add(term)
        if pair[0] in found.negated:
            found.negated.add(pair[1])


def _named(term: Term, beside: Sequence[str], terms: Sequence[Term]) -> tuple[str, list[Cell]]:
    """Return the class of a name and the keys that have it, of several classes the one that the question speaks of."""
    meanings = term.of("entity")
    classes = {m.name.partition("=")[0] for m in meanings}
    if len(classes) > 1:
        named = {m.name for t in terms for m in t.of("class")}
        classes = classes & set(beside) or classes & named or classes
    if len(classes) > 1:
        raise UnclearError(f"{term.text!r} is the name of more than one thing")
    (class_id,) = classes
    return class_id, [m.value for m in meanings if m.name.startswith(f"{class_id}=")]


def _one(term: Term, meanings: tuple[Meaning, ...]) -> Meaning:
    if len({m.name for m in meanings}) != 1:
        raise UnclearError(f"{term.text!r} is the name of more than one thing")
    return meanings[0]


def _relations(terms: Sequence[Term], found: Restrictions) -> set[Term]:
    """Take in the relations between instances of one class; return the instances they are related to."""
    anchors: set[Term] = set()
    for i, term in enumerate(terms):
        relations = term.of("relation", "inverse")
        if _by_key(term, terms, i, found, anchors):
            continue
        own = [m for m in relations if _of_one_class(m.name, found.mapping)]
        if not relations or term.of("class", "attribute"):
            continue
        found.mentioned |= {m.name for m in relations}
        found.used.add(term)
        if not own:
            continue
        meaning = own[0]
        relation = found.mapping.lookup.relations[meaning.name]
        if len({m.name for m in own}) > 1:
            raise UnclearError(f"{term.text!r} means more than one relation")
        near = [j for j in (i - 1, i + 1) if 0 <= j < len(terms) and _is_instance(terms[j], relation.source)]
        anchor = near[0] if near else None
        if len(near) > 1 and not relation.symmetric:
            raise UnclearError(f"it is not clear whom {term.text!r} is about")
        forward = _direction(terms, i, anchor, meaning, symmetric=relation.symmetric)
        join = next(
            j for j in steps(found.mapping, relation.source) if j.relation == relation.id and j.forward == forward
        )
        if anchor is None:
            if not relation.symmetric:
                raise UnclearError(f"{term.text!r} needs to say whose")
            found.related.append((join, None, term.text))
            continue
        anchors.add(terms[anchor])
        found.used.add(terms[anchor])
        key = _one(terms[anchor], terms[anchor].of("entity")).value
        found.related.append((join, (key,), f"{terms[anchor].text} {term.text}"))
    return anchors


def _by_key(term: Term, terms: Sequence[Term], at: int, found: Restrictions, anchors: set[Term]) -> bool:
    """Take in what a key to the own table says of rows: who reports to somebody, the direct reports of somebody."""
    of_source = [m for m in term.of("role") if m.value == "source"]
    verbs = [m for m in term.of("relation", "inverse") if _is_own_key(m.name, found.mapping)]
    names = {m.name for m in (*of_source, *verbs)}
    if len(names) != 1 or term.of("class", "attribute"):
        return False
    (name,) = names
    relation = found.mapping.lookup.relations[name]
    join = next(j for j in steps(found.mapping, relation.source) if j.relation == name and j.forward)
    others = [t for t in (*terms[at + 1 : at + 2], *terms[max(0, at - 1) : at]) if _is_instance(t, join.target)]
    others += [t for t in terms[at + 1 : at + 2] if _of_class(t, join.target)]
    found.used.add(term)
    found.mentioned.add(name)
    if not others:
        if not any(known == join for known, _, _ in found.related):
            found.related.append((join, None, term.text))
        return True
    anchors.add(others[0])
    found.used.add(others[0])
    if _is_instance(others[0], join.target):
        keys = tuple(m.value for m in others[0].of("entity") if m.name.startswith(f"{join.target}="))
        found.related.append((join, keys, f"{term.text} {others[0].text}"))
    else:
        found.through.append((join, others[0], f"{term.text} {others[0].text}"))
    return True


def _of_class(term: Term, class_id: str) -> bool:
    return any(m.name.startswith(f"{class_id}.") for m in term.of("value"))


def _is_own_key(relation_id: str, mapping: DatabaseMapping) -> bool:
    relation = mapping.lookup.relations[relation_id]
    return relation.source == relation.target and relation.join is not None and relation.join.column is not None


def _of_one_class(relation_id: str, mapping: DatabaseMapping) -> bool:
    relation = mapping.lookup.relations[relation_id]
    return relation.source == relation.target and relation.join is not None and relation.join.table is not None


def _is_instance(term: Term, class_id: str) -> bool:
    return any(m.name.startswith(f"{class_id}=") for m in term.of("entity"))


def _direction(terms: Sequence[Term], at: int, anchor: int | None, meaning: Meaning, *, symmetric: bool) -> bool:
    """Return True when what is asked for is the relation's source, False when it is its target."""
    if symmetric or anchor is None:
        return True
    term = terms[at]
    for side, forward in (("source", True), ("target", False)):
        nouns = [fold_in_place(w) for words in cues()["nouns"][side].values() for w in words]
        if term.text in nouns:
            return forward
    before = terms[anchor - 1] if anchor else None
    chinese = any("\u4e00" <= c <= "\u9fff" for c in term.text)
    if meaning.kind == "inverse":
        if anchor > at and not chinese:
            return False
        raise UnclearError(f"it is not clear which side {term.text!r} is")
    if before is not None and before.of("beneficiary") and chinese:
        return True
    if anchor > at:
        return True
    if anchor < at:
        return False
    raise UnclearError(f"it is not clear which side {term.text!r} is")


def _numbers(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in the comparisons: attribute, comparing word, number; or attribute, number, "以上"."""
    for i, term in enumerate(terms):
        if not term.of("number"):
            continue
        if term.of("top"):
            continue
        before, after = terms[i - 1] if i else None, terms[i + 1] if i + 1 < len(terms) else None
        word = before if before is not None and before.of("compared") else None
        kind = word.of("compared") if word is not None else after.of("compared_after") if after is not None else ()
        if not kind:
            raise UnclearError(f"it is not clear what {term.text!r} is")
        place = i - 2 if word is not None else i - 1
        attribute_term = terms[place] if place >= 0 else None
        class_id, attribute = _numeric(attribute_term, terms, found.mapping)
        quantity: Quantity = term.of("number")[0].value
        value = quantity.in_unit(attribute.unit.en if attribute.unit else "")
        value = quantity.in_unit(attribute.unit.zh) if value is None and attribute.unit else value
        if value is None or attribute_term is None:
            raise UnclearError(f"{term.text!r} is not in the unit of {attribute.id}")
        words = f"{attribute_term.text} {kind[0].name} {value:g}"
        found.compared.append(Compared(class_id, attribute, cast("Operator", kind[0].name), value, words))
        found.used |= {term, attribute_term, *([word] if word else [after] if after else [])}
    if len(found.compared) > 1:
        raise UnclearError("more than one number is compared")


def _numeric(term: Term | None, terms: Sequence[Term], mapping: DatabaseMapping) -> tuple[str, Attribute]:
    named = {m.name for t in terms for m in t.of("class")}
    choices = [m.name.partition(".") for m in term.of("attribute")] if term is not None else []
    found = [(c, mapping.attributes(c)[a]) for c, _, a in choices]
    found = [(c, a) for c, a in found if is_measure(a)]
    if len(found) > 1:
        found = [(c, a) for c, a in found if c in named] or found
    if len(found) != 1:
        raise UnclearError("it is not clear what is compared with a number")
    return found[0]
