"""What a question measures: the figures asked for, and the part and the whole of a share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple, cast

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.plan import Aggregate, UnclearError
from theworld.sql.questions.cutting import Ranking
from theworld.sql.questions.lexicon import CUES, Term, class_of, classes_named, terms_of
from theworld.sql.questions.narrowing import Restrictions

Analysis = Literal["", "trend", "change", "change_over_year", "volatility"]
Needs = Sequence[frozenset[str]]
"""Classes, one of each, that a measure must belong to."""
_COUNTED = {"sum", "trend", "change", "change_over_year"}
"""What may be said of a count: a total of rows is their number."""
_QUANTITY = {"quantity", "数量"}
_PLAIN: dict[str, Aggregate] = {"sum": "sum", "average": "average"}


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
    if len(counts) == len(measured) == 1 and 0 <= measured[0].term.start - counts[0].end <= 3:
        counts = []  # how many beds: the beds, not the rows
    if counts or (ranking and ranking.of_number and not measured):
        if measured or len(counts) > 1 or not set(map(name_of, aggregates)) <= {*_COUNTED, "count"}:
            raise UnclearError("it is not clear what is counted")
        if counts:
            return _counted(counts[0], terms, aggregates, found, needs)
        return _most(terms, aggregates, found, needs, ranking.what if ranking else None)
    if not measured and (aggregates or ranking or not terms_of(terms, "which")):
        measured = _stood_for(terms, found.mapping)
    return [head for one in measured for head in _heads(one, _words_of(one, aggregates, measured, terms), ranking)]


def _words_of(
    one: _Measured, words: Sequence[Term], measured: Sequence[_Measured], terms: Sequence[Term]
) -> list[Term]:
    """Return the words that stand nearest to a measure, of several; "and" between them counts most."""
    joints = [term.start for term in terms_of(terms, "joined")]
    found = []
    for word in words:
        gaps = {m: (first.end, second.start) for m in measured for first, second in [sorted((m.term, word))]}
        apart = {m: (sum(start <= joint < end for joint in joints), end - start) for m, (start, end) in gaps.items()}
        if min(apart, key=apart.__getitem__) is one:
            found.append(word)
    return found


def name_of(term: Term) -> str:
    """Return what is done with a measure: sum, average, count, ..."""
    return term.of("aggregate")[0].name if term.of("aggregate") else ""


def _analysis(terms: Sequence[Term]) -> Analysis:
    found = {name_of(t) for t in terms} - {*_PLAIN, "count"}
    if len(found) > 1:
        raise UnclearError("more than one analysis is asked of one measure")
    return cast("Analysis", found.pop()) if found else ""


def _number(class_id: str, mapping: DatabaseMapping) -> tuple[Attribute | None, Aggregate]:
    """Return what the number of a class is: of its rows, or of what it is called like (库存: its 库存数量)."""
    if not mapping.called(class_id, CUES["stocks"]):
        return None, "count"
    alike = _QUANTITY | {f"{name}{end}" for name in CUES["stocks"] for end in ("数量", "量", " quantity", " level")}
    found = [one for one in mapping.measures[class_id] if not alike.isdisjoint(one.labels.all())]
    return (found[0], "sum") if len(found) == 1 and found[0].aggregation == "sum" else (None, "count")


def _stood_for(terms: Sequence[Term], mapping: DatabaseMapping) -> list[_Measured]:
    """Return the measures that classes stand for: a stock's, or a fact's, which has a time and is not counted."""
    named = [
        (t, m.name, mapping.classes[m.name]) for t in terms if not t.of("entity", "value") for m in t.of("class")[:1]
    ]
    usual = {name: mapping.measures[name][:1] for _, name, table in named if table.time and not table.counted}
    facts = ((t, name, _number(name, mapping)[0] or next(iter(usual.get(name, [])), None)) for t, name, _ in named)
    return [_Measured(term, name, measure, by_class=True) for term, name, measure in facts if measure]


def _rows_named(terms: Sequence[Term]) -> list[str]:
    """Return the classes whose rows are counted where nothing else is measured."""
    return list(dict.fromkeys(m.name for t in terms if not t.of("attribute", "value") for m in t.of("class")))


def _most(
    terms: Sequence[Term], aggregates: Sequence[Term], found: Restrictions, needs: Needs, ranked: Term | None
) -> list[Head]:
    """Return what "most" counts: the class last named, else how often something happened to what is ranked."""
    rows = _rows_named(terms)[-1:] or ([found.related_class] if found.related_class else [])
    counted = rows[0] if rows else class_of(ranked) if ranked else None
    head = happening(counted, terms, found, needs) if counted and found.happened else None
    if head is not None:
        return [head if rows else head._replace(distinct=None)]
    return [Head(base, *_number(base, found.mapping), _analysis(aggregates)) for base in rows]


def _counted(
    count: Term, terms: Sequence[Term], aggregates: Sequence[Term], found: Restrictions, needs: Needs
) -> list[Head]:
    """Return what is counted: the class first named after the count word, else last before it, else what is related.

    "How often" counts what happened, whatever to.
    """
    named = classes_named(terms)
    if count.text in CUES["how_often"] and not any(map(found.mapping.happens, named)):
        event = found.mapping.event_of({*found.named.values()} or named, dated=found.dated)
        if event is None or len(aggregates) > 1:
            raise UnclearError("it is not clear what is counted")
        return [Head(event)]
    common = set.intersection(*(t.owners("value") for t in found.values)) if found.values else set()
    spoken = [found.related_class] if found.related_class else [*common] if len(common) == 1 else []  # chief physicians
    at = terms.index(count)
    near = terms_of((*terms[at:], *terms[:at][::-1]), "class")
    for base in [class_of(near[0]) or ""] if near else spoken:
        if (head := happening(base, terms, found, needs)) is not None:
            return [head]
        number = _number(base, found.mapping) if count.text[-1] not in CUES["rows"] else (None, "count")
        if count.text.endswith("多少") and _stood_for(near[:1], found.mapping) and not number[0]:
            raise UnclearError(f"it is not clear whether {count.text!r} asks for rows or for their sum")
        return [Head(base, *number, _analysis(aggregates))]
    raise UnclearError("nothing is named that could be counted")


def happening(counted: str, terms: Sequence[Term], found: Restrictions, needs: Needs) -> Head | None:
    """Return what is counted of things that something happens to, None where nothing is said to happen.

    Products sold are the quantity of the lines between them and what happens; customers who bought are counted, each
    once, over the rows that they and all else that is named belong to: the nearest that happen.
    """
    mapping = found.mapping
    happen = found.dated or {event for one in mapping.classes if (event := mapping.happens(one))}
    lines = _quantities(counted, happen, mapping)
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


def _quantities(counted: str, happen: Collection[str], mapping: DatabaseMapping) -> list[Head]:
    """Return the quantities of the lines of what happens that belong to what is counted."""
    return [
        Head(line, quantity, "sum")
        for line in mapping.classes
        if mapping.happens(line) in happen and len(mapping.path(line, counted, single=True) or ()) == 1
        for quantity in mapping.measures[line]
        if not _QUANTITY.isdisjoint(quantity.labels.all())
    ]


def _measuring(terms: Sequence[Term], mapping: DatabaseMapping) -> Iterator[Term]:
    """Yield the terms that may be measures; 商品数量 is how many things there are, not an attribute called 数量."""
    for i, term in enumerate(terms):
        owners = term.owners("attribute")
        beside = name_of(term) == "count" and any(
            t.end == term.start and t.of("class") for t in terms[max(0, i - 1) : i]
        )
        if not beside or classes_named(terms) & (owners | {mapping.happens(owner) for owner in owners}):
            yield term


def _attributes(terms: Sequence[Term], mapping: DatabaseMapping, needs: Needs) -> list[_Measured]:
    """Return the measures that are named: of several of one name the nearest to what is named, then what happens."""
    found: list[_Measured] = []
    for term in _measuring(terms, mapping):
        named = [(m.owner, mapping.attribute(m.name)) for m in term.of("attribute")]
        choices = [(owner, attribute) for owner, attribute in named if is_measure(attribute)]
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


def _heads(one: _Measured, words: Sequence[Term], ranking: Ranking | None) -> list[Head]:
    analysis = _analysis(words)
    usual: Aggregate = _PLAIN.get(one.attribute.aggregation or "", "max")
    plain = list(dict.fromkeys(_PLAIN[name_of(w)] for w in words if name_of(w) in _PLAIN)) or [usual]
    if ("sum" in plain and usual != "sum") or (plain == ["max"] and not ranking):
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
    whole_first = asked.of("share")[0].name == "whole_first" and asked < min(
        terms_of(terms, "attribute"), default=asked
    )
    part, whole = heads[::-1] if whole_first else heads
    if part.measure is None or whole.measure is None or part.measure.unit != whole.measure.unit:
        raise UnclearError("a share needs two measures in one unit")
    return part, whole.measure
