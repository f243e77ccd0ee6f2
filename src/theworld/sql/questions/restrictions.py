"""Which rows a question is about: named instances, values of attributes, numbers compared, and relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from theworld.ontology import Attribute
from theworld.sql.mapping import MOST_STEPS, DatabaseMapping, Join, Path
from theworld.sql.plan import Filter, Operator, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.state.tables import Cell
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
    language: Language
    via: frozenset[str] = frozenset()
    """The relations and classes that the question mentions."""
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
                raise UnclearError(f"{item.words!r} is not about these rows")
            found.append(Filter((), base, item.attribute.column or "", item.operator, (item.value,), item.words))
        for join, related, words in self.related:
            path = self._path(base, join.source)
            senses += self.mapping.senses(path, self.via, self.language)
            key = self.mapping.classes[join.target].key
            operator: Operator = "exists" if related is None else "in"
            found.append(Filter((*path, join), join.target, key, operator, related or (), words))
        for join, term, words in self.through:
            class_id, attribute, values = self._value(term, join.target)
            path = (*self._path(base, join.source), join)
            found.append(Filter(path, class_id, attribute.column or "", "in", values, words))
        found += [self._missing(term, base) for term in self.without]
        found += [self._filled(term, base) for term in self.dated]
        return tuple(found), tuple(dict.fromkeys(senses))

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
