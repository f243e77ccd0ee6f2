"""Whether every class, relation and word of a question has a part in what was understood."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import Filter, Group, Plan, UnclearError
from theworld.sql.questions.lexicon import Term, TermKind
from theworld.sql.questions.narrowing import Restrictions

LEAST_SURE = 0.8
"""What a draft is less sure of is not told as fact."""


class _Used:
    """What the plans of a question make use of; the methods tell whether a term has its part in it."""

    def __init__(self, plans: Sequence[Plan], mapping: DatabaseMapping) -> None:
        self.plans, self.mapping = plans, mapping
        groups = [*filter(None, (group for p in plans for group in (p.group, p.per)))]
        reached: list[Group | Filter] = [*groups, *(f for p in plans for f in p.filters)]
        steps = [step for one in reached for step in one.path]
        self.relations = {step.relation for step in steps}
        self.classes = {step.target for step in steps} | {p.base for p in plans} | {one.class_id for one in reached}
        self.classes |= {p.distinct.class_id for p in plans if p.distinct}
        self.told = {a for p in plans for a in (p.measure, p.divisor, *p.shown) if a}
        self.groups = {*filter(None, (group.attribute for group in groups))}
        self.split = bool(groups) or any(p.time_unit or p.per_unit for p in plans)
        self.once = any(p.distinct for p in plans)

    def class_(self, term: Term) -> bool:
        names = term.owners("class")
        below = {id_ for name in names for id_ in self.mapping.lookup.descendants(name)}
        ways = (self.mapping.path(p.base, name, single=True) for p in self.plans for name in names)
        return bool(below & self.classes) or any(way is not None for way in ways)

    def attribute(self, term: Term) -> bool:
        if term.of("class") and self.class_(term):
            return True
        known = {a.id for a in (*self.told, *self.groups)}
        known, times = known if term.of("attribute") else set(), {p.time_column for p in self.plans}
        named = [self.mapping.attribute(m.name) for m in term.of("attribute") or term.of("dated")]
        of_event = bool(term.of("traded")) and all(term.owners("dated") & self.events(p) for p in self.plans)
        return of_event or any(a.id in known or a.column in times for a in named)

    def events(self, plan: Plan) -> set[str]:
        """Return what happens to the rows of a plan, or to those that its conditions lead over."""
        reached = {plan.base, *(step.target for f in plan.filters for step in f.path)}
        return {event for one in reached if (event := self.mapping.happens(one))}

    def happened(self, _: Term) -> bool:
        return all(map(self.events, self.plans))

    def relation(self, term: Term) -> bool:
        return any(m.name in self.relations for m in term.of("relation", "inverse", "role"))


class _Rule(NamedTuple):
    """A term that may mean one of `kinds` and none of `unless` has a part, here or, with `restricts`, in a filter."""

    kinds: tuple[TermKind, ...]
    unless: tuple[TermKind, ...]
    has_part: Callable[[_Used, Term], bool]
    restricts: bool = False
    why: str = "has no part in what was understood"


_RULES = (
    _Rule(("relation", "inverse"), ("class", "attribute", "value"), _Used.relation),
    _Rule(("class",), ("attribute", "entity", "value"), _Used.class_),
    _Rule(("attribute",), ("aggregate",), _Used.attribute, restricts=True),
    _Rule(("compared",), ("empty",), lambda *_: False, True, "compares nothing"),
    _Rule(("traded",), ("value", "entity", "class", "dated", "empty"), _Used.happened, why="is not said of these rows"),
    _Rule(("dated",), ("class", "attribute", "value", "entity"), _Used.attribute, restricts=True),
    _Rule(("who", "role", "does"), ("class", "attribute"), _Used.relation, restricts=True),
    _Rule(
        ("elapsed", "moment"),
        ("class", "attribute", "value", "entity", "relation", "dated"),
        lambda *_: False,
        True,
        why="is not said between two dates of one thing",
    ),
    _Rule(("one",), ("value", "entity", "class"), lambda used, _: not used.once, why="is a number of them"),
    _Rule(("each",), ("passive", "empty"), lambda used, _: used.split, True, "splits nothing"),
)
"""The first that speaks of a term decides; what compares has its part in a filter or none."""


def check_all_used(plans: Sequence[Plan], terms: Sequence[Term], found: Restrictions, mapping: DatabaseMapping) -> None:
    """Raise UnclearError when a class, relation or word of the question has no part in the plans."""
    used, columns = _Used(plans, mapping), _columns_of_values(terms, found)
    for term in terms:
        spoken = (one for one in _RULES if term.of(*one.kinds) and not term.of(*one.unless))
        rule = next((one for one in spoken if not (one.restricts and term in found.used)), None)
        if rule is not None and not rule.has_part(used, term) and term not in columns:
            raise UnclearError(f"{term.text!r} {rule.why}")


def _columns_of_values(terms: Sequence[Term], found: Restrictions) -> set[Term]:
    """Return the columns that only say what the value beside them is of: sex F, 状态为营业."""
    said = [term for term in terms if not term.of("not")]
    pairs = [(column, value) for a, b in pairwise(said) for column, value in ((a, b), (b, a)) if value in found.values]
    of_value = {value: {m.name.partition("=")[0] for m in value.of("value")} for _, value in pairs}
    return {column for column, value in pairs if of_value[value] & {m.name for m in column.of("attribute")}}


def _compared(plans: Sequence[Plan], mapping: DatabaseMapping) -> Iterator[Attribute]:
    """Yield the attributes by which rows are narrowed down or timed."""
    for plan in plans:
        found = {(plan.time_path[-1].target if plan.time_path else plan.base, plan.time_column)}
        found |= {(one.class_id, one.column) for one in plan.filters}
        found |= {(f.class_id, str(f.values[0])) for f in plan.filters if f.operator in {"later", "earlier"}}
        for class_id, column in found:
            own = mapping.attributes.get(class_id, {}).values()
            yield from (one for one in own if one.column == column and not one.times)


def check_sure(plans: Sequence[Plan], mapping: DatabaseMapping) -> None:
    """Raise UnclearError when plans rest on a part of the mapping that is only guessed."""
    used = _Used(plans, mapping)
    parts = [
        *(mapping.lookup.classes[c] for c in sorted(used.classes)),
        *(mapping.lookup.relations[r] for r in sorted(used.relations)),
        *sorted({*used.told, *used.groups, *_compared(plans, mapping)}, key=lambda attribute: attribute.id),
    ]
    for part in parts:
        if isinstance(part, Attribute) and part.per_second == 0:
            raise UnclearError(f"the dates of {part.labels.preferred('en') or part.id!r} are kept as numbers, not read")
        if part.confidence < LEAST_SURE:
            name, sure = part.labels.preferred("en") or part.id, f"(sure {part.confidence:g})"
            raise UnclearError(f"what {name!r} is has only been guessed {sure}; confirm it in the mapping")
