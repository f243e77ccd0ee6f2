"""What a question measures: the figures asked for, and the part and the whole of a share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, cast

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.plan import Aggregate, UnclearError, Whole
from theworld.sql.questions.lexicon import Term, terms_of
from theworld.sql.questions.narrowing import Restrictions

Analysis = Literal["", "trend", "change", "change_over_year", "volatility"]
Needs = Sequence[frozenset[str]]
"""Classes, one of each, that a measure must belong to."""
_COUNTED = {"sum", "trend", "change", "change_over_year"}
"""What may be said of a count: a total of rows is their number."""
_QUANTITY = {"quantity", "数量"}
_PLAIN: dict[str, Aggregate] = {"sum": "sum", "average": "average", "count": "count"}


class Head(NamedTuple):
    """One measure of a question."""

    base: str
    """Class whose rows are measured."""
    measure: Attribute | None = None
    """None counts rows."""
    aggregate: Aggregate = "count"
    analysis: Analysis = ""
    per_subject: bool = False
    """Whether a class that the question is about splits it: a change or a volatility is told for each."""
    distinct: str | None = None
    """Class whose instances are counted, each once, in place of the rows they belong to."""


class _Measured(NamedTuple):
    term: Term
    base: str
    attribute: Attribute
    by_class: bool = False


def find_heads(
    terms: Sequence[Term],
    mapping: DatabaseMapping,
    *,
    superlative: bool,
    related: str | None = None,
    counting: bool = False,
    needs: Needs = (),
) -> list[Head]:
    """Return the measures in the order of the question; none for a question that only lists.

    `related` is the class of what a relation speaks of ("subsidiaries of X"): it is counted where no class is named.
    """
    measured = _attributes(terms, mapping, needs)
    spoken = {one.term for one in measured}
    aggregates = [t for t in terms if t.of("aggregate") and t not in spoken]
    counts = [t for t in aggregates if _name(t) == "count"]
    others = [t for t in aggregates if t not in counts]
    if counts and len(measured) == 1 and 0 <= measured[0].term.start - counts[0].end <= 3:
        counts = []  # how many beds: the beds, not the rows
    if counts:
        if measured or len(counts) > 1 or any(_name(t) not in _COUNTED for t in others):
            raise UnclearError("it is not clear what is counted")
        base = _counted(terms, counts[0], related)
        if mapping.happens(base) is None and (head := happening(mapping, base, terms, needs)) is not None:
            return [head]
        if counts[0].text == "有多少" and default_measure(mapping, base) is not None:
            raise UnclearError(f"it is not clear whether {counts[0].text!r} asks for rows or for their sum")
        return [Head(base, analysis=_analysis(others))]
    if not measured and counting:
        rows = rows_named(terms)[-1:] or ([related] if related else [])
        return [Head(one, analysis=_analysis(others)) for one in rows]
    if not measured and (others or superlative or not terms_of(terms, "which")):
        classes = [(t, m.name) for t in terms if not t.of("entity", "value") for m in t.of("class")[:1]]
        measured = [
            _Measured(term, base, measure, by_class=True)
            for term, base in classes
            if (measure := default_measure(mapping, base)) is not None
        ]
    assigned: dict[Term, list[Term]] = {one.term: [] for one in measured}
    joints = [t.start for t in terms if t.of("joined")]
    for word in others if measured else ():  # to the measure it stands nearest to, "and" between them counting most
        spans = {one: sorted((one[:2], word[:2])) for one in assigned}
        between = {one: sum(a[1] <= joint < b[0] for joint in joints) for one, (a, b) in spans.items()}
        assigned[min(assigned, key=lambda one: (between[one], spans[one][1][0] - spans[one][0][1]))].append(word)
    return [head for one in measured for head in _heads(one, assigned[one.term], superlative)]


def _name(term: Term) -> str:
    return term.of("aggregate")[0].name


def _analysis(terms: Sequence[Term]) -> Analysis:
    found = {_name(t) for t in terms if _name(t) not in _PLAIN}
    if len(found) > 1:
        raise UnclearError("more than one analysis is asked of one measure")
    return cast("Analysis", found.pop()) if found else ""


def default_measure(mapping: DatabaseMapping, class_id: str) -> Attribute | None:
    """Return the measure that a class stands for: a fact's, which has a time, where its rows are not counted."""
    table = mapping.classes[class_id]
    if table.counted or table.time is None:
        return None
    return next(filter(is_measure, mapping.attributes[class_id].values()), None)


def rows_named(terms: Sequence[Term]) -> list[str]:
    """Return the classes whose rows are counted where nothing else is measured."""
    return list(dict.fromkeys(m.name for t in terms if not t.of("attribute", "value") for m in t.of("class")))


def happening(mapping: DatabaseMapping, counted: str, terms: Sequence[Term], needs: Needs) -> Head | None:
    """Return what is counted of things that something happens to, None where nothing is said to happen.

    Products sold are the quantity of the lines between them and what happens; customers who bought are counted, each
    once, over the rows that they and all else that is named belong to: the nearest that happen.
    """
    named = [m.name for t in terms for m in t.of("class") if m.name != counted and mapping.classes[m.name].time]
    if not named and not terms_of(terms, "traded"):
        return None
    lines = []
    for line in mapping.classes if not named else ():
        quantities = [a for a in mapping.attributes[line].values() if is_measure(a) and {*a.labels.all()} & _QUANTITY]
        keyed = any(join.single and join.target == counted for join in mapping.steps(line))
        if keyed and len(quantities) == 1 and mapping.happens(line) is not None:
            lines.append(Head(line, quantities[0], "sum"))
    if len(lines) == 1:
        return lines[0]
    goals = [frozenset({counted}), *needs]
    rows = [one for one in named or mapping.classes if one != counted and mapping.happens(one) is not None]
    lengths = _steps_to(goals, rows, mapping)
    events = {found[1] for one in lengths if (found := mapping.happens(one)) is not None}
    nearest = [one for one in lengths if lengths[one] == min(lengths.values())]
    if len(events) != 1 or len(nearest) != 1:
        raise UnclearError(f"it is not said which rows say when {counted} was")
    return Head(nearest[0], distinct=counted)


def _steps_to(needs: Needs, classes: Iterable[str], mapping: DatabaseMapping) -> dict[str, int]:
    """Return how many steps lead from each class to all that it must belong to; without those that do not."""
    lengths: dict[str, int] = {}
    for class_id in classes:
        ways = [[mapping.path(class_id, goal, single=True) for goal in sorted(goals)] for goals in needs]
        if all(any(way is not None for way in found) for found in ways):
            lengths[class_id] = sum(min(len(way) for way in found if way is not None) for found in ways)
    return lengths


def _attributes(terms: Sequence[Term], mapping: DatabaseMapping, needs: Needs) -> list[_Measured]:
    found: list[_Measured] = []
    for term in terms:
        named = [(m.owner, mapping.attribute(m.name)) for m in term.of("attribute")]
        choices = [(owner, attribute) for owner, attribute in named if is_measure(attribute)]
        if len(choices) > 1:
            lengths = _steps_to(needs, dict(choices), mapping)
            choices = [one for one in choices if lengths.get(one[0]) == min(lengths.values(), default=0)] or choices
        if len(choices) > 1:  # what happens by itself before the lines of it
            choices = [one for one in choices if mapping.classes[one[0]].time is not None] or choices
        if len(choices) > 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        if choices and all(choices[0] != (one.base, one.attribute) for one in found):
            found.append(_Measured(term, *choices[0]))
    return found


def _counted(terms: Sequence[Term], count: Term, related: str | None) -> str:
    """Return the class that is counted: the first after the count word, else the last before it."""
    at = terms.index(count)
    near = [t for t in (count, *terms[at + 1 :], *terms[:at][::-1]) if t.of("class")]
    if near:
        if len(near[0].of("class")) > 1:
            raise UnclearError(f"{near[0].text!r} means more than one thing")
        return near[0].of("class")[0].name
    if related is not None:
        return related
    raise UnclearError("nothing is named that could be counted")


def _heads(one: _Measured, words: Sequence[Term], superlative: bool) -> list[Head]:
    analysis = _analysis(words)
    plain = list(dict.fromkeys(_PLAIN[_name(w)] for w in words if _name(w) in _PLAIN))
    usual = one.attribute.aggregation
    if not plain:
        if usual not in {"sum", "average"} and not superlative:
            raise UnclearError(f"{one.term.text!r} has no plain total")
        plain = ["average" if usual == "average" else "sum" if usual == "sum" else "max"]
    if "sum" in plain and usual != "sum":
        raise UnclearError(f"{one.term.text!r} cannot be added up")
    if analysis and len(plain) > 1:
        raise UnclearError("more than one analysis is asked of one measure")
    told_each = analysis in {"change", "change_over_year", "volatility"} or (one.by_class and not words)
    return [Head(one.base, one.attribute, aggregate, analysis, told_each) for aggregate in plain]


def part_and_whole(
    heads: Sequence[Head], terms: Sequence[Term], needs: Needs, found: Restrictions, *, grouped: bool
) -> tuple[Head, Attribute | None, Whole]:
    """Return what a share measures, what divides it where that is another measure, and of which rows the whole is.

    Where no measure is named rows are counted, or what happens to them. Raises UnclearError where part or whole could
    be meant otherwise: with several conditions it is not said which of them hold for the whole too.
    """
    mapping = found.mapping
    if not heads:
        rows = rows_named(terms)
        happened = (
            happening(mapping, rows[0], terms, needs) if len(rows) == 1 and not mapping.happens(rows[0]) else None
        )
        heads = [happened] if happened else [Head(class_id) for class_id in rows]
    if any(head.analysis or head.aggregate not in {"sum", "count"} for head in heads) or not heads:
        raise UnclearError("it is not clear what the share is of")
    first, *others = dict.fromkeys(heads)  # of one measure named twice it is the rows that differ
    if len(others) > 1 or any(head.base != first.base for head in others):
        raise UnclearError("it is not clear what the share is of")
    if others:
        return _of_measure(first, others[0], terms)
    if grouped:
        return first, None, "rows"
    values = {frozenset(m.name for m in t.of("value")) for t in found.values}  # 学生(student) is one
    conditions = len(found.keys) + len(values) + len(found.compared) + len(found.without)
    if conditions != 1 or found.related:
        raise UnclearError("it is not clear what the share is of")
    return first, None, "all"


def _of_measure(first: Head, second: Head, terms: Sequence[Term]) -> tuple[Head, Attribute, Whole]:
    """Return which of two measures is the part, and the other."""
    asked = next(t for t in terms if t.of("share"))
    whole_first = any(m.name == "whole_first" for m in asked.of("share"))  # what percentage of the limit is used
    whole_first &= all(asked.start < t.start for t in terms if t.of("attribute"))
    part, whole = (second, first) if whole_first else (first, second)
    if part.measure is None or whole.measure is None or part.measure.unit != whole.measure.unit:
        raise UnclearError("a share needs two measures in one unit")
    return part, whole.measure, "measure"
