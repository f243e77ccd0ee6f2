"""What a question measures: the figures asked for, and the part and the whole of a share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple, cast

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.plan import Aggregate, UnclearError
from theworld.sql.questions.cutting import Ranking
from theworld.sql.questions.lexicon import CUES, Term, class_of, classes_named, terms_of
from theworld.sql.questions.narrowing import LONGEST_BETWEEN, Restrictions

Analysis = Literal["", "trend", "change", "change_over_year", "volatility"]
Needs = Sequence[frozenset[str]]
"""Classes, one of each, that a measure must belong to."""
_COUNTED = {"sum", "trend", "change", "change_over_year"}
"""What may be said of a count: a total of rows is their number."""
_QUANTITY = {"quantity", "数量"}
_EXTREMES: dict[str, Aggregate] = {"min": "min", "max": "max"}
"""What is said of dates: the earliest, the latest."""
_PLAIN: dict[str, Aggregate] = {"sum": "sum", "average": "average", **_EXTREMES}


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


def find_heads(terms: Sequence[Term], found: Restrictions, needs: Needs, ranking: Ranking | None = None) -> list[Head]:
    """Return the measures in the order of the question; none for a question that only lists."""
    measured = _attributes(terms, found.mapping, needs)
    aggregates = sorted({*terms_of(terms, "aggregate")} - {one.term for one in measured})
    counts = [t for t in aggregates if name_of(t) == "count"]
    if len(counts) == len(measured) == 1 and _gap(measured[0].term, counts[0]) <= LONGEST_BETWEEN:
        counts = []  # how many beds, 库存数量: the beds, the stock, not the rows
    if counts or (ranking and ranking.of_number and not measured):
        if measured or len(counts) > 1 or not set(map(name_of, aggregates)) <= {*_COUNTED, "count"}:
            raise UnclearError("it is not clear what is counted")
        ranked = ranking.what if ranking else None
        return _counted(counts[0] if counts else None, terms, aggregates, found, needs, ranked=ranked)
    if not measured and (aggregates or ranking or not terms_of(terms, "which")):
        measured = _stood_for(terms, found.mapping)
    return [head for one in measured for head in _heads(one, _words_of(one, aggregates, measured), ranking)]


def _words_of(one: _Measured, words: Sequence[Term], measured: Sequence[_Measured]) -> list[Term]:
    """Return the words that stand nearest to a measure, of several."""
    return [word for word in words if one is min(measured, key=lambda measure: _gap(measure.term, word))]


def _gap(one: Term, other: Term) -> int:
    return max(one.start - other.end, other.start - one.end)


def name_of(term: Term) -> str:
    """Return what is done with a measure: sum, average, count, ..."""
    return term.of("aggregate")[0].name if term.of("aggregate") else ""


def _analysis(terms: Sequence[Term]) -> Analysis:
    found = {name_of(t) for t in terms} - {*_PLAIN, "count"}
    if len(found) > 1:
        raise UnclearError("more than one analysis is asked of one measure")
    return cast("Analysis", found.pop()) if found else ""


def _stock(class_id: str, mapping: DatabaseMapping) -> Attribute | None:
    """Return the quantity that a class is called like (库存: its 库存数量), whose sum is its number; else None."""
    stocks = CUES["stocks"] if mapping.called(class_id, CUES["stocks"]) else ()
    alike = _QUANTITY | {f"{name}{end}" for name in stocks for end in ("数量", "量", " quantity", " level")}
    found = [one for one in mapping.measures[class_id] if stocks and not alike.isdisjoint(one.labels.all())]
    return found[0] if len(found) == 1 and found[0].aggregation == "sum" else None


def _stood_for(terms: Sequence[Term], mapping: DatabaseMapping) -> list[_Measured]:
    """Return the measures that classes stand for."""
    named = [(t, m.name) for t in terms if not t.of("entity", "value") for m in t.of("class")[:1]]
    facts = ((term, name, measure_meant(name, mapping)) for term, name in named)
    return [_Measured(term, name, measure, by_class=True) for term, name, measure in facts if measure]


def measure_meant(class_id: str, mapping: DatabaseMapping, *, sized: bool = False) -> Attribute | None:
    """Return the measure that a class stands for: a stock's, or a fact's, which has a time and is not counted.

    Rows that are compared in size have their one amount of money that is added up; those that end (a salary) have none.
    """
    table, own = mapping.classes[class_id], mapping.measures[class_id]
    fact = _stock(class_id, mapping) or next(iter(own if table.time and not table.counted else ()), None)
    added = [one for one in own if one.aggregation == "sum"]
    ends = {one.column for one in mapping.attributes[class_id].values() if one.labels.end_in(CUES["endings"])}
    money = len(added) == 1 and ends <= table.counts.keys() and added[0].labels.end_in(CUES["amounts"])
    return fact or (added[0] if sized and money else None)


def _rows_named(terms: Sequence[Term]) -> list[str]:
    """Return the classes whose rows are counted where nothing else is measured."""
    return list(dict.fromkeys(m.name for t in terms if not t.of("attribute", "value") for m in t.of("class")))


def _counted(
    count: Term | None,
    terms: Sequence[Term],
    aggregates: Sequence[Term],
    found: Restrictions,
    needs: Needs,
    *,
    ranked: Term | None,
) -> list[Head]:
    """Return what is counted; "how often" counts what happened, and "most" (no count word) where no class is left."""
    mapping, named = found.mapping, classes_named(terms)
    if count is not None and count.text in CUES["how_often"] and not any(map(mapping.happens, named)):
        event = mapping.event_of({*found.named.values()} or named, dated=found.dated)
        if event is None or len(aggregates) > 1:
            raise UnclearError("it is not clear what is counted")
        return [Head(event)]
    rows = _rows_counted(count, terms, found)
    base = rows or (class_of(ranked) if ranked else None)
    if base is not None and (head := happening(base, terms, found, needs)) is not None:
        return [head if rows else head._replace(distinct=None)]
    if rows is None:
        if count is not None:
            raise UnclearError("nothing is named that could be counted")
        return []
    said = count.text if count is not None else ""
    measure = None if said[-1:] in CUES["rows"] else _stock(rows, mapping)
    if said.endswith("多少") and measure is None and measure_meant(rows, mapping):
        raise UnclearError(f"it is not clear whether {said!r} asks for rows or for their sum")
    return [Head(rows, measure, "sum" if measure else "count", _analysis(aggregates))]


def _rows_counted(count: Term | None, terms: Sequence[Term], found: Restrictions) -> str | None:
    """Return the class first named after a count word, else last before it, else what is related."""
    at = terms.index(count) if count is not None else len(terms)
    near = terms_of((*terms[at:], *terms[:at][::-1]), "class")[:1]
    common = set.intersection(*(t.owners("value") for t in found.values)) if found.values and count else set()
    spoken = [found.related_class] if found.related_class else [*common] if len(common) == 1 else []  # chief physicians
    return class_of(near[0]) if near else next(iter(spoken), None)


def happening(counted: str, terms: Sequence[Term], found: Restrictions, needs: Needs) -> Head | None:
    """Return what is counted of things that something happens to, None where nothing is said to happen.

    Products sold are the quantity of the lines between them and what happens; customers who bought are counted, each
    once, over the rows that they and all else that is named belong to: the nearest that happen.
    """
    mapping = found.mapping
    happen = found.dated or {event for one in mapping.classes if (event := mapping.happens(one))}
    lines = _quantities(counted, happen, found)
    sold = _sold(counted, lines, found)
    named = {one for one in classes_named(terms) if mapping.classes[one].time} - sold
    itself = counted in found.dated or (mapping.happens(counted) and not sold)
    if found.absent or itself or not (named or found.happened):
        return None
    kinds = any(t.of("distinct") or (t.of("aggregate") and t.text.endswith("种")) for t in terms)
    if len(lines) == 1 and not named and not kinds:
        return lines[0]
    event = mapping.event_of([counted], needs, named or found.dated)
    if event is None:
        raise UnclearError(f"it is not said which rows say when {counted} was")
    return Head(event, distinct=counted)


def _sold(counted: str, lines: Sequence[Head], found: Restrictions) -> set[str]:
    """Return what is counted where it is things that lines are of (products sold), whatever date these have too."""
    return {counted} & found.mapping.named if lines and found.happened else set()


def _quantities(counted: str, happen: Collection[str], found: Restrictions) -> list[Head]:
    """Return the quantities of the lines of what happens that belong to what is counted.

    None of people, nor of what has no price and traded what stands behind the verb: shops that sold tea.
    """
    mapping = found.mapping
    behind = [b for a, b in pairwise(found.terms) if a.of("traded") and b.start - a.end <= LONGEST_BETWEEN]
    others = {owner for term in behind for owner in term.owners("class", "value", "entity")} - {counted}
    money = [one for one in mapping.measures[counted] if one.labels.end_in(CUES["money"])]
    if counted in mapping.people or (others and not any(one.aggregation == "average" for one in money)):
        return []
    return [
        Head(line, quantity, "sum")
        for line in mapping.classes
        if mapping.happens(line) in happen and len(mapping.path(line, counted, single=True) or ()) == 1
        for quantity in mapping.measures[line]
        if not _QUANTITY.isdisjoint(quantity.labels.all())
    ]


def _measuring(terms: Sequence[Term], mapping: DatabaseMapping) -> Iterator[Term]:
    """Yield the terms that may be measures; in 商品(的)数量, 库存数量, "total stock" the word of the figure is none."""
    for i, term in enumerate(terms):
        owners, figure = term.owners("attribute"), name_of(term)
        before = terms_of(terms[max(0, i - 1) : i], "class", "attribute") if figure == "count" else []
        beside = before[0].end >= term.start - 1 if before else False
        counted = before[0].owners("class", "attribute") - owners if beside else set()
        others = classes_named(terms) - counted
        behind = takewhile(lambda one: not one.of("joined"), terms[i + 1 :]) if figure == "sum" else ()
        named = (mapping.attribute(m.name) for one in behind if not name_of(one) for m in one.of("attribute"))
        if counted and not others & (owners | {mapping.happens(owner) for owner in owners}):
            continue
        if not any(map(is_measure, named)):
            yield term


def _attributes(terms: Sequence[Term], mapping: DatabaseMapping, needs: Needs) -> list[_Measured]:
    """Return the measures that are named: of several of one name the nearest to what is named, then what happens."""
    found: list[_Measured] = []
    for term in _measuring(terms, mapping):
        choices = _choices(term, terms, mapping)
        if len(choices) > 1:
            ways = {owner: mapping.ways(owner, needs) for owner, _ in choices}
            steps = {owner: sum(min(map(len, some)) for some in way) for owner, way in ways.items() if way is not None}
            choices = [one for one in choices if steps.get(one[0]) == min(steps.values(), default=0)] or choices
        if len(choices) > 1:  # what happens by itself before the lines of it
            choices = [one for one in choices if mapping.classes[one[0]].time is not None] or choices
        if len(choices) > 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        if choices and all(choices[0] != (one.base, one.attribute) for one in found):
            found.append(_Measured(term, *choices[0]))
    return found


def _choices(term: Term, terms: Sequence[Term], mapping: DatabaseMapping) -> list[tuple[str, Attribute]]:
    """Return what a term may measure, each with its class: dates where the first or the last is asked for."""
    dated = any(name_of(one) in _EXTREMES for one in terms)
    named = [(m.owner, mapping.attribute(m.name)) for m in term.of("attribute")]
    return [one for one in named if (one[1].type == "date" if dated else is_measure(one[1]))]


def _heads(one: _Measured, words: Sequence[Term], ranking: Ranking | None) -> list[Head]:
    analysis = _analysis(words)
    usual: Aggregate = _PLAIN.get(one.attribute.aggregation or "", "max")
    plain = list(dict.fromkeys(_PLAIN[name_of(w)] for w in words if name_of(w) in _PLAIN)) or [usual]
    extremes = _EXTREMES.keys() & set(map(name_of, words))
    added = ("sum" in plain and usual != "sum") or (plain == ["max"] and not ranking)
    if (ranking or extremes != {*plain}) if one.attribute.type == "date" else added:
        raise UnclearError(f"{one.term.text!r} cannot be added up")
    if analysis and len(plain) > 1:
        raise UnclearError("more than one analysis is asked of one measure")
    told_each = analysis in {"change", "change_over_year", "volatility"} or (one.by_class and not words)
    return [Head(one.base, one.attribute, aggregate, analysis, told_each) for aggregate in plain]


def part_and_whole(
    heads: Sequence[Head], terms: Sequence[Term], found: Restrictions, *, asked: Term, grouped: bool
) -> tuple[Head, Attribute | None]:
    """Return what a share measures, and what divides it where that is another measure.

    Where no measure is named rows are counted, or what happens to them. Raises UnclearError where part or whole could
    be meant otherwise: with several conditions it is not said which of them hold for the whole too.
    """
    heads = heads or [happening(row, terms, found, found.needs([])) or Head(row) for row in _rows_named(terms)]
    heads = list(dict.fromkeys(heads))  # of one measure named twice it is the rows that differ
    plain = {(head.aggregate, head.analysis) for head in heads} <= {("sum", ""), ("count", "")}
    values = {term.of("value") for term in found.values}  # 学生(student) is one
    conditions = len({*found.named.values()}) + len(values) + len(found.compared) + len(found.given)
    one_whole = len(heads) > 1 or grouped or (conditions == 1 and not found.related)
    if not plain or not one_whole or len({head.base for head in heads}) != 1 or len(heads) > 2:
        raise UnclearError("it is not clear what the share is of")
    if len(heads) == 1:
        return heads[0], None
    # what percentage of the limit is used: the whole stands first
    first = asked < min(terms_of(terms, "attribute"), default=asked)
    part, whole = heads[::-1] if first and asked.of("share")[0].name == "whole_first" else heads
    if part.measure is None or whole.measure is None or part.measure.unit != whole.measure.unit:
        raise UnclearError("a share needs two measures in one unit")
    return part, whole.measure
