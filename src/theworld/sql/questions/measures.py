"""What a question measures: the figures asked for, and the part and the whole of a share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.paths import find_path, happens, is_single, steps
from theworld.sql.plan import Aggregate, UnclearError
from theworld.sql.questions.lexicon import Term, cues

Analysis = Literal["", "trend", "change", "change_over_year", "volatility"]
_COUNTED = {"sum", "trend", "change", "change_over_year"}
"""What may be said of a count: a total of rows is their number."""
QUANTITY = {"quantity", "数量"}
Named = TypeVar("Named", Attribute, None)
_ANALYSES: dict[str, Analysis] = {name: name for name in get_args(Analysis)}
_PLAIN: dict[str, Aggregate] = {"sum": "sum", "average": "average", "count": "count"}


class Head(NamedTuple):
    """One measure of a question."""

    base: str
    """Class whose rows are measured."""
    measure: Attribute | None
    """None counts rows."""
    aggregate: Aggregate
    analysis: Analysis
    per_subject: bool
    """Whether a class that the question is about splits it: a change or a volatility is told for each."""
    distinct: str | None = None
    """Class whose instances are counted, each once, in place of the rows they belong to."""


class _Measured(NamedTuple):
    term: Term
    base: str
    attribute: Attribute | None
    by_class: bool


def default_measure(mapping: DatabaseMapping, class_id: str) -> Attribute | None:
    """Return the class's first attribute with an aggregation, None without."""
    for attribute in mapping.attributes(class_id).values() if not mapping.classes[class_id].counted else ():
        if is_measure(attribute):
            return attribute
    return None


def find_heads(
    terms: Sequence[Term],
    mapping: DatabaseMapping,
    *,
    superlative: bool,
    related: str | None = None,
    counting: bool = False,
    needs: Sequence[frozenset[str]] = (),
    split: bool = False,
) -> list[Head]:
    """Return the measures in the order of the question; none for a question that only lists.

    `related` is the class of what a relation speaks of ("subsidiaries of X"): it is counted where no class is named.
    """
    measured = _attributes(terms, mapping, needs)
    named = [item for item in measured if item.term.text not in cues()["money"]]
    measured = named or measured  # the highest price is how much money: the price
    spoken = {item.term for item in measured}
    others = [t for t in terms if t.of("aggregate") and t not in spoken]
    doubled = [t for t in terms if t.of("aggregate") and t.of("aggregate")[0].name != "count"]
    aggregates = others or doubled  # "total" is a column and a word of adding up
    counts = [t for t in aggregates if t.of("aggregate")[0].name == "count"]
    others = [t for t in aggregates if t not in counts]
    if counts and len(measured) == 1 and 0 <= measured[0].term.start - counts[0].end <= 3:
        counts = []  # how many beds: the beds, not the rows
    if counts:
        if measured or len(counts) > 1 or any(_name(t) not in _COUNTED for t in others):
            raise UnclearError("it is not clear what is counted")
        base = _counted(terms, counts[0], related, mapping)
        if happens(mapping, base) is None and (head := happening(mapping, base, terms, needs)) is not None:
            return [head]
        if counts[0].text == "有多少" and _measured_by_default(mapping, base):
            raise UnclearError(f"it is not clear whether {counts[0].text!r} asks for rows or for their sum")
        return [Head(base, None, "count", _analysis(others), per_subject=False)]
    if not measured and (counting or split):
        rows = [one for one in rows_named(terms) if counting or mapping.classes[one].counted]
        found = rows[-1:] or ([related] if counting and related else [])
        if found or counting:
            return [Head(one, None, "count", _analysis(others), per_subject=False) for one in found]
    if not measured:
        measured = _classes(terms, mapping, wanted=bool(others) or superlative)
    if not measured:
        return []
    assigned = _assigned(measured, others, terms)
    return [head for item in measured for head in _heads(item, assigned[item.term], superlative)]


def _name(term: Term) -> str:
    return term.of("aggregate")[0].name


def _analysis(terms: Sequence[Term]) -> Analysis:
    found = [_name(t) for t in terms if _name(t) not in _PLAIN]
    if len(set(found)) > 1:
        raise UnclearError("more than one analysis is asked of one measure")
    return _ANALYSES[found[0]] if found else ""


def happening(
    mapping: DatabaseMapping, counted: str, terms: Sequence[Term], needs: Sequence[frozenset[str]]
) -> Head | None:
    """Return what is counted of things that something happens to, None where nothing is said to happen.

    Products sold are the quantity of the lines between them and what happens; customers who bought are counted, each
    once, over the rows that they and all else that is named belong to: the nearest that happen.
    """
    named = [m.name for t in terms for m in t.of("class") if m.name != counted and mapping.classes[m.name].time]
    if not named and not any(t.of("traded") for t in terms):
        return None
    lines = []
    for line in mapping.classes if not named else ():
        quantities = [a for a in mapping.attributes(line).values() if is_measure(a) and {*a.labels.all()} & QUANTITY]
        keyed = any(is_single(j) and j.target == counted for j in steps(mapping, line))
        if keyed and len(quantities) == 1 and happens(mapping, line) is not None:
            lines.append(Head(line, quantities[0], "sum", "", per_subject=False))
    if len(lines) == 1:
        return lines[0]
    goals = [frozenset({counted}), *needs]
    rows = [one for one in named or mapping.classes if happens(mapping, one) is not None and one != counted]
    joined = [
        c for c in rows if all(any(find_path(mapping, c, g, single=True) is not None for g in gs) for gs in goals)
    ]
    events = {found[1] for c in joined if (found := happens(mapping, c)) is not None}
    nearest = _nearest([(one, None) for one in joined if len(events) == 1], goals, mapping)
    if len(nearest) != 1 or find_path(mapping, nearest[0][0], counted, single=True) is None:
        raise UnclearError(f"it is not said which rows say when {counted} was")
    return Head(nearest[0][0], None, "count", "", per_subject=False, distinct=counted)


def _nearest(
    choices: list[tuple[str, Named]], needs: Sequence[frozenset[str]], mapping: DatabaseMapping
) -> list[tuple[str, Named]]:
    """Return the attributes whose class everything else named belongs to, over the fewest steps."""
    lengths: dict[str, int] = {}
    for class_id, _ in choices:
        ways = [[find_path(mapping, class_id, goal, single=True) for goal in sorted(goals)] for goals in needs]
        if all(any(way is not None for way in found) for found in ways):
            lengths[class_id] = sum(min(len(way) for way in found if way is not None) for found in ways)
    least = min(lengths.values(), default=0)
    return [(c, a) for c, a in choices if lengths.get(c) == least]


def _attributes(
    terms: Sequence[Term], mapping: DatabaseMapping, needs: Sequence[frozenset[str]] = ()
) -> list[_Measured]:
    named = {m.name for t in terms for m in t.of("class")}
    found: list[_Measured] = []
    for before, term in zip((None, *terms), terms, strict=False):
        meanings = [m.name.partition(".") for m in term.of("attribute")]
        owners = {class_id for class_id, _, _ in meanings}
        if (
            before is not None
            and term.of("aggregate")
            and before.of("class")
            and not owners & {m.name for m in before.of("class")}
        ):
            continue  # 发票数量 is how many invoices, not the quantity of something else
        choices = [(c, mapping.attributes(c)[a]) for c, _, a in meanings]
        choices = [(c, a) for c, a in choices if is_measure(a)]
        if len(choices) > 1:
            choices = [(c, a) for c, a in choices if c in named] or choices
        if len(choices) > 1:
            choices = _nearest(choices, needs, mapping) or choices
        if len(choices) > 1:  # what happens by itself before the lines of it
            choices = [(c, a) for c, a in choices if mapping.classes[c].time is not None] or choices
        if len(choices) > 1:
            raise UnclearError(f"{term.text!r} means more than one thing")
        if choices and all(choices[0] != (one.base, one.attribute) for one in found):
            found.append(_Measured(term, *choices[0], by_class=False))
    return found


def _classes(terms: Sequence[Term], mapping: DatabaseMapping, *, wanted: bool) -> list[_Measured]:
    """Return the classes that stand for their default measure: those of facts, which have a time."""
    found = []
    for term in terms:
        for meaning in term.of("class")[:1]:
            measure = default_measure(mapping, meaning.name)
            if _measured_by_default(mapping, meaning.name) and not term.of("entity", "value"):
                found.append(_Measured(term, meaning.name, measure, by_class=True))
    lists = any(t.of("which") for t in terms)
    return found if wanted or not lists else []


def _measured_by_default(mapping: DatabaseMapping, class_id: str) -> bool:
    """Return whether a class stands for its default measure: it has one, and it is a fact with a time."""
    return default_measure(mapping, class_id) is not None and mapping.classes[class_id].time is not None


def _counted(terms: Sequence[Term], count: Term, related: str | None, mapping: DatabaseMapping) -> str:
    """Return the class that is counted: the one after the count word, else the last before it."""
    if count.of("class"):
        return count.of("class")[0].name  # 人次, where rows are called so
    at = terms.index(count)
    after = [t for t in terms[at + 1 :] if t.of("class")]
    before = [t for t in terms[:at] if t.of("class")]
    gap = after[0].start - count.end if after else None
    near = (
        after[0] if after and gap is not None and gap <= 3 else (before[-1] if before else after[0] if after else None)
    )
    if near is None and related is not None:
        return related
    counted = count.of("aggregate")[0].value
    for class_id in mapping.classes if near is None and counted else ():
        if counted in mapping.lookup.classes[class_id].labels.zh:
            return class_id  # 多少人次, where rows are called so
    if near is None:
        raise UnclearError("nothing is named that could be counted")
    if len(near.of("class")) > 1:
        raise UnclearError(f"{near.text!r} means more than one thing")
    if (
        near in after
        and len([t for t in after if t.start - near.end <= 1 and t is not near and t.start >= near.end]) > 0
    ):
        following = next(t for t in after if t is not near and t.start >= near.end)
        if not following.start - near.end and any("\u4e00" <= c <= "\u9fff" for c in following.text):
            near = following
    return near.of("class")[0].name


def _assigned(measured: Sequence[_Measured], others: Sequence[Term], terms: Sequence[Term]) -> dict[Term, list[Term]]:
    """Return the words of aggregation by the measure they stand nearest to; with one measure, all are its own."""
    found: dict[Term, list[Term]] = {item.term: [] for item in measured}
    joints = [t for t in terms if t.of("joined")]
    for word in others:

        def distance(item: _Measured, word: Term = word) -> tuple[int, int]:
            first, last = sorted((item.term, word), key=lambda t: t.start)
            between = sum(first.end <= joint.start < last.start for joint in joints)
            return between, last.start - first.end

        found[min(measured, key=distance).term].append(word)
    return found


def _heads(item: _Measured, words: Sequence[Term], superlative: bool) -> list[Head]:
    assert item.attribute is not None
    analysis = _analysis(words)
    plain = list(dict.fromkeys(_PLAIN[_name(w)] for w in words if _name(w) in _PLAIN))
    usual = item.attribute.aggregation
    if not plain:
        if usual not in {"sum", "average"} and not superlative:
            raise UnclearError(f"{item.term.text!r} has no plain total")
        plain = ["average" if usual == "average" else "sum" if usual == "sum" else "max"]
    if "sum" in plain and usual != "sum":
        raise UnclearError(f"{item.term.text!r} cannot be added up")
    if analysis and len(plain) > 1:
        raise UnclearError("more than one analysis is asked of one measure")
    told_each = analysis in {"change", "change_over_year", "volatility"} or (item.by_class and not words)
    return [Head(item.base, item.attribute, aggregate, analysis, told_each) for aggregate in plain]


def rows_named(terms: Sequence[Term]) -> list[str]:
    """Return the class whose rows are counted where nothing else is measured."""
    return list(dict.fromkeys(m.name for t in terms if not t.of("attribute", "value") for m in t.of("class")))
