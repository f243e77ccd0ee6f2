"""Which rows a question is about: named instances, values of attributes, numbers compared, and relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from theworld.ontology import Attribute
from theworld.sql.engines.protocol import Cell
from theworld.sql.mapping import DatabaseMapping, Join
from theworld.sql.paths import belongs_by, find_path, is_single, senses
from theworld.sql.plan import Filter, Operator, Path, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.text.language import Language


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
            self._not_both(path, self.named[class_id])
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
        for column in set(columns.values()):
            alike = [term for term in self.values if columns[term] == column]
            self._not_both(self._path(base, self._value(alike[0], base, via)[0], via, each_row), alike)
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

    def _not_both(self, path: Path, terms: Sequence[Term]) -> None:
        """Raise UnclearError for several names of what a row may have many of: those with both, or with either?"""
        either = {term for pair in self.alternatives for term in pair} | self.negated
        many = any(not is_single(step) for step in path)
        if many and len({t.text for t in terms}) > 1 and not either & set(terms):
            raise UnclearError(
                f"it is not clear whether {' and '.join(t.text for t in terms)} are both meant, or either"
            )

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
        for wanted in (*({one} for one in self.near.get(term, ())), {base}, via):
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
