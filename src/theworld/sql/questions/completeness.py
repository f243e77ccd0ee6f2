"""Whether every class, relation and word of a question has a part in what was understood."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import find_path, happens
from theworld.sql.plan import Plan, UnclearError
from theworld.sql.questions.lexicon import Term, TermKind, cues
from theworld.sql.questions.restrictions import Restrictions


class _Used:
    """What the plans of a question make use of; the methods tell whether a term has its part in it."""

    def __init__(self, plans: tuple[Plan, ...], mapping: DatabaseMapping) -> None:
        self._plans, self._mapping = plans, mapping
        groups = [p.group for p in plans if p.group]
        filters = [f for p in plans for f in p.filters]
        steps = [step for path in [g.path for g in groups] + [f.path for f in filters] for step in path]
        self.relations = {step.relation for step in steps}
        self.classes = {step.target for step in steps} | {p.base for p in plans}
        self.classes |= {g.class_id for g in groups} | {f.class_id for f in filters}
        self.classes |= {part.class_id for p in plans for part in (p.per, p.distinct) if part}
        told = [a for p in plans for a in (p.measure, p.divisor, *p.shown)] + [g.attribute for g in groups]
        self._attributes = {attribute.id for attribute in told if attribute}
        self.measured = any(p.measure for p in plans)
        self.distinct = any(p.distinct for p in plans)
        self.extreme = any(p.aggregate in {"min", "max"} for p in plans)
        self.split = bool(groups) or any(p.time_unit or p.per for p in plans)

    def relation(self, term: Term) -> bool:
        return bool(self.relations & {m.name for m in term.of("relation", "inverse")})

    def class_(self, term: Term) -> bool:
        names = {m.name for m in term.of("class")}
        below = {id_ for name in names for id_ in self._mapping.lookup.descendants(name)}
        ways = (find_path(self._mapping, p.base, name, single=True) for p in self._plans for name in names)
        return bool(below & self.classes) or any(way is not None for way in ways)

    def happens(self, _term: Term) -> bool:
        return all(happens(self._mapping, p.base) is not None for p in self._plans)

    def dated(self, term: Term) -> bool:
        columns = {p.time_column for p in self._plans}
        named = [m.name.partition(".") for m in term.of("dated")]
        return any(self._mapping.attributes(c)[a].column in columns for c, _, a in named)

    def role(self, term: Term) -> bool:
        return bool(self.relations & {m.name for m in term.of("role")})

    def attribute(self, term: Term) -> bool:
        columns = {p.time_column for p in self._plans}
        named = [m.name.partition(".") for m in term.of("attribute")]
        if (term.of("class") and self.class_(term)) or (term.text in cues()["money"] and self.measured):
            return True
        return any(a in self._attributes or self._mapping.attributes(c)[a].column in columns for c, _, a in named)


class _Rule(NamedTuple):
    """A term that may mean one of `kinds` and none of `unless` has a part, here or, with `restricts`, in a filter."""

    kinds: tuple[TermKind, ...]
    unless: tuple[TermKind, ...]
    has_part: Callable[[_Used, Term], bool]
    restricts: bool = False
    problem: str = "has no part in what was understood"


_RULES = (
    _Rule(("relation", "inverse"), ("class", "attribute", "value"), _Used.relation),
    _Rule(("class",), ("attribute", "entity", "value"), _Used.class_),
    _Rule(("attribute",), ("aggregate",), _Used.attribute, restricts=True),
    _Rule(("compared", "compared_after"), ("empty",), lambda _used, _term: False, True, "compares nothing"),
    _Rule(
        ("traded",), ("value", "entity", "class", "dated", "empty"), _Used.happens, problem="is not said of these rows"
    ),
    _Rule(("dated",), ("class", "attribute", "value", "entity"), _Used.dated, restricts=True),
    _Rule(("who", "role"), ("class", "attribute"), _Used.role, restricts=True),
    _Rule(("one",), ("value", "entity", "class"), lambda used, _term: not used.distinct, problem="is a number of them"),
    _Rule(("extreme",), (), lambda used, _term: used.extreme, problem="is the first or the last of nothing"),
    _Rule(("each",), ("passive", "empty"), lambda used, _term: used.split, problem="splits nothing"),
)
"""The first that speaks of a term decides; what compares has its part in a filter or none."""


def check_all_used(
    plans: tuple[Plan, ...], terms: tuple[Term, ...], restrictions: Restrictions, mapping: DatabaseMapping
) -> None:
    """Raise UnclearError when a class, relation or word of the question has no part in the plans."""
    used = _Used(plans, mapping)
    for term in terms:
        for rule in _RULES:
            restricted = rule.restricts and term in restrictions.used
            if term.of(*rule.kinds) and not term.of(*rule.unless) and not restricted:
                if not rule.has_part(used, term):
                    raise UnclearError(f"{term.text!r} {rule.problem}")
                break


LEAST_SURE = 0.8
"""What a draft is less sure of is not told as fact."""


def check_sure(plans: tuple[Plan, ...], mapping: DatabaseMapping) -> None:
    """Raise UnclearError when plans rest on a part of the mapping that is only guessed."""
    used = _Used(plans, mapping)
    told = {a for p in plans for a in (p.measure, p.divisor, *p.shown) if a is not None}
    parts = [
        *(mapping.lookup.classes[c] for c in sorted(used.classes)),
        *(mapping.lookup.relations[r] for r in sorted(used.relations)),
        *sorted(told, key=lambda a: a.id),
    ]
    for part in parts:
        if part.confidence < LEAST_SURE:
            name = part.labels.preferred("en") or part.id
            raise UnclearError(
                f"what {name!r} is has only been guessed (sure {part.confidence:g}); confirm it in the mapping"
            )
