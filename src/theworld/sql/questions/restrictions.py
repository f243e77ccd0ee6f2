"""Which rows a question is about: named instances, values of attributes, numbers compared, and relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from theworld.ontology import Attribute
from theworld.sql.engines.protocol import Cell
from theworld.sql.mapping import DatabaseMapping, Join, is_measure
from theworld.sql.paths import belongs_by, find_path, senses, steps
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
    mentioned: set[str] = field(default_factory=set)

    @property
    def any(self) -> bool:
        """Whether anything narrows the rows down."""
        return bool(self.keys or self.values or self.compared or self.related)

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
        """The class of which several instances are named."""
        return next((class_id for class_id, keys in self.keys.items() if len(keys) > 1), None)

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
            words = "、".join(t.text for t in self.named[class_id])
            found.append(Filter(path, class_id, key, "in", tuple(keys), words, below))
            reading += senses(self.mapping, path, via, language)
        for term in self.values:
            class_id, attribute, values = self._value(term, base, via)
            path = self._path(base, class_id, via, each_row)
            found.append(Filter(path, class_id, attribute.column or "", "in", values, term.text))
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
        return found, list(dict.fromkeys(reading))

    def _path(self, base: str, class_id: str, via: frozenset[str], single: bool) -> Path:
        path = find_path(self.mapping, base, class_id, via=via, single=single)
        if path is None:
            raise UnclearError(f"{class_id} does not narrow {base} down")
        return path

    def _value(self, term: Term, base: str, via: frozenset[str]) -> tuple[str, Attribute, tuple[Cell, ...]]:
        choices: dict[tuple[str, str], list[Cell]] = {}
        for meaning in term.of("value"):
            name = meaning.name.partition("=")[0]
            class_id, _, attribute_id = name.partition(".")
            choices.setdefault((class_id, attribute_id), []).append(meaning.value)
        for wanted in ({base}, via):
            kept = {key: cells for key, cells in choices.items() if key[0] in wanted}
            choices = kept or choices
        if len(choices) > 1:
            reached = {k: v for k, v in choices.items() if find_path(self.mapping, base, k[0], single=True) is not None}
            choices = reached or choices
        if len(choices) != 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        (class_id, attribute_id), cells = next(iter(choices.items()))
        return class_id, self.mapping.attributes(class_id)[attribute_id], tuple(cells)


def _merged(filters: Sequence[Filter]) -> list[Filter]:
    """Return the filters with those on one column made one: "raised and cut" is either."""
    found: dict[tuple[Path, str], Filter] = {}
    for item in filters:
        known = found.get((item.path, item.column))
        if known is not None and known.class_id == item.class_id:
            values = tuple(dict.fromkeys((*known.values, *item.values)))
            item = replace(known, values=values, label=f"{known.label}、{item.label}")  # noqa: PLW2901
        found[item.path, item.column] = item
    return list(found.values())


def find_restrictions(terms: Sequence[Term], mapping: DatabaseMapping) -> Restrictions:
    """Return what narrows the rows down, with the terms that say so."""
    found = Restrictions(mapping)
    anchors = _relations(terms, found)
    for term in terms:
        if term.of("entity") and term not in anchors:
            meaning = _one(term, term.of("entity"))
            class_id = meaning.name.partition("=")[0]
            found.named.setdefault(class_id, []).append(term)
            if meaning.value not in found.keys.setdefault(class_id, []):
                found.keys[class_id].append(meaning.value)
            found.used.add(term)
        elif term.of("value") and not term.of("attribute", "class", "aggregate"):
            found.values.append(term)
            found.used.add(term)
    _numbers(terms, found)
    return found


def _one(term: Term, meanings: tuple[Meaning, ...]) -> Meaning:
    if len({m.name for m in meanings}) != 1:
        raise UnclearError(f"{term.text!r} is the name of more than one thing")
    return meanings[0]


def _relations(terms: Sequence[Term], found: Restrictions) -> set[Term]:
    """Take in the relations between instances of one class; return the instances they are related to."""
    anchors: set[Term] = set()
    for i, term in enumerate(terms):
        relations = term.of("relation", "inverse")
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
